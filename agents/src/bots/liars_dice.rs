//! Bots for liar's dice.

use std::sync::Arc;

use ludex_env::{Action, GameRef, MoveRequest};
use ludex_games::liars_dice::{BiddingRule, Params, View};
use ludex_protocol::Refusal;

use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::spec::{AgentEntry, AgentSpec};
use crate::typed_access::{params, require_game, view};

const GAME: &str = "liars_dice";

pub(crate) const BOTS: &[AgentEntry] = &[AgentEntry::new(
    "liars_odds",
    "liars_dice: makes the most likely bid given its own dice, or calls if a lie is more likely",
    build,
)];

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    require_game(GAME, spec, game)?;
    let params: Params = params(game)?;
    Ok(Arc::new(Odds {
        dice: (params.players * params.numdice) as usize,
        sides: params.dice_sides as usize,
        faces_first: params.bidding_rule == BiddingRule::ResetQuantity,
    }))
}

/// Bot that bids by probability and ignores the information in other seats' bids.
struct Odds {
    /// Total number of dice of all seats.
    dice: usize,
    /// Number of sides of a die; the highest face is wild.
    sides: usize,
    /// True if bids are ordered by face first and quantity second.
    faces_first: bool,
}

impl Odds {
    /// Returns the quantity and face of a bid.
    fn meaning(&self, id: Action) -> [usize; 2] {
        let id = id as usize;
        if self.faces_first {
            [id % self.dice + 1, id / self.dice + 1]
        } else {
            [id / self.sides + 1, id % self.sides + 1]
        }
    }

    /// Returns the probability that all dice together satisfy the bid, given the seat's own dice.
    fn likely(&self, [quantity, face]: [usize; 2], own: &[u8]) -> f64 {
        let held = own.iter().map(|&die| usize::from(die)).filter(|&die| die == face || die == self.sides).count();
        let hidden = self.dice.saturating_sub(own.len());
        let fits = if face == self.sides { 1.0 } else { 2.0 } / self.sides as f64;
        at_least(quantity.saturating_sub(held), hidden, fits)
    }
}

/// Returns the probability of at least `wanted` successes in `n` trials, each with probability `p`.
fn at_least(wanted: usize, n: usize, p: f64) -> f64 {
    if wanted > n || p >= 1.0 {
        return if wanted > n { 0.0 } else { 1.0 };
    }
    let mut exactly = (0..n).fold(1.0, |none, _| none * (1.0 - p));
    let mut fewer = 0.0;
    for k in 0..wanted {
        fewer += exactly;
        exactly *= (n - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
    }
    1.0 - fewer
}

impl Agent for Odds {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let seen: View = view(ask)?;
        let call = (self.dice * self.sides) as Action;
        let lie = seen.bids.last().map_or(0.0, |bid| 1.0 - self.likely(bid.map(usize::from), &seen.dice));
        // Among equally likely bids, chooses the highest, which leaves the next seat fewer options.
        let mut best = (call, lie);
        for &bid in ask.legal.iter().filter(|&&a| a < call) {
            let likely = self.likely(self.meaning(bid), &seen.dice);
            if likely >= best.1 {
                best = (bid, likely);
            }
        }
        Ok(MoveReply::id(best.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binomial_tail_agrees_with_enumeration() {
        // Counted by hand: at least two sixes with three dice, 16 of 216.
        assert!((at_least(2, 3, 1.0 / 6.0) - 16.0 / 216.0).abs() < 1e-12);
        assert_eq!((at_least(0, 3, 0.5), at_least(4, 3, 0.5), at_least(0, 0, 0.5)), (1.0, 0.0, 1.0));
        assert!((at_least(3, 3, 0.5) - 0.125).abs() < 1e-12);
        assert_eq!((at_least(3, 3, 1.0), at_least(4, 3, 1.0)), (1.0, 0.0));
    }
}
