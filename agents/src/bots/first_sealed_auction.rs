//! Bots for the first-price sealed-bid auction. Action ids are bids in units of the smallest coin.

use std::sync::Arc;

use ludex_env::{Action, GameRef, MoveRequest};
use ludex_games::first_sealed_auction::{Params, View};
use ludex_protocol::Refusal;

use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::spec::{AgentEntry, AgentSpec, ArgDef, ArgKind};
use crate::typed_access::{params, require_game, view};

const GAME: &str = "first_sealed_auction";

pub(crate) const BOTS: &[AgentEntry] = &[
    AgentEntry::new(
        "truthful_bidder",
        "first_sealed_auction: bids its value, or the highest bid below it",
        |spec, game| shading(spec, game, |_| 1.0),
    ),
    AgentEntry::new("shading_bidder", "first_sealed_auction: bids a fixed share of its value", |spec, game| {
        let part = spec.number("part").unwrap_or(1.0);
        shading(spec, game, |_| part)
    })
    .args(&[ArgDef::new("part", ArgKind::Number { min: 0.0, max: 1.0 }, "share of the value").default("0.75")]),
    AgentEntry::new(
        "equilibrium_bidder",
        "first_sealed_auction: bids (n - 1) / n of its value, the equilibrium of n risk-neutral bidders",
        |spec, game| shading(spec, game, |n| f64::from(n - 1) / f64::from(n)),
    ),
    AgentEntry::new(
        "best_response_bidder",
        "first_sealed_auction: bids the best response to an even mix of bidder types",
        best_response,
    ),
];

fn shading(spec: &AgentSpec, game: &GameRef, part: impl Fn(u32) -> f64) -> Result<Arc<dyn Agent>, Refusal> {
    let rules = rules(spec, game)?;
    let part = part(rules.params.players);
    Ok(Arc::new(Bidder { bids: (0..=rules.steps).map(|value| rules.shaded(value, part)).collect() }))
}

fn best_response(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    let rules = rules(spec, game)?;
    Ok(Arc::new(Bidder { bids: rules.best_responses(&rules.company()) }))
}

fn rules(spec: &AgentSpec, game: &GameRef) -> Result<AuctionRules, Refusal> {
    require_game(GAME, spec, game)?;
    let params: Params = params(game)?;
    let steps = params.max_value as usize * if params.cents { 100 } else { 1 };
    Ok(AuctionRules { params, steps })
}

/// Bidder that maps each value to a fixed bid.
struct Bidder {
    bids: Vec<Action>,
}

impl Agent for Bidder {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let seen: View = view(ask)?;
        let value = usize::from(seen.value.unwrap_or(0));
        let bid = self.bids.get(value).copied().unwrap_or(0);
        // Bids start at 0 without gaps, so the last is the highest.
        Ok(MoveReply::id(bid.min(ask.legal.last().copied().unwrap_or(0))))
    }
}

/// Game parameters and quantities derived from them.
struct AuctionRules {
    params: Params,
    /// Maximum value in units of the smallest coin.
    steps: usize,
}

impl AuctionRules {
    /// Returns the highest bid that a bidder with this value may make.
    fn most(&self, value: usize) -> usize {
        if self.params.up_to_value { value } else { value.saturating_sub(1) }
    }

    /// Returns `part` times `value`, rounded to the nearest legal bid; halves are rounded down.
    fn shaded(&self, value: usize, part: f64) -> Action {
        let exact = part * value as f64;
        let below = exact as usize;
        let bid = below + usize::from(exact - below as f64 > 0.5);
        bid.min(self.most(value)) as Action
    }

    /// Returns the bid distribution of a bidder that bids `part` of its uniformly distributed value.
    fn shaders(&self, part: f64) -> Vec<f64> {
        let mut chances = vec![0.0; self.most(self.steps) + 1];
        (1..=self.steps).for_each(|v| chances[self.shaded(v, part) as usize] += 1.0 / self.steps as f64);
        chances
    }

    /// Returns the bid distribution of a bidder that draws its value and then one of the allowed bids uniformly.
    fn uniform(&self) -> Vec<f64> {
        let mut chances = vec![0.0; self.most(self.steps) + 1];
        for value in 1..=self.steps {
            let open = self.most(value) + 1;
            chances[..open].iter_mut().for_each(|c| *c += 1.0 / (self.steps * open) as f64);
        }
        chances
    }

    /// Returns the bid distributions of the modeled opponents: uniform bids, two shaded bids, and bids of the full
    /// value.
    fn company(&self) -> Vec<Vec<f64>> {
        let n = f64::from(self.params.players);
        vec![self.uniform(), self.shaders((n - 1.0) / n), self.shaders(0.75), self.shaders(1.0)]
    }

    /// Returns each bid's probability of winning if all opponents draw their bids from `bids`. Ties are broken at
    /// random.
    fn wins(&self, bids: &[f64]) -> Vec<f64> {
        let others = self.params.players - 1;
        let mut below = 0.0;
        let mut wins = Vec::with_capacity(bids.len());
        for &same in bids {
            // A bid tied with k others wins with probability 1 / (k + 1); this mean of powers is the sum over k.
            let powers = (0..=others).map(|k| power(below + same, k) * power(below, others - k));
            wins.push(powers.sum::<f64>() / f64::from(others + 1));
            below += same;
        }
        wins
    }

    /// Returns, for each value, the lowest bid that maximizes the mean payoff against the opponents' bid distributions.
    fn best_responses(&self, tables: &[Vec<f64>]) -> Vec<Action> {
        let mut wins = vec![0.0; self.most(self.steps) + 1];
        for table in tables {
            wins.iter_mut().zip(self.wins(table)).for_each(|(sum, w)| *sum += w);
        }
        let best = |value: usize| {
            let mut best = (0, 0.0);
            for (bid, chance) in wins.iter().enumerate().take(self.most(value) + 1) {
                let gain = (value - bid) as f64 * chance;
                if gain > best.1 {
                    best = (bid, gain);
                }
            }
            best.0 as Action
        };
        (0..=self.steps).map(best).collect()
    }
}

/// Returns `x` to the power of `k`.
fn power(x: f64, k: u32) -> f64 {
    (0..k).fold(1.0, |product, _| product * x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(players: u32, max_value: u32, cents: bool, up_to_value: bool) -> AuctionRules {
        let steps = max_value as usize * if cents { 100 } else { 1 };
        AuctionRules { params: Params { players, max_value, cents, up_to_value }, steps }
    }

    /// Returns the payoff of `bid` against opponents who bid `theirs[value]`, by enumerating all of their values.
    fn enumerate_payoff(rules: &AuctionRules, value: usize, bid: usize, theirs: &[Action]) -> f64 {
        let others = rules.params.players - 1;
        let all = (rules.steps as u32).pow(others);
        let gains = (0..all).map(|mut deal| {
            let (mut higher, mut ties) = (false, 1);
            for _ in 0..others {
                let other = theirs[deal as usize % rules.steps + 1] as usize;
                deal /= rules.steps as u32;
                higher |= other > bid;
                ties += i32::from(other == bid);
            }
            if higher { 0.0 } else { (value - bid) as f64 / f64::from(ties) }
        });
        gains.sum::<f64>() / f64::from(all)
    }

    #[test]
    fn best_responses_agree_with_enumeration() {
        for (players, steps, up_to_value) in [(2, 10, false), (2, 9, true), (3, 7, false), (4, 5, true)] {
            let rules = table(players, steps, false, up_to_value);
            for part in [0.4, 0.75, 1.0] {
                let theirs: Vec<Action> = (0..=rules.steps).map(|v| rules.shaded(v, part)).collect();
                let replies = rules.best_responses(&[rules.shaders(part)]);
                for (value, &reply) in (0..=rules.steps).zip(&replies).skip(1) {
                    let gain = |bid| enumerate_payoff(&rules, value, bid, &theirs);
                    let best = (0..=rules.most(value)).map(gain).fold(0.0, f64::max);
                    assert!((gain(reply as usize) - best).abs() < 1e-9, "{players} {part} {value}");
                }
            }
        }
    }

    #[test]
    fn deviation_from_equilibrium_gains_at_most_one_coin() {
        for (players, cents) in [(2, true), (3, true), (2, false), (5, true)] {
            let rules = table(players, 10, cents, true);
            let part = f64::from(players - 1) / f64::from(players);
            let wins = rules.wins(&rules.shaders(part));
            for value in 1..=rules.steps {
                let gain = |bid: usize| (value - bid) as f64 * wins[bid];
                let best = (0..=value).map(gain).fold(0.0, f64::max);
                assert!(best - gain(rules.shaded(value, part) as usize) <= 1.0, "{players} bidders, {value}");
            }
        }
    }

    #[test]
    fn win_probability_increases_with_bid() {
        let rules = table(3, 10, false, false);
        for table in rules.company() {
            assert!((table.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            let wins = rules.wins(&table);
            assert!(wins.is_sorted() && wins.iter().all(|w| (0.0..=1.0).contains(w)), "{wins:?}");
        }
    }
}
