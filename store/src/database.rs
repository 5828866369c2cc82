//! Facts about the database server of a store, for operators.

use std::time::{Duration, SystemTime};

use super::engine::Query;
use super::value::Row;
use super::{Store, StoreError};

const SETTINGS: &str = "SELECT version, current_setting('synchronous_commit'), current_setting('fsync'), \
                        current_setting('synchronous_standby_names'), \
                        (extract(epoch FROM clock_timestamp()) * 1000)::bigint FROM ludex_store";

/// Users without the role `pg_monitor` see the standbys without their states.
const STANDBYS: &str = "SELECT application_name, COALESCE(state, ''), COALESCE(sync_state, ''), \
                        COALESCE(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn), 0)::bigint FROM pg_stat_replication \
                        WHERE NOT pg_is_in_recovery() ORDER BY application_name";

const LEASES: &str = "SELECT cell, node, (extract(epoch FROM until - now()) * 1000)::bigint FROM cells \
                      WHERE until > now() ORDER BY cell";

const TABLES: &str = "SELECT relname, pg_total_relation_size(oid), reltuples::bigint FROM pg_class \
                      WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' ORDER BY 2 DESC, 1";

/// State of the database server of a store.
#[derive(Clone, Debug)]
pub struct DatabaseFacts {
    /// Version of the store's schema.
    pub schema: i64,
    /// Setting `synchronous_commit`: `off` if commits are acknowledged before they are on disk.
    pub synchronous_commit: String,
    /// Setting `fsync`: `off` if commits need not reach the disk.
    pub fsync: String,
    /// Setting `synchronous_standby_names`; empty if no standby is synchronous.
    pub standby_names: String,
    /// Milliseconds by which the database's clock is ahead of the clock of this process.
    pub clock_ahead_ms: i64,
    /// Standbys that are connected at the moment.
    pub standbys: Vec<Standby>,
    /// Leases that have not expired.
    pub leases: Vec<LeaseFacts>,
    /// Tables of the store, the largest first.
    pub tables: Vec<TableSize>,
}

/// Standby that is connected to the database.
#[derive(Clone, Debug)]
pub struct Standby {
    /// Name that the standby gives itself.
    pub name: String,
    /// State of its replication, such as `streaming`; empty if the user of the store may not see it.
    pub state: String,
    /// Kind of its replication, such as `sync` or `async`; empty if the user of the store may not see it.
    pub kind: String,
    /// Bytes of the log that the standby has not replayed yet.
    pub behind_bytes: i64,
}

/// Lease of a cell of the store.
#[derive(Clone, Debug)]
pub struct LeaseFacts {
    /// Number of the cell, from 0.
    pub cell: i64,
    /// Process that owns the cell.
    pub node: String,
    /// Time until the lease expires, unless it is renewed.
    pub left: Duration,
}

/// Size of a table of the store.
#[derive(Clone, Debug)]
pub struct TableSize {
    /// Name without the schema.
    pub name: String,
    /// Size with its indexes, in bytes.
    pub bytes: i64,
    /// Number of rows as of the last analysis by the database; -1 before the first.
    pub rows: i64,
}

impl Store {
    /// Returns the state of the database server; `None` for a store in an SQLite file.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn database_facts(&self) -> Result<Option<DatabaseFacts>, StoreError> {
        if self.location().path().is_some() {
            return Ok(None);
        }
        // Opens the connection, whose time would count as an offset of the clock.
        self.last_release().await?;
        let before_ms = now_ms();
        let mut settings = self.all(Query::new(SETTINGS), settings).await?;
        let local_ms = before_ms + (now_ms() - before_ms) / 2;
        let missing = || StoreError::Missing { place: self.location().to_string() };
        let mut facts = settings.pop().ok_or_else(missing)?;
        facts.clock_ahead_ms -= local_ms;
        facts.standbys = self.all(Query::new(STANDBYS), standby).await?;
        facts.leases = self.all(Query::new(LEASES), lease).await?;
        facts.tables = self.all(Query::new(TABLES), table).await?;
        Ok(Some(facts))
    }
}

/// Returns the facts with the database's time as `clock_ahead_ms`.
fn settings(row: &mut Row) -> Result<DatabaseFacts, StoreError> {
    Ok(DatabaseFacts {
        schema: row.take()?,
        synchronous_commit: row.take()?,
        fsync: row.take()?,
        standby_names: row.take()?,
        clock_ahead_ms: row.take()?,
        standbys: Vec::new(),
        leases: Vec::new(),
        tables: Vec::new(),
    })
}

fn standby(row: &mut Row) -> Result<Standby, StoreError> {
    Ok(Standby { name: row.take()?, state: row.take()?, kind: row.take()?, behind_bytes: row.take()? })
}

fn lease(row: &mut Row) -> Result<LeaseFacts, StoreError> {
    let (cell, node, left_ms): (i64, String, i64) = (row.take()?, row.take()?, row.take()?);
    Ok(LeaseFacts { cell, node, left: Duration::from_millis(left_ms.max(0).unsigned_abs()) })
}

fn table(row: &mut Row) -> Result<TableSize, StoreError> {
    Ok(TableSize { name: row.take()?, bytes: row.take()?, rows: row.take()? })
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
