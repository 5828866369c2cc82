//! Cells: the shares of a store with several owners.

use sha2::{Digest, Sha256};

/// Share of a store, which has one owner at a time. The number of cells is fixed when the store is created.
///
/// The ids of sessions, joins, tickets and matches name their cell: `s_5f2a` is of cell 0, and `s3_5f2a` of cell 3. Things
/// that have a name, such as queues and ladders, belong to the cell that a hash of their name selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreCell {
    number: u32,
    count: u32,
}

impl StoreCell {
    /// Only cell of a store with one owner.
    pub const ONLY: StoreCell = StoreCell { number: 0, count: 1 };

    /// Returns the cell number `number` of `count`.
    ///
    /// # Panics
    ///
    /// If `number` is not below `count`.
    pub fn new(number: u32, count: u32) -> Self {
        assert!(number < count, "expected a cell below {count}, got {number}");
        StoreCell { number, count }
    }

    /// Returns the number of the cell, from 0.
    pub fn number(self) -> u32 {
        self.number
    }

    /// Returns the number of cells of the store.
    pub fn count(self) -> u32 {
        self.count
    }

    /// Returns an id of this cell, of a letter for its kind and random digits.
    pub fn id(self, letter: char, digits: &str) -> String {
        match self.number {
            0 => format!("{letter}_{digits}"),
            number => format!("{letter}{number}_{digits}"),
        }
    }

    /// Returns the name of a value that each cell has for itself.
    pub fn own(self, name: &str) -> String {
        match self.number {
            0 => name.to_owned(),
            number => format!("{name}:{number}"),
        }
    }

    /// Returns the number of the cell that an id names. An id without a number is of cell 0.
    pub fn of_id(self, id: &str) -> u32 {
        let named = id.split_once('_').and_then(|(kind, _)| kind.get(1..)?.parse::<u32>().ok());
        named.unwrap_or(0) % self.count
    }

    /// Returns the number of the cell to which a name belongs: the first four bytes of its SHA-256, modulo the number of
    /// cells.
    pub fn of_name(self, name: &str) -> u32 {
        let [a, b, c, d, ..] = <[u8; 32]>::from(Sha256::digest(name));
        u32::from_be_bytes([a, b, c, d]) % self.count
    }

    /// Returns true if an id is of this cell.
    pub fn has_id(self, id: &str) -> bool {
        self.of_id(id) == self.number
    }

    /// Returns true if a name belongs to this cell.
    pub fn has_name(self, name: &str) -> bool {
        self.of_name(name) == self.number
    }
}

/// Owner of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellOwner {
    /// Name of the process.
    pub node: String,
    /// URL at which clients reach the process.
    pub at: String,
}

/// Owners of all cells of a store, and the processes that wait for a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CellTable {
    /// Owner of each cell; `None` while a cell has no owner.
    pub owners: Vec<Option<CellOwner>>,
    /// Number of processes that wait for their first cell.
    pub waiting: u32,
}

impl CellTable {
    /// Returns the number of processes that own or want cells.
    pub fn nodes(&self) -> u32 {
        let names: std::collections::BTreeSet<&str> = self.owners.iter().flatten().map(|owner| &*owner.node).collect();
        u32::try_from(names.len()).unwrap_or(u32::MAX).saturating_add(self.waiting)
    }

    /// Returns the maximum number of cells of a process, if all have about equally many.
    pub fn share(&self) -> u32 {
        u32::try_from(self.owners.len()).unwrap_or(u32::MAX).div_ceil(self.nodes().max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_name_their_cell() {
        for number in [0, 1, 15] {
            let cell = StoreCell::new(number, 16);
            for letter in ['s', 'm', 'j', 't'] {
                assert_eq!(cell.of_id(&cell.id(letter, "5f2a")), number);
            }
        }
        assert_eq!(StoreCell::new(0, 16).id('m', "7c"), "m_7c");
        assert_eq!(StoreCell::new(3, 16).id('m', "7c"), "m3_7c");
        for id in ["", "_", "é_1", "m", "run.part", "m99999999999_7c"] {
            assert_eq!(StoreCell::new(0, 16).of_id(id), 0, "{id}");
        }
        assert_eq!(StoreCell::ONLY.of_id("m3_7c"), 0, "a store with one cell has all ids");
    }

    #[test]
    fn names_are_spread_over_all_cells() {
        let cell = StoreCell::new(0, 16);
        let found: std::collections::BTreeSet<u32> = (0..200).map(|k| cell.of_name(&format!("chess/{k}"))).collect();
        assert_eq!(found.len(), 16);
        assert!(StoreCell::ONLY.has_name("chess/open"));
    }

    #[test]
    fn nodes_share_the_cells() {
        let owner = |node: &str| Some(CellOwner { node: node.to_owned(), at: String::new() });
        let mut table = CellTable { owners: vec![owner("a"), owner("a"), owner("b"), None], waiting: 0 };
        assert_eq!((table.nodes(), table.share()), (2, 2));
        table.waiting = 1;
        assert_eq!(table.share(), 2);
        assert_eq!(CellTable { owners: vec![None], waiting: 0 }.share(), 1);
    }
}
