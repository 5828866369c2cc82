//! Leases of cells. A lease excludes other owners until it expires by the clock of the database. Every commit of the owner
//! renews it, and stores nothing if another server has taken the cell.

use std::time::Duration;

use tokio_postgres::Client;

/// Cell of a store with one owner.
const CELL: i64 = 0;

const ACQUIRE: &str = "UPDATE cells SET node = $2, epoch = epoch + 1, batch = 0, until = now() + make_interval(secs => $3) \
                       WHERE cell = $1 AND until < now() RETURNING epoch";
const OWNER: &str = "SELECT node, epoch, batch FROM cells WHERE cell = $1";
/// First statement of every commit. The lock on the row makes a server that takes over wait for the end of the commit, and
/// a commit wait for a takeover.
pub(super) const RENEW: &str = "UPDATE cells SET batch = batch + 1, until = now() + make_interval(secs => $4) \
                                WHERE cell = $1 AND epoch = $2 AND batch = $3";
const RELEASE: &str = "UPDATE cells SET node = '', until = '-infinity' WHERE cell = $1 AND epoch = $2";

/// Ownership of a cell.
pub(super) struct Lease {
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
    /// Takes the lease if no other server has it, else returns the name of its owner.
    pub(super) async fn acquire(
        client: &Client,
        length: Duration,
    ) -> Result<Result<Self, String>, tokio_postgres::Error> {
        let row = client.query_opt(ACQUIRE, &[&CELL, &node(), &length.as_secs_f64()]).await?;
        match row {
            Some(row) => Ok(Ok(Lease { epoch: row.try_get(0)?, batch: 0, length })),
            None => Ok(Err(client.query_one(OWNER, &[&CELL]).await?.try_get(0)?)),
        }
    }

    /// Returns the values of [`RENEW`].
    pub(super) fn values(&self) -> (i64, i64, i64, f64) {
        (CELL, self.epoch, self.batch, self.length.as_secs_f64())
    }

    /// Counts an acknowledged commit.
    pub(super) fn advance(&mut self) {
        self.batch += 1;
    }

    /// Returns the reason why the last commit found no row to renew.
    pub(super) async fn inspect(&self, client: &Client) -> Result<Fenced, tokio_postgres::Error> {
        let row = client.query_one(OWNER, &[&CELL]).await?;
        let (epoch, batch): (i64, i64) = (row.try_get(1)?, row.try_get(2)?);
        Ok(if (epoch, batch) == (self.epoch, self.batch + 1) { Fenced::Stored } else { Fenced::Lost })
    }

    /// Lets other servers take the cell at once.
    pub(super) async fn release(&self, client: &Client) -> Result<(), tokio_postgres::Error> {
        client.execute(RELEASE, &[&CELL, &self.epoch]).await.map(drop)
    }
}

/// Returns a name of this process for operators.
fn node() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let process = format!("process {}", std::process::id());
    if host.is_empty() { process } else { format!("{process} on {}", host.trim()) }
}
