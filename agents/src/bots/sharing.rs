//! Bots for negotiation and bargaining, in which two seats divide a pool of items. One adapter module per game reads
//! that game's views.

use std::sync::Arc;

use ludex_env::{GameRef, MoveRequest};
use ludex_protocol::Refusal;

use super::shared_pool::{ItemCounts, NegotiationMove, NegotiationTurn, SharedPool, Sharing, dot, lists};
use super::{bargaining, negotiation};
use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::refusal::does_not_play;
use crate::spec::{AgentEntry, AgentSpec, ArgDef, ArgKind};

pub(crate) const BOTS: &[AgentEntry] = &[
    negotiator(
        "time_dependent",
        "negotiation, bargaining: concedes over time (Faratin et al. 1998)",
        &[
            ArgDef::new(
                "exponent",
                ArgKind::Number { min: 0.01, max: 100.0 },
                "below 1, the agent concedes late (Boulware); above 1, early",
            )
            .default("1"),
            RESERVE,
        ],
    ),
    negotiator(
        "absolute_tit_for_tat",
        "negotiation, bargaining: concedes like the opponent (Faratin 1998)",
        &[RESERVE],
    ),
    negotiator("hardliner", "negotiation, bargaining: demands everything, and agrees only at the last chance", &[]),
    negotiator(
        "bayesian_negotiator",
        "negotiation, bargaining: infers the opponent's values from its offers, and looks for splits good for both",
        &[],
    ),
];

const RESERVE: ArgDef =
    ArgDef::new("reserve", ArgKind::Number { min: 0.0, max: 1.0 }, "minimum acceptable share of the maximum gain")
        .default("0");

const fn negotiator(name: &'static str, doc: &'static str, args: &'static [ArgDef]) -> AgentEntry {
    AgentEntry::new(name, doc, build).args(args)
}

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    let asked = &game.spec().game;
    let table: Box<dyn Sharing> = match asked.as_str() {
        negotiation::GAME => Box::new(negotiation::NegotiationRules::new(game)?),
        bargaining::GAME => Box::new(bargaining::BargainingRules::new(game)?),
        _ => {
            let fits = format!("it plays {} and {}", negotiation::GAME, bargaining::GAME);
            return Err(does_not_play(spec.name(), asked, "it is a bot for other games", &fits));
        }
    };
    let reserve = spec.number("reserve").unwrap_or(0.0);
    let style = match spec.name() {
        "time_dependent" => Style::TimeDependent { power: 1.0 / spec.number("exponent").unwrap_or(1.0) },
        "absolute_tit_for_tat" => Style::AbsoluteTitForTat,
        "hardliner" => Style::Hardliner,
        _ => Style::Bayesian,
    };
    Ok(Arc::new(Negotiator { table, style, reserve }))
}

impl SharedPool {
    /// Returns the items left for the opponent if the seat keeps `kept`.
    fn rest(&self, kept: &[u8]) -> ItemCounts {
        self.pool.iter().zip(kept).map(|(n, kept)| n.saturating_sub(*kept)).collect()
    }

    /// Returns the offers of the opponent.
    fn received(&self) -> impl DoubleEndedIterator<Item = &ItemCounts> {
        self.offers.iter().skip(1 - self.me).step_by(2)
    }

    /// Returns true if agreeing now is the last chance for a deal, because no further offer can be accepted.
    fn last_chance(&self) -> bool {
        self.offers.len() + 1 >= self.limit
    }

    /// Returns the progress of the negotiation, from 0 at the seat's first move to 1 at its last offer that can be
    /// accepted.
    fn time(&self) -> f64 {
        let own = |made: usize| made / 2;
        let last = own(self.limit.saturating_sub(2 + self.me));
        if last == 0 { 1.0 } else { (own(self.offers.len()) as f64 / last as f64).min(1.0) }
    }
}

/// Raises `x` in [0, 1] to a power of at least 0. Uses only products and square roots, so that results are identical on
/// every machine.
fn power(x: f64, power: f64) -> f64 {
    let whole = power as u32;
    let mut result = (0..whole).fold(1.0, |product, _| product * x);
    let (mut rest, mut root) = (power - f64::from(whole), x);
    for _ in 0..24 {
        root = root.sqrt();
        rest *= 2.0;
        if rest >= 1.0 {
            result *= root;
            rest -= 1.0;
        }
    }
    result
}

enum Style {
    /// Concedes in proportion to the elapsed time raised to this power.
    TimeDependent {
        power: f64,
    },
    /// Concedes as much as the opponent has conceded.
    AbsoluteTitForTat,
    Hardliner,
    /// Concedes late, and prefers splits that the opponent probably values.
    Bayesian,
}

struct Negotiator {
    table: Box<dyn Sharing>,
    style: Style,
    /// Minimum acceptable gain, as a share of the maximum gain.
    reserve: f64,
}

impl Agent for Negotiator {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let id = match self.table.read(ask)? {
            NegotiationTurn::Words(id) => id,
            NegotiationTurn::Offer(deal) => self.table.id(&self.reply(&deal)),
        };
        Ok(MoveReply::id(id))
    }
}

impl Negotiator {
    fn reply(&self, deal: &SharedPool) -> NegotiationMove {
        let bayesian = matches!(self.style, Style::Bayesian);
        // Other styles need the opponent's values only if the seat's return depends on these values.
        let beliefs = if bayesian || deal.difference { Beliefs::new(deal, bayesian) } else { Beliefs::even(deal) };
        let splits = lists(&deal.pool);
        let gains: Vec<f64> = splits.iter().map(|kept| beliefs.gain(deal, kept)).collect();
        let most = gains.iter().copied().fold(0.0, f64::max);
        let least = self.reserve * most;
        let offered = deal.received().next_back().filter(|_| !deal.offers.is_empty());
        let offered = offered.map(|offer| beliefs.gain(deal, &deal.rest(offer)));
        if let Some(gain) = offered.filter(|_| deal.last_chance()) {
            // The seat's last move: any acceptable gain is better than no agreement.
            if gain >= least && gain >= 0.0 {
                return NegotiationMove::Agree;
            }
        }
        let target = self.target(deal, &beliefs, most).max(least);
        // Rejecting the offer reduces all later gains by the discount, so a smaller gain is acceptable now.
        if offered.is_some_and(|gain| gain >= target * deal.shrinks && gain >= least && gain > 0.0) {
            return NegotiationMove::Agree;
        }
        let last_word = bayesian && deal.offers.len() + 2 == deal.limit;
        let mut best: Option<(f64, f64, usize)> = None;
        for (i, kept) in splits.iter().enumerate() {
            // A final offer is accepted with probability at most 1, so its value is at most its gain.
            let hopeless =
                if last_word { best.is_some_and(|(w, ..)| gains[i] <= w) } else { gains[i] < target.min(most) };
            if hopeless {
                continue;
            }
            let given = deal.rest(kept);
            let worth = if last_word { gains[i] * beliefs.accepts(deal, &given) } else { beliefs.liking(&given) };
            // Among equally good splits, prefers the split with the larger gain.
            if best.is_none_or(|(w, g, _)| worth > w || worth == w && gains[i] > g) {
                best = Some((worth, gains[i], i));
            }
        }
        NegotiationMove::Keep(best.map_or_else(|| deal.pool.clone(), |(_, _, i)| splits[i].clone()))
    }

    /// Returns the gain that the negotiator demands at this point.
    fn target(&self, deal: &SharedPool, beliefs: &Beliefs, most: f64) -> f64 {
        match self.style {
            Style::Hardliner => most,
            Style::TimeDependent { power: p } => most - (most - self.reserve * most) * power(deal.time(), p),
            Style::AbsoluteTitForTat => {
                let gains = || deal.received().map(|offer| beliefs.gain(deal, &deal.rest(offer)));
                let conceded = gains().next_back().zip(gains().next()).map_or(0.0, |(last, first)| last - first);
                most - conceded.max(0.0)
            }
            Style::Bayesian if concedes(deal, beliefs) => HOLDS * most,
            Style::Bayesian => most * (1.0 - YIELDS * power(deal.time(), LATE)),
        }
    }
}

/// Share of the maximum gain that the Bayesian negotiator has conceded at the end. `LATE` is the exponent of time in
/// its concessions.
const YIELDS: f64 = 0.55;
const LATE: f64 = 2.0;
/// Share of the maximum gain that the Bayesian negotiator demands while the opponent keeps conceding.
const HOLDS: f64 = 0.75;

/// Returns true if each offer of the opponent was at least as good as the previous offer, and the last was better.
fn concedes(deal: &SharedPool, beliefs: &Beliefs) -> bool {
    let gains: Vec<f64> = deal.received().map(|offer| beliefs.gain(deal, &deal.rest(offer))).collect();
    gains.is_sorted() && matches!(gains[..], [.., before, last] if last > before)
}

/// Beliefs about how the opponent values the items.
struct Beliefs {
    /// Possible value lists with probabilities; empty if the negotiator does not need them.
    lists: Vec<(ItemCounts, f64)>,
    mean: Vec<f64>,
}

impl Beliefs {
    /// Returns beliefs in which all items have the same value.
    fn even(deal: &SharedPool) -> Self {
        Beliefs { lists: Vec::new(), mean: vec![1.0; deal.pool.len()] }
    }

    /// Returns a probability for each value list that the game allows, updated by the opponent's offers if `listens` is
    /// true.
    ///
    /// Offers are more likely under value lists for which the opponent keeps a large share of the value. They are
    /// unlikely if the opponent would have gained at least as much by accepting the previous offer.
    fn new(deal: &SharedPool, listens: bool) -> Self {
        let mut lists: Vec<(ItemCounts, f64)> = (deal.others)(deal).into_iter().map(|values| (values, 1.0)).collect();
        let theirs = |k: usize| k % 2 != deal.me;
        for (values, weight) in lists.iter_mut().filter(|_| listens) {
            let all = f64::from(dot(&deal.pool, values).max(1));
            for (k, kept) in deal.offers.iter().enumerate().filter(|(k, _)| theirs(*k)) {
                let share = f64::from(dot(kept, values)) / all;
                *weight *= (share * share).max(0.01);
                let refused = k.checked_sub(1).map(|k| f64::from(dot(&deal.rest(&deal.offers[k]), values)) / all);
                if refused.is_some_and(|refused| refused >= share) {
                    *weight *= 0.2;
                }
            }
        }
        let sum: f64 = lists.iter().map(|(_, w)| w).sum();
        let mut mean = vec![0.0; deal.pool.len()];
        for (values, weight) in &mut lists {
            *weight /= sum;
            mean.iter_mut().zip(values).for_each(|(m, v)| *m += *weight * f64::from(*v));
        }
        Beliefs { lists, mean }
    }

    /// Returns the expected value of these items to the opponent.
    fn liking(&self, given: &[u8]) -> f64 {
        given.iter().zip(&self.mean).map(|(&n, v)| f64::from(n) * v).sum()
    }

    /// Returns the seat's expected gain if it keeps these items.
    fn gain(&self, deal: &SharedPool, kept: &[u8]) -> f64 {
        let own = f64::from(dot(kept, &deal.mine));
        if deal.difference { own - self.liking(&deal.rest(kept)) } else { own }
    }

    /// Returns the probability that the opponent accepts these items as the final offer. The probability is 1 if the
    /// opponent values these items at least as much as one of its own demands. Otherwise it increases with the value of
    /// the items.
    fn accepts(&self, deal: &SharedPool, given: &[u8]) -> f64 {
        let each = self.lists.iter().map(|(values, weight)| {
            let share = f64::from(dot(given, values)) / f64::from(dot(&deal.pool, values).max(1));
            let enough = deal.received().any(|asked| dot(asked, values) <= dot(given, values));
            weight * if enough { 1.0 } else { (0.5 + share).min(1.0) }
        });
        each.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_agrees_with_standard_library() {
        for x in [0.0, 0.1, 0.5, 0.9, 1.0] {
            for p in [0.01, 0.25, 1.0 / 3.0, 1.0, 2.5, 5.0, 100.0] {
                let (ours, exact) = (power(x, p), f64::powf(x, p));
                assert!((ours - exact).abs() < 1e-6, "{x} ^ {p}: {ours}, not {exact}");
            }
        }
    }

    #[test]
    fn keeping_an_item_raises_its_inferred_value() {
        let deal = SharedPool {
            me: 0,
            pool: vec![2, 2, 2],
            mine: vec![1, 1, 3],
            offers: vec![vec![2, 2, 2], vec![2, 0, 1], vec![1, 2, 2], vec![2, 0, 0]],
            limit: 10,
            shrinks: 1.0,
            difference: false,
            others: |_| lists(&[4; 3]).into_iter().filter(|v| v.iter().any(|&v| v > 0)).collect(),
        };
        let mean = Beliefs::new(&deal, true).mean;
        assert!(mean[0] > mean[2] && mean[2] > mean[1], "{mean:?}");
        let mean = Beliefs::new(&deal, false).mean;
        assert!((mean[0] - mean[1]).abs() < 1e-9, "{mean:?}");
    }
}
