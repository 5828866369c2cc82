//! Hints for search.

use super::{Action, Game, Seat};

/// Hints for search: evaluation, move order and hashes.
pub trait GameSearch: Game {
    /// Returns a heuristic estimate of `seat`'s return, within the bounds of returns, for search. Default: `None`.
    fn evaluate(&self, _s: &Self::State, _seat: Seat) -> Option<f64> {
        None
    }
    /// Adds to `out`, best first, the legal actions that search should examine for `seat`, which is to move. Adds at
    /// least one action, and may omit actions that are never sensible. Returns the length of the prefix that search
    /// examines in this order. Search orders the remaining actions by their success elsewhere in the tree. Default: all
    /// legal actions, prefix 0.
    fn search_moves(&self, s: &Self::State, seat: Seat, out: &mut Vec<Action>) -> usize {
        self.legal(s, seat, out);
        0
    }
    /// Adds to `_out`, best first, the quiescence moves of `seat`, which is to move. Search follows these legal
    /// actions, such as captures and replies to threats, beyond its depth limit before it evaluates a position. Returns
    /// true if the seat may also decline all of them and accept the evaluation. Default: adds none and returns true.
    fn quiescence_moves(&self, _s: &Self::State, _seat: Seat, _out: &mut Vec<Action>) -> bool {
        true
    }
    /// Returns a hash of everything that affects the rest of the episode, for transposition tables. Default: `None`.
    fn hash(&self, _s: &Self::State) -> Option<u64> {
        None
    }
}
