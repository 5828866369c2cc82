//! Recurrent states of a network between the turns of a match.

use hashlink::LruCache;
use ludex_env::draw::Key;
use ludex_env::{MoveRequest, ObservedMove, Seat};
use ndarray::ArrayD;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

/// Maximum number of stored states.
const MAX_STATES: usize = 4_096;

/// States after earlier turns, by the history that the seat had observed at these turns.
///
/// The history determines the observations and thereby the state, so episodes with equal histories share their states.
pub(super) struct StateMemory(Mutex<LruCache<Key, TurnStates>>);

/// States after a turn.
struct TurnStates {
    /// Number of the seat's earlier turns.
    turn: u32,
    states: Vec<ArrayD<f32>>,
}

impl StateMemory {
    pub fn new() -> Self {
        StateMemory(Mutex::new(LruCache::new(MAX_STATES)))
    }

    /// Returns the states after the seat's previous turn; `None` if they are not stored.
    pub fn previous(&self, ask: &MoveRequest<'_>, past: &[ObservedMove]) -> Option<Vec<ArrayD<f32>>> {
        let last = ask.turn.checked_sub(1)?;
        let keys: Vec<Key> = prefix_keys(ask.seat, past).collect();
        let mut stored = self.0.lock();
        let mut shorter = keys.iter().rev().skip(1);
        shorter.find_map(|key| stored.get(key).filter(|after| after.turn == last).map(|after| after.states.clone()))
    }

    /// Stores the states after this turn.
    pub fn insert(&self, ask: &MoveRequest<'_>, past: &[ObservedMove], states: Vec<ArrayD<f32>>) {
        if let Some(key) = prefix_keys(ask.seat, past).last() {
            self.0.lock().insert(key, TurnStates { turn: ask.turn, states });
        }
    }
}

/// Returns the keys of all prefixes of a history, from the empty prefix to the whole history.
fn prefix_keys(seat: Seat, past: &[ObservedMove]) -> impl Iterator<Item = Key> {
    let mut hasher = Sha256::new();
    hasher.update((seat as u64).to_le_bytes());
    let first: Key = hasher.clone().finalize().into();
    std::iter::once(first).chain(past.iter().map(move |seen| {
        let reveals = seen.reveals.join("\u{1e}");
        let action = seen.action.map_or(u64::MAX, u64::from);
        hasher.update(action.to_le_bytes());
        hasher.update(format!("{:?}\u{1f}{}\u{1f}{reveals}\u{1d}", seen.by, seen.text));
        hasher.clone().finalize().into()
    }))
}
