//! Opening of a database: checks, schema, and the lease of an owner.

use tokio_postgres::{Client, Transaction};

use super::lease::Lease;
use super::link::{Address, Link, failure};
use crate::engine::Access;
use crate::{StoreError, StoreOptions, VERSION};

pub(super) const SCHEMA: &str = include_str!("schema.sql");

/// Key of the advisory lock under which the schema is created: "LUDX".
const SCHEMA_LOCK: i64 = 0x4c55_4458;

/// Oldest supported version of PostgreSQL.
const OLDEST: i32 = 13;

/// Connects, checks that the database has a store of this version, and takes its lease for an owner. The owner creates the
/// tables in a database without tables.
pub(super) async fn open(
    address: &Address,
    access: Access,
    options: &StoreOptions,
) -> Result<(Link, Option<Lease>), StoreError> {
    let failed = |e| address.error(e);
    let mut link = address.connect().await.map_err(failed)?;
    let version: String = setting(&link.client, "server_version_num").await.map_err(failed)?;
    let major = version.parse::<i32>().unwrap_or_default() / 10_000;
    if major < OLDEST {
        let message = format!("expected PostgreSQL {OLDEST} or later, got {major}");
        return Err(StoreError::Sql { place: address.place.clone(), why: failure(message) });
    }
    if access == Access::Owner {
        check_durability(&link.client, address, options).await?;
        let change = link.client.transaction().await.map_err(failed)?;
        create(&change, address).await?;
        change.commit().await.map_err(failed)?;
    }
    match stored_version(&link.client).await.map_err(failed)? {
        None => return Err(StoreError::Missing { place: address.place.clone() }),
        Some(VERSION) => {}
        Some(found) => return Err(StoreError::Version { place: address.place.clone(), found, known: VERSION }),
    }
    let lease = match access {
        Access::Owner => match Lease::acquire(&link.client, options.lease).await.map_err(failed)? {
            Ok(lease) => Some(lease),
            Err(owner) => return Err(StoreError::Locked { place: address.place.clone(), owner: Some(owner) }),
        },
        Access::Beside => None,
    };
    Ok((link, lease))
}

async fn setting(client: &Client, name: &str) -> Result<String, tokio_postgres::Error> {
    client.query_one("SELECT current_setting($1)", &[&name]).await?.try_get(0)
}

/// Refuses a server that acknowledges commits which a crash of it, or the loss of its primary, may undo.
async fn check_durability(client: &Client, address: &Address, options: &StoreOptions) -> Result<(), StoreError> {
    let failed = |e| address.error(e);
    let read = async |name| setting(client, name).await.map_err(failed);
    let count = async |sql| -> Result<i64, StoreError> {
        client.query_one(sql, &[]).await.and_then(|row| row.try_get(0)).map_err(failed)
    };
    let (commit, fsync) = (read("synchronous_commit").await?, read("fsync").await?);
    let names = read("synchronous_standby_names").await?;
    let standbys = count("SELECT count(*) FROM pg_stat_replication").await?;
    let slots = count("SELECT count(*) FROM pg_replication_slots WHERE slot_type = 'physical'").await?;
    let fault = if !matches!(&*commit, "on" | "remote_apply") {
        Some(format!("expected synchronous_commit = on, got {commit}"))
    } else if fsync != "on" {
        Some(format!("expected fsync = on, got {fsync}"))
    } else if standbys > 0 && names.is_empty() {
        Some(format!("expected synchronous_standby_names for its standbys ({standbys}), got none"))
    } else {
        None
    };
    match fault {
        Some(fault) if options.allow_async_replication => {
            tracing::warn!(fault, "acknowledged moves may be lost if the database fails");
        }
        Some(fault) => {
            let message = format!(
                "{fault}; acknowledged moves could be lost; change the setting, or accept this with --allow-async-replication"
            );
            return Err(StoreError::NotDurable { place: address.place.clone(), message });
        }
        None if slots > 0 && names.is_empty() => {
            tracing::warn!(
                slots,
                "database has slots for standbys, but none that is synchronous; a failover to one may lose moves"
            );
        }
        None => {}
    }
    Ok(())
}

/// Creates the tables in a database without tables.
pub(super) async fn create(change: &Transaction<'_>, address: &Address) -> Result<(), StoreError> {
    let failed = |e| address.error(e);
    change.execute("SELECT pg_advisory_xact_lock($1)", &[&SCHEMA_LOCK]).await.map_err(failed)?;
    let tables = "SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema()";
    let tables: i64 = change.query_one(tables, &[]).await.and_then(|row| row.try_get(0)).map_err(failed)?;
    if tables == 0 {
        let script = format!("{SCHEMA}INSERT INTO ludex_store VALUES ({VERSION});");
        return change.batch_execute(&script).await.map_err(failed);
    }
    match has_store(change.client()).await.map_err(failed)? {
        true => Ok(()),
        false => Err(StoreError::Foreign { place: address.place.clone() }),
    }
}

/// Returns true if the database has a store of any version.
pub(super) async fn has_store(client: &Client) -> Result<bool, tokio_postgres::Error> {
    client.query_one("SELECT to_regclass('ludex_store') IS NOT NULL", &[]).await?.try_get(0)
}

async fn stored_version(client: &Client) -> Result<Option<u32>, tokio_postgres::Error> {
    if !has_store(client).await? {
        return Ok(None);
    }
    let version: i64 = client.query_one("SELECT version FROM ludex_store", &[]).await?.try_get(0)?;
    Ok(Some(u32::try_from(version).unwrap_or(u32::MAX)))
}
