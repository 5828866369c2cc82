//! Cells of a store: their URLs, and the names that select the cell of a queue or a suite.

use std::sync::Arc;

use ludex_store::{CellOwner, CellTable};

use crate::live::Live;
use crate::standing_ladders::{QUEUE, StandingLadder};

/// URLs at which clients reach the cells, by number; `None` while a cell has no owner.
#[derive(Debug, Default)]
pub struct CellUrls(Live<Vec<Option<String>>>);

impl CellUrls {
    /// Replaces the URLs by those of the owners.
    pub fn set(&self, table: CellTable) {
        let owners = table.owners.into_iter().enumerate();
        let url = |(cell, owner): (usize, Option<CellOwner>)| {
            owner.map(|owner| format!("{}/c/{cell}", owner.at.trim_end_matches('/')))
        };
        self.0.set(owners.map(url).collect());
    }

    /// Returns the URL of a cell; `None` while the cell has no owner.
    pub fn of(&self, cell: u32) -> Option<String> {
        self.0.get().get(cell as usize).cloned().flatten()
    }
}

/// Returns the name that selects the cell of a queue, from the canonical game string.
pub(crate) fn queue_name(game: &str, queue: &str) -> String {
    format!("queue:{queue}:{game}")
}

/// Returns the name that selects the cell of a ladder; `None` for an unknown ladder.
pub fn ladder_name(ladders: &[Arc<StandingLadder>], name: &str) -> Option<String> {
    let ladder = ladders.iter().find(|ladder| ladder.name == name)?;
    Some(queue_name(&ladder.game.spec().string, QUEUE))
}

/// Returns the name that selects the cell of the runs and seasons of a suite.
pub(crate) fn suite_name(suite: &str) -> String {
    format!("suite:{suite}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_those_of_the_owners() {
        let urls = CellUrls::default();
        assert_eq!(urls.of(0), None);
        let owner = CellOwner { node: "a".to_owned(), at: "wss://play.example/".to_owned() };
        urls.set(CellTable { owners: vec![None, Some(owner)], waiting: 0 });
        assert_eq!([0, 1, 2].map(|cell| urls.of(cell)), [None, Some("wss://play.example/c/1".to_owned()), None]);
    }
}
