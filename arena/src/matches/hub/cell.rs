//! Requests of clients that another cell serves.

use ludex_protocol::error::{ErrorCode, Refusal};
use ludex_store::StoreCell;

use super::Hub;
use crate::cells::suite_name;

/// Time in milliseconds after which a request for a cell without an owner may be repeated.
const AGAIN_MS: u32 = 1_000;

impl Hub {
    /// Returns the cell of this match plane.
    pub fn cell(&self) -> StoreCell {
        self.store.cell()
    }

    /// Checks that this match plane has the cell number `cell`.
    ///
    /// # Errors
    ///
    /// `moved` with the URL of the cell, or `limit` while the cell has no owner.
    pub fn check_cell(&self, cell: u32) -> Result<(), Box<Refusal>> {
        if cell == self.cell().number() {
            return Ok(());
        }
        Err(Box::new(match self.config.urls.of(cell) {
            Some(at) => Refusal::moved(cell, &at),
            None => {
                let message = format!("cell {cell} has no server at the moment; try again");
                Refusal::new(ErrorCode::Limit, message).after_ms(AGAIN_MS)
            }
        }))
    }

    /// Returns the number of the cell of a match; `None` for a match of an unknown run.
    pub async fn cell_of_match(&self, id: &str) -> Option<u32> {
        let cell = self.cell();
        match id.split_once('.') {
            _ if cell.count() == 1 => Some(cell.number()),
            None => Some(cell.of_id(id)),
            Some((run, _)) => Some(self.cell_of_suite(&self.store.run(run).await.ok().flatten()?.suite)),
        }
    }

    /// Returns the number of the cell of a suite and its runs.
    pub fn cell_of_suite(&self, suite: &str) -> u32 {
        self.cell().of_name(&suite_name(suite))
    }
}
