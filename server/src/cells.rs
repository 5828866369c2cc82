//! Cells that this server owns. A store in an SQLite file has one cell.

use std::collections::BTreeMap;
use std::sync::Arc;

use ludex_arena::cells::CellUrls;
use ludex_arena::live::Live;
use parking_lot::Mutex;

/// States `S` of the owned cells, by number, and the URLs of all cells.
pub(crate) struct OwnedCells<S> {
    states: Live<BTreeMap<u32, Arc<S>>>,
    /// Lock that is held while the states are replaced.
    changes: Mutex<()>,
    pub urls: Arc<CellUrls>,
}

impl<S> Default for OwnedCells<S> {
    fn default() -> Self {
        OwnedCells { states: BTreeMap::new().into(), changes: Mutex::default(), urls: Arc::default() }
    }
}

impl<S> OwnedCells<S> {
    /// Returns the states of all owned cells.
    pub fn all(&self) -> Arc<BTreeMap<u32, Arc<S>>> {
        self.states.get()
    }

    /// Returns the state of a cell; `None` if another server owns the cell.
    pub fn get(&self, cell: u32) -> Option<Arc<S>> {
        self.all().get(&cell).cloned()
    }

    /// Returns the state for clients that name no cell; `None` if the server owns no cell.
    pub fn first(&self) -> Option<Arc<S>> {
        self.all().values().next().cloned()
    }

    /// Adds the state of a cell.
    pub fn insert(&self, cell: u32, state: Arc<S>) {
        self.change(|states| drop(states.insert(cell, state)));
    }

    /// Removes the state of a cell.
    pub fn remove(&self, cell: u32) {
        self.change(|states| drop(states.remove(&cell)));
    }

    /// Removes all states, which refer to this value.
    pub fn clear(&self) {
        self.change(BTreeMap::clear);
    }

    /// Replaces each state by its `replacement`.
    pub fn replace(&self, replacement: impl Fn(&S) -> S) {
        self.change(|states| states.values_mut().for_each(|state| *state = Arc::new(replacement(state))));
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<u32, Arc<S>>)) {
        let _one_by_one = self.changes.lock();
        let mut states = (*self.states.get()).clone();
        change(&mut states);
        self.states.set(states);
    }
}
