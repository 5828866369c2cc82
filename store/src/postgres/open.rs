//! Opening of a database: checks, schema, and the lease of an owner.

use tokio_postgres::{Client, Transaction};

use super::lease::{self, Lease};
use super::link::{Address, Link, failure};
use crate::engine::Access;
use crate::{StoreError, StoreOptions, VERSION};

pub(super) const SCHEMA: &str = include_str!("schema.sql");

/// Key of the advisory lock under which the schema is created: "LUDX".
const SCHEMA_LOCK: i64 = 0x4c55_4458;

/// Addition of cells to a store without owners and without work that belongs to a cell.
const GROW: &str = "INSERT INTO cells SELECT cell, '', '', 0, 0, '-infinity' FROM generate_series(0, $1::bigint - 1) AS t (cell) \
                    WHERE NOT EXISTS (SELECT 1 FROM cells WHERE until > now()) \
                    AND NOT EXISTS (SELECT 1 FROM matches WHERE ended_ms IS NULL) \
                    AND NOT EXISTS (SELECT 1 FROM joins) \
                    AND NOT EXISTS (SELECT 1 FROM runs WHERE ended_ms IS NULL OR hidden = 1) \
                    ON CONFLICT DO NOTHING";

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
        create(&change, address, options.cells.unwrap_or(1)).await?;
        change.commit().await.map_err(failed)?;
    }
    match stored_version(&link.client).await.map_err(failed)? {
        None => return Err(StoreError::Missing { place: address.place.clone() }),
        Some(VERSION) => {}
        Some(found) => return Err(StoreError::Version { place: address.place.clone(), found, known: VERSION }),
    }
    let cells = lease::count(&link.client).await.map_err(failed)?;
    if let Some(wanted) = options.cells.filter(|wanted| *wanted != cells) {
        let message = format!(
            "expected {wanted} cells, got a store with {cells}; the number can grow only while no server, no match, no \
             join and no run uses the store"
        );
        return Err(StoreError::Sql { place: address.place.clone(), why: failure(message) });
    }
    let lease = match access {
        Access::Owner => match Lease::acquire(&link.client, options).await.map_err(failed)? {
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

/// Creates the tables in a database without tables, and cells up to this number in an idle store.
pub(super) async fn create(change: &Transaction<'_>, address: &Address, cells: u32) -> Result<(), StoreError> {
    let failed = |e| address.error(e);
    change.execute("SELECT pg_advisory_xact_lock($1)", &[&SCHEMA_LOCK]).await.map_err(failed)?;
    let tables = "SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema()";
    let tables: i64 = change.query_one(tables, &[]).await.and_then(|row| row.try_get(0)).map_err(failed)?;
    if tables == 0 {
        let script = format!("{SCHEMA}INSERT INTO ludex_store VALUES ({VERSION});");
        change.batch_execute(&script).await.map_err(failed)?;
    }
    match has_store(change.client()).await.map_err(failed)? {
        true => change.execute(GROW, &[&i64::from(cells)]).await.map(drop).map_err(failed),
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
