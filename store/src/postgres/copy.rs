//! Copies of a PostgreSQL store as SQLite files, and their import.

use std::path::Path;
use std::pin::pin;

use rusqlite::{Connection, OpenFlags, params_from_iter};
use tokio::runtime::Runtime;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::Type;

use super::link::{Address, Link};
use super::{address, open};
use crate::engine::Access;
use crate::value::ColumnValue;
use crate::{StoreError, StoreOptions, sqlite};

/// Tables of both engines, in an order in which no row refers to a later one.
pub(super) const TABLES: [&str; 14] = [
    "matches",
    "seats",
    "acts",
    "records",
    "sessions",
    "joins",
    "runs",
    "seasons",
    "standings",
    "tokens",
    "suspensions",
    "end_requests",
    "meta",
    "counters",
];

/// Tables with numbered rows, and the column of the number.
const NUMBERED: [(&str, &str); 2] = [("matches", "seq"), ("joins", "n")];

/// Number of rows that are read from the database at a time.
const PAGE: usize = 1_000;

/// State of the store at one moment. Until [`release`](Self::release), no owner of the store can change it.
pub(crate) struct PostgresSnapshot {
    runtime: Runtime,
    address: Address,
    /// Connection with an open read transaction.
    source: Link,
    /// Connection with a lock that commits of owners wait for.
    lock: Link,
}

impl PostgresSnapshot {
    pub(crate) fn take(url: &str) -> Result<Self, StoreError> {
        let runtime = runtime()?;
        let (address, source, lock) = runtime.block_on(async {
            let address = address(url)?;
            let failed = |e| address.error(e);
            let (source, _) = open::open(&address, Access::Beside, &StoreOptions::default()).await?;
            let lock = address.connect().await.map_err(failed)?;
            // The lock may be held for longer than the usual limit, while the files of the runs are listed.
            lock.client.batch_execute("SET idle_in_transaction_session_timeout = '60s'").await.map_err(failed)?;
            lock.client.batch_execute("BEGIN; SELECT * FROM cells FOR UPDATE").await.map_err(failed)?;
            source.client.batch_execute("SET idle_in_transaction_session_timeout = 0").await.map_err(failed)?;
            // The first read fixes the state that the transaction sees.
            let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT version FROM ludex_store";
            source.client.batch_execute(begin).await.map_err(failed)?;
            Ok((address, source, lock))
        })?;
        Ok(PostgresSnapshot { runtime, address, source, lock })
    }

    pub(crate) fn release(&self) -> Result<(), StoreError> {
        let released = self.runtime.block_on(self.lock.client.batch_execute("ROLLBACK"));
        released.map_err(|e| self.address.error(e))
    }

    pub(crate) fn copy(&self, file: &Path) -> Result<(), StoreError> {
        let sql = |e| sqlite::sqlite_error(file, e);
        let mut copy = sqlite::new_database(file)?;
        let change = copy.transaction().map_err(sql)?;
        for table in TABLES {
            let columns = columns(&change, table).map_err(sql)?.join(", ");
            self.copy_table(table, &columns, &change, file)?;
        }
        change.commit().map_err(sql)?;
        copy.close().map_err(|(_, e)| sql(e))
    }

    fn copy_table(&self, table: &str, columns: &str, to: &Connection, file: &Path) -> Result<(), StoreError> {
        let (sql, failed) = (|e| sqlite::sqlite_error(file, e), |e| self.address.error(e));
        let client = &self.source.client;
        let control = |text: String| self.runtime.block_on(client.batch_execute(&text)).map_err(failed);
        control(format!("DECLARE source NO SCROLL CURSOR FOR SELECT {columns} FROM {table}"))?;
        let fetch = format!("FETCH {PAGE} FROM source");
        loop {
            let rows = self.runtime.block_on(client.query(&fetch, &[])).map_err(failed)?;
            let Some(first) = rows.first() else { break };
            let places = vec!["?"; first.len()].join(", ");
            let mut insert =
                to.prepare_cached(&format!("INSERT INTO {table} ({columns}) VALUES ({places})")).map_err(sql)?;
            for row in &rows {
                let values = super::values::row(row).map_err(failed)?.values();
                insert.execute(params_from_iter(values)).map_err(sql)?;
            }
        }
        control("CLOSE source".to_owned())
    }
}

/// Imports a copy into a database without a store, in one transaction.
pub(crate) fn import(file: &Path, url: &str) -> Result<(), StoreError> {
    let sql = |e| sqlite::sqlite_error(file, e);
    let copy = sqlite::connect(file, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(sql)?;
    runtime()?.block_on(async {
        let address = address(url)?;
        let failed = |e| address.error(e);
        let mut link = address.connect().await.map_err(failed)?;
        if open::has_store(&link.client).await.map_err(failed)? {
            return Err(StoreError::NotEmpty { place: address.place.clone() });
        }
        link.client.batch_execute("SET idle_in_transaction_session_timeout = 0").await.map_err(failed)?;
        let change = link.client.transaction().await.map_err(failed)?;
        open::create(&change, &address, 1).await?;
        for table in TABLES {
            let columns = columns(&copy, table).map_err(sql)?.join(", ");
            let described = change.prepare(&format!("SELECT {columns} FROM {table}")).await.map_err(failed)?;
            let types: Vec<Type> = described.columns().iter().map(|column| column.type_().clone()).collect();
            let text = format!("COPY {table} ({columns}) FROM STDIN (FORMAT binary)");
            let mut rows = pin!(BinaryCopyInWriter::new(change.copy_in(&text).await.map_err(failed)?, &types));
            let mut select = copy.prepare(&format!("SELECT {columns} FROM {table}")).map_err(sql)?;
            let mut source = select.query([]).map_err(sql)?;
            while let Some(row) = source.next().map_err(sql)? {
                let values: Result<Vec<ColumnValue<'_>>, _> = (0..types.len()).map(|k| sqlite::value(row, k)).collect();
                rows.as_mut().write_raw(values.map_err(sql)?).await.map_err(failed)?;
            }
            rows.finish().await.map_err(failed)?;
        }
        for (table, column) in NUMBERED {
            let next = format!(
                "SELECT setval(pg_get_serial_sequence('{table}', '{column}'), coalesce(max({column}), 0) + 1, false) FROM {table}"
            );
            change.batch_execute(&next).await.map_err(failed)?;
        }
        change.commit().await.map_err(failed)
    })
}

/// Returns the columns of a table, quoted.
fn columns(database: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut names = database.prepare("SELECT name FROM pragma_table_info(?1) ORDER BY cid")?;
    names.query_map([table], |row| Ok(format!("\"{}\"", row.get::<_, String>(0)?)))?.collect()
}

fn runtime() -> Result<Runtime, StoreError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|e| StoreError::Io { place: "the runtime".to_owned(), why: e.into() })
}
