//! Common types of games in which two seats divide a pool of items.

use ludex_env::{Action, MoveRequest, Seat};

use crate::error::AgentError;

/// Number of items of each kind.
pub(super) type ItemCounts = Vec<u8>;

/// Adapter for a game in which a pool of items is divided.
pub(super) trait Sharing: Send + Sync {
    /// Reads the position of the seat.
    fn read(&self, ask: &MoveRequest<'_>) -> Result<NegotiationTurn, AgentError>;
    /// Returns the action id of a negotiator's move.
    fn id(&self, answer: &NegotiationMove) -> Action;
}

/// Turn of a negotiation game: an offer, or an utterance.
pub(super) enum NegotiationTurn {
    Offer(SharedPool),
    /// Turn to speak, with the action id of the utterance to submit.
    Words(Action),
}

/// Move of a negotiator.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum NegotiationMove {
    Agree,
    /// Offer in which the offering seat keeps these items.
    Keep(ItemCounts),
}

/// Position of one seat: the pool, the seat's values and the offers so far.
#[derive(Clone, Debug)]
pub(super) struct SharedPool {
    pub me: Seat,
    pub pool: ItemCounts,
    pub mine: ItemCounts,
    /// Items that the offering seat keeps, for each offer so far; seat 0 makes the first offer.
    pub offers: Vec<ItemCounts>,
    /// Maximum number of offers; the last offer cannot be accepted.
    pub limit: usize,
    /// Mean factor by which each further offer multiplies the gains of both seats.
    pub shrinks: f64,
    /// True if the opponent's gain is subtracted from the seat's own return.
    pub difference: bool,
    /// Function that returns the lists of item values that the opponent may have.
    pub others: fn(&SharedPool) -> Vec<ItemCounts>,
}

pub(super) fn dot(counts: &[u8], values: &[u8]) -> u32 {
    counts.iter().zip(values).map(|(&n, &v)| u32::from(n) * u32::from(v)).sum()
}

/// Returns all lists of numbers from 0 to the bounds in `most`, with the last number changing fastest.
pub(super) fn lists(most: &[u8]) -> Vec<ItemCounts> {
    most.iter().fold(vec![Vec::new()], |lists, &most| {
        let longer = |list: &ItemCounts| {
            let list = list.clone();
            (0..=most).map(move |n| [&list[..], &[n]].concat())
        };
        lists.iter().flat_map(longer).collect()
    })
}
