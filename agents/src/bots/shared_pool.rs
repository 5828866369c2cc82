//! A deal over items, in the terms that all games of sharing have in common.

use ludex_env::{Action, MoveRequest, Seat};

use crate::error::AgentError;

/// How many of each item.
pub(super) type Items = Vec<u8>;

/// A game in which items are shared out.
pub(super) trait Sharing: Send + Sync {
    /// The position of the asked seat.
    fn read(&self, ask: &MoveRequest<'_>) -> Result<NegotiationTurn, AgentError>;
    /// The id of an answer.
    fn id(&self, answer: &Reply) -> Action;
}

/// What is asked of a negotiator.
pub(super) enum NegotiationTurn {
    /// An offer, or to agree.
    Deal(Deal),
    /// Words, for which the game's file has the id.
    Words(Action),
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reply {
    Agree,
    /// An offer in which the seat keeps this.
    Keep(Items),
}

/// The items to share out, and the offers so far.
#[derive(Clone, Debug)]
pub(super) struct Deal {
    pub me: Seat,
    pub pool: Items,
    pub mine: Items,
    /// What each offer keeps for the seat that made it; seat 0 offers first.
    pub offers: Vec<Items>,
    /// The most offers that there may be; the last one cannot be answered.
    pub limit: usize,
    /// What a return shrinks to, on average, with every offer.
    pub shrinks: f64,
    /// Whether the other's share is subtracted from the own return.
    pub difference: bool,
    /// Values that the other may have.
    pub others: fn(&Deal) -> Vec<Items>,
}

pub(super) fn dot(counts: &[u8], values: &[u8]) -> u32 {
    counts.iter().zip(values).map(|(&n, &v)| u32::from(n) * u32::from(v)).sum()
}

/// All lists of numbers up to `most`, the last number fastest.
pub(super) fn lists(most: &[u8]) -> Vec<Items> {
    most.iter().fold(vec![Vec::new()], |lists, &most| {
        let longer = |list: &Items| {
            let list = list.clone();
            (0..=most).map(move |n| [&list[..], &[n]].concat())
        };
        lists.iter().flat_map(longer).collect()
    })
}
