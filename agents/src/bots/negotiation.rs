//! Negotiation adapter for the bots of `sharing`.
//!
//! Action ids: offers as numbers in base 6, then agreement, then utterances.

use ludex_env::{Action, GameRef, MoveRequest};
use ludex_games::negotiation::{Params, View};
use ludex_protocol::Refusal;

use super::shared_pool::{ItemCounts, NegotiationMove, NegotiationTurn, SharedPool, Sharing, lists};
use crate::error::AgentError;
use crate::typed_access::{params, view};

pub(super) const GAME: &str = "negotiation";

/// Base of the numbers that encode offers as action ids: the maximum count of an item, plus one.
const BASE: u32 = 6;
const MOST_VALUE: u8 = 10;

pub(super) struct NegotiationRules {
    params: Params,
}

impl NegotiationRules {
    pub(super) fn new(game: &GameRef) -> Result<Self, Refusal> {
        Ok(NegotiationRules { params: params(game)? })
    }

    fn agree(&self) -> Action {
        BASE.pow(self.params.num_items)
    }

    /// Returns the utterance that states the seat's true values, one item per symbol, up to its maximum length.
    fn utterance(&self, values: &[u8]) -> Action {
        let (symbols, dim) = (self.params.num_symbols, self.params.utterance_dim as usize);
        let symbol = |i: usize| u32::from(values.get(i).copied().unwrap_or(0)) * (symbols - 1) / u32::from(MOST_VALUE);
        self.agree() + 1 + (0..dim).fold(0, |number, i| number * symbols + symbol(i))
    }
}

/// Returns the lists of item values that the opponent may have, without the list of zeros. If there are more than three
/// items, considers only four values per item.
fn others(deal: &SharedPool) -> Vec<ItemCounts> {
    let all = if deal.pool.len() <= 3 {
        lists(&vec![MOST_VALUE; deal.pool.len()])
    } else {
        let few = lists(&vec![3; deal.pool.len()]);
        few.into_iter().map(|list| list.into_iter().map(|n| (n * MOST_VALUE + 1) / 3).collect()).collect()
    };
    all.into_iter().filter(|values: &ItemCounts| values.iter().any(|&v| v > 0)).collect()
}

impl Sharing for NegotiationRules {
    fn read(&self, ask: &MoveRequest<'_>) -> Result<NegotiationTurn, AgentError> {
        let seen: View = view(ask)?;
        if ask.legal[0] > self.agree() {
            return Ok(NegotiationTurn::Words(self.utterance(&seen.values)));
        }
        Ok(NegotiationTurn::Offer(SharedPool {
            me: ask.seat,
            pool: seen.pool,
            mine: seen.values,
            offers: seen.proposals,
            limit: seen.limit.unwrap_or(1).into(),
            shrinks: 1.0,
            difference: false,
            others,
        }))
    }

    fn id(&self, answer: &NegotiationMove) -> Action {
        match answer {
            NegotiationMove::Agree => self.agree(),
            NegotiationMove::Keep(items) => items.iter().fold(0, |number, &n| number * BASE + u32::from(n)),
        }
    }
}
