//! Shared terms of all games in which a pool is divided.

use ludex_env::{Action, MoveRequest, Seat};

use crate::error::AgentError;

/// Count of each item.
pub(super) type ItemCounts = Vec<u8>;

/// Game in which items are divided.
pub(super) trait Sharing: Send + Sync {
    /// Reads the position of the seat.
    fn read(&self, ask: &MoveRequest<'_>) -> Result<NegotiationTurn, AgentError>;
    /// Returns the action id of a reply.
    fn id(&self, answer: &NegotiationMove) -> Action;
}

/// Kind of a negotiation turn.
pub(super) enum NegotiationTurn {
    Offer(SharedPool),
    /// Utterance, as an action id.
    Words(Action),
}

/// Reply of a negotiator.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum NegotiationMove {
    Agree,
    /// Offer in which the seat keeps these items.
    Keep(ItemCounts),
}

/// Pool of items, and the offers so far.
#[derive(Clone, Debug)]
pub(super) struct SharedPool {
    pub me: Seat,
    pub pool: ItemCounts,
    pub mine: ItemCounts,
    /// Items that each offer keeps for its seat; seat 0 offers first.
    pub offers: Vec<ItemCounts>,
    /// Maximum number of offers; the last one gets no reply.
    pub limit: usize,
    /// Mean discount factor per offer.
    pub shrinks: f64,
    /// True if the opponent's gain is subtracted from the own return.
    pub difference: bool,
    /// Function that lists the opponent's possible values.
    pub others: fn(&SharedPool) -> Vec<ItemCounts>,
}

pub(super) fn dot(counts: &[u8], values: &[u8]) -> u32 {
    counts.iter().zip(values).map(|(&n, &v)| u32::from(n) * u32::from(v)).sum()
}

/// Returns all lists of numbers up to `most`, the last number fastest.
pub(super) fn lists(most: &[u8]) -> Vec<ItemCounts> {
    most.iter().fold(vec![Vec::new()], |lists, &most| {
        let longer = |list: &ItemCounts| {
            let list = list.clone();
            (0..=most).map(move |n| [&list[..], &[n]].concat())
        };
        lists.iter().flat_map(longer).collect()
    })
}
