//! Bots for Texas hold'em that compare the value of a hand with the price of staying in it.
//!
//! They support every deck, number of seats and betting structure. A decision uses the pot, the price of a call and a
//! few raise sizes (`spot`).

use std::sync::{Arc, OnceLock};

use ludex_env::{Action, GameRef, MoveRequest};
use ludex_games::texas_holdem::View;
use ludex_protocol::Refusal;

use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::spec::{AgentEntry, AgentSpec, ArgDef, ArgKind, Builder};
use crate::typed_access::{require_game, view};

mod hand_equity;
mod ranges;
mod spot;
#[cfg(test)]
mod tests;

use hand_equity::{Deck, HandEquity};
use spot::{Spot, TableFacts};

const GAME: &str = "texas_holdem";

/// Argument for the share of random moves, which weakens a bot.
const SLIPS: ArgDef =
    ArgDef::new("slips", ArgKind::Number { min: 0.0, max: 1.0 }, "probability of a random move").default("0");

const fn entry(name: &'static str, doc: &'static str, build: Builder) -> AgentEntry {
    AgentEntry::new(name, doc, build).args(&[SLIPS])
}

pub(crate) const BOTS: &[AgentEntry] = &[
    entry(
        "hand_strength",
        "texas_holdem: folds, calls and raises by the share of hands that it beats on the current board",
        |spec, game| bot(spec, game, by_strength),
    ),
    entry(
        "pot_odds",
        "texas_holdem: compares its equity against random hands with the price of a call",
        |spec, game| bot(spec, game, by_odds),
    ),
    entry(
        "hand_ranges",
        "texas_holdem: weights opponents' hands by the betting so far, and makes the bet with the best expected value",
        |spec, game| bot(spec, game, by_ranges),
    ),
];

/// Function that chooses an action for a spot.
type Decide = fn(&HoldemBot, &Spot, &MoveRequest<'_>) -> Action;

struct HoldemBot {
    table: TableFacts,
    deck: Deck,
    /// Preflop equity of every hand, computed on first use.
    preflop: OnceLock<Vec<f64>>,
    decide: Decide,
    slips: f64,
}

fn bot(spec: &AgentSpec, game: &GameRef, decide: Decide) -> Result<Arc<dyn Agent>, Refusal> {
    require_game(GAME, spec, game)?;
    let table = TableFacts::of(game)?;
    let deck = Deck::of(&table);
    Ok(Arc::new(HoldemBot {
        table,
        deck,
        preflop: OnceLock::new(),
        decide,
        slips: spec.number("slips").unwrap_or(0.0),
    }))
}

impl Agent for HoldemBot {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        if self.slips > 0.0 {
            let mut rng = ask.stream();
            if rng.unit() < self.slips {
                return Ok(MoveReply::id(ask.legal.get(rng.below(ask.legal.len())).copied().unwrap_or_default()));
            }
        }
        let seen: View = view(ask)?;
        let spot = Spot::of(&self.table, &seen.now, ask)
            .ok_or_else(|| AgentError::failed("texas_holdem: this seat is not to move"))?;
        let choice = (self.decide)(self, &spot, ask);
        Ok(MoveReply::id(if ask.legal.binary_search(&choice).is_ok() { choice } else { spot.call }))
    }
}

impl HoldemBot {
    /// Returns the preflop equity of every hand against a random hand.
    fn preflop(&self) -> &[f64] {
        self.preflop.get_or_init(|| hand_equity::preflop(&self.deck))
    }
}

/// Chooses by the estimated probability of beating all opponents on the current board. Raises by the minimum if the
/// probability exceeds 0.8, folds if it is below 0.5, and otherwise calls.
fn by_strength(bot: &HoldemBot, spot: &Spot, _ask: &MoveRequest<'_>) -> Action {
    let beaten = hand_equity::beaten(&bot.deck, &spot.hole, &spot.board);
    let alone = (0..spot.others.len()).fold(1.0, |all, _| all * beaten);
    match spot.raises.first() {
        Some(raise) if alone > 0.8 => raise.action,
        _ if alone < 0.5 => spot.give_up(),
        _ => spot.call,
    }
}

/// Number of samples for one equity estimate.
const SAMPLES: u32 = 600;

/// Chooses by equity against random hands. Calls if the expected share of the pot covers the price, and raises more the
/// further the equity exceeds an even share.
fn by_odds(bot: &HoldemBot, spot: &Spot, ask: &MoveRequest<'_>) -> Action {
    let equity =
        hand_equity::sampled(&bot.deck, &spot.hole, &spot.board, spot.others.len(), SAMPLES, &mut ask.stream());
    let fair = 1.0 / (1.0 + spot.others.len() as f64);
    // Equity above an even share, relative to the largest possible excess. Heads-up, 5/8 gives 1/4, and 3/4 gives 1/2.
    let beyond = (equity - fair) / (1.0 - fair);
    if equity * (spot.pot + spot.owed) < spot.owed {
        return spot.give_up();
    }
    let modest = spot.raises.iter().rev().find(|r| r.to <= spot.spent + 2.0 * spot.pot);
    let raise = match beyond {
        b if b > 0.5 => modest.or(spot.raises.first()),
        b if b > 0.25 => spot.raises.first().filter(|r| Some(r.action) == modest.map(|m| m.action)),
        _ => None,
    };
    raise.map_or(spot.call, |r| r.action)
}

/// Width of the random error in the value of a raise, as a share of the pot. The error makes the bot less predictable.
const WHIM: f64 = 0.03;

/// Chooses the action with the greatest expected value against the opponents' inferred ranges. A fold is worth 0, and a
/// call the share of the pot minus its price. A raise also wins the pot if all opponents fold.
fn by_ranges(bot: &HoldemBot, spot: &Spot, ask: &MoveRequest<'_>) -> Action {
    let mut rng = ask.stream();
    let preflop = bot.preflop();
    let field = HandEquity::new(&bot.deck, &spot.hole, &spot.board, preflop, &mut rng);
    let ranges = ranges::of(&bot.deck, &field, spot, preflop, &mut rng);
    let equity = field.equity(&ranges);
    // A seat that acts before the others has less information and realizes only part of its equity.
    let realised = if spot.last || spot.river { 1.0 } else { 0.95 };
    let mut best = (spot.call, equity * realised * (spot.pot + spot.owed) - spot.owed);
    if spot.owed > 0.0 && best.1 < 0.0 {
        best = (spot.give_up(), 0.0);
    }
    for raise in &spot.raises {
        let value = ranges::raise_value(&field, &ranges, spot, raise) + WHIM * spot.pot * (rng.unit() - 0.5);
        if value > best.1 {
            best = (raise.action, value);
        }
    }
    best.0
}
