//! Leases of cells. A lease excludes other owners until it expires by the clock of the database. Every commit of the owner
//! renews it, and stores nothing if another server has taken the cell.

use std::time::Duration;

use tokio_postgres::Client;

use crate::{StoreCell, StoreOptions};

const ACQUIRE: &str = "UPDATE cells SET node = $1, at = $2, epoch = epoch + 1, batch = 0, \
                       until = now() + make_interval(secs => $3) WHERE cell = (SELECT cell FROM cells \
                       WHERE until < now() ORDER BY cell LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING cell, epoch";
const COUNT: &str = "SELECT count(*) FROM cells";
const FIRST: &str = "SELECT node FROM cells ORDER BY cell LIMIT 1";
/// Note of a server that owns no cell and has found none.
const WAITS: &str = "INSERT INTO waiting SELECT $1, now() WHERE NOT EXISTS (SELECT 1 FROM cells WHERE node = $1) \
                     ON CONFLICT (node) DO UPDATE SET seen = excluded.seen";
const SERVED: &str = "DELETE FROM waiting WHERE node = $1 OR seen < now() - make_interval(secs => $2)";
const OWNER: &str = "SELECT epoch, batch FROM cells WHERE cell = $1";
/// First statement of every commit. The lock on the row makes a server that takes over wait for the end of the commit, and
/// a commit wait for a takeover.
pub(super) const RENEW: &str = "UPDATE cells SET batch = batch + 1, until = now() + make_interval(secs => $4) \
                                WHERE cell = $1 AND epoch = $2 AND batch = $3";
const RELEASE: &str = "UPDATE cells SET node = '', until = '-infinity' WHERE cell = $1 AND epoch = $2";

/// Ownership of a cell.
pub(super) struct Lease {
    pub(super) cell: StoreCell,
    epoch: i64,
    /// Number of acknowledged commits of this owner.
    batch: i64,
    pub(super) length: Duration,
}

/// State of the cell after a commit that found no row to renew.
pub(super) enum Fenced {
    /// An earlier attempt has stored the same batch.
    Stored,
    /// Another server owns the cell.
    Lost,
}

impl Lease {
    /// Takes the lease of the first cell that no other server has, else returns the name of an owner.
    pub(super) async fn acquire(
        client: &Client,
        options: &StoreOptions,
    ) -> Result<Result<Self, String>, tokio_postgres::Error> {
        let (node, length) = (node(), options.lease);
        let Some(row) = client.query_opt(ACQUIRE, &[&node, &options.at, &length.as_secs_f64()]).await? else {
            client.execute(WAITS, &[&node]).await?;
            return Ok(Err(client.query_one(FIRST, &[]).await?.try_get(0)?));
        };
        client.execute(SERVED, &[&node, &length.as_secs_f64()]).await?;
        let count = count(client).await?;
        Ok(Ok(Lease { cell: StoreCell::new(number(&row)?, count), epoch: row.try_get(1)?, batch: 0, length }))
    }

    /// Returns the values of [`RENEW`].
    pub(super) fn values(&self) -> (i64, i64, i64, f64) {
        (self.cell.number().into(), self.epoch, self.batch, self.length.as_secs_f64())
    }

    /// Counts an acknowledged commit.
    pub(super) fn advance(&mut self) {
        self.batch += 1;
    }

    /// Returns the reason why the last commit found no row to renew.
    pub(super) async fn inspect(&self, client: &Client) -> Result<Fenced, tokio_postgres::Error> {
        let row = client.query_one(OWNER, &[&i64::from(self.cell.number())]).await?;
        let (epoch, batch): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        Ok(if (epoch, batch) == (self.epoch, self.batch + 1) { Fenced::Stored } else { Fenced::Lost })
    }

    /// Lets other servers take the cell at once.
    pub(super) async fn release(&self, client: &Client) -> Result<(), tokio_postgres::Error> {
        client.execute(RELEASE, &[&i64::from(self.cell.number()), &self.epoch]).await.map(drop)
    }
}

/// Returns the number of cells of the store.
pub(super) async fn count(client: &Client) -> Result<u32, tokio_postgres::Error> {
    number(&client.query_one(COUNT, &[]).await?)
}

/// Returns the number in the first column of a row. Cells are few.
fn number(row: &tokio_postgres::Row) -> Result<u32, tokio_postgres::Error> {
    row.try_get::<_, i64>(0).map(|number| u32::try_from(number).unwrap_or_default())
}

/// Returns a name of this process for operators.
fn node() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let process = format!("process {}", std::process::id());
    if host.is_empty() { process } else { format!("{process} on {}", host.trim()) }
}
