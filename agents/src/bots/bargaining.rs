//! Bargaining adapter for the bots of `sharing`.
//!
//! Action ids: offers of at most 7 items of three kinds, with the first kind changing fastest; then agreement.

use ludex_env::{Action, GameRef, MoveRequest};
use ludex_games::bargaining::{Params, Reward, View};
use ludex_protocol::Refusal;

use super::shared_pool::{ItemCounts, NegotiationMove, NegotiationTurn, SharedPool, Sharing, dot, lists};
use crate::error::AgentError;
use crate::typed_access::{params, view};

pub(super) const GAME: &str = "bargaining";

const AGREE: Action = 120;
const MOST_ITEMS: u8 = 7;
/// Value of the whole pool to each player.
const WORTH: u8 = 10;

pub(super) struct BargainingRules {
    params: Params,
    /// Offers in the order of their action ids. Each offer lists the item kinds in reverse order.
    offers: Vec<ItemCounts>,
}

impl BargainingRules {
    pub(super) fn new(game: &GameRef) -> Result<Self, Refusal> {
        let offers = lists(&[MOST_ITEMS; 3]).into_iter().filter(|q| q.iter().sum::<u8>() <= MOST_ITEMS).collect();
        Ok(BargainingRules { params: params(game)?, offers })
    }
}

/// Returns the lists of item values that the opponent may have. If the instance is fixed, returns all lists that occur
/// in any instance.
fn others(deal: &SharedPool) -> Vec<ItemCounts> {
    let all = lists(&[WORTH; 3]);
    let drawn = dot(&deal.pool, &deal.mine) == u32::from(WORTH);
    let fits = |v: &ItemCounts| {
        let (worth, mut pairs) = (dot(&deal.pool, v), v.iter().zip(&deal.mine));
        let compatible = pairs.clone().all(|(&a, &b)| a > 0 || b > 0) && pairs.any(|(&a, &b)| a > 0 && b > 0);
        worth == u32::from(WORTH) && compatible || !drawn && worth > 0 && worth <= u32::from(WORTH)
    };
    let good: Vec<ItemCounts> = all.iter().filter(|v| fits(v)).cloned().collect();
    if good.is_empty() { all } else { good }
}

impl Sharing for BargainingRules {
    fn read(&self, ask: &MoveRequest<'_>) -> Result<NegotiationTurn, AgentError> {
        let seen: View = view(ask)?;
        Ok(NegotiationTurn::Offer(SharedPool {
            me: ask.seat,
            pool: seen.pool.unwrap_or_default().to_vec(),
            mine: seen.values.unwrap_or_default().to_vec(),
            offers: seen.offers.iter().map(|offer| offer.to_vec()).collect(),
            limit: self.params.max_turns as usize,
            shrinks: self.params.discount * (1.0 - self.params.prob_end),
            difference: self.params.reward == Reward::Difference,
            others,
        }))
    }

    fn id(&self, answer: &NegotiationMove) -> Action {
        match answer {
            NegotiationMove::Agree => AGREE,
            NegotiationMove::Keep(items) => {
                let place = self.offers.iter().position(|offer| offer.iter().rev().eq(items));
                place.map_or(0, |id| id as Action)
            }
        }
    }
}
