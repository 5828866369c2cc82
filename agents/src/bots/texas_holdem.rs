//! Bots of Texas hold'em: what a hand is worth against what it costs.
//!
//! All of them play every table, whatever its deck, seats and bets: they look at the pot, at what a call costs, and at a few
//! raises, each as the sum to which it goes (`spot`).

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use ludex_env::games::texas_holdem::View;
use ludex_env::{Action, GameRef, MoveRequest};
use ludex_protocol::Refusal;

use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::spec::{AgentEntry, AgentSpec, ArgDef, ArgKind, Builder};
use crate::typed_access::{plays_only, view};

mod hand_equity;
mod ranges;
mod spot;
#[cfg(test)]
mod tests;

use hand_equity::{Deck, Field};
use spot::{PokerTable, Spot};

const GAME: &str = "texas_holdem";

/// For weaker opponents.
const SLIPS: ArgDef =
    ArgDef::new("slips", ArgKind::Number { min: 0.0, max: 1.0 }, "share of its moves that are random").default("0");

const fn entry(name: &'static str, doc: &'static str, build: Builder) -> AgentEntry {
    AgentEntry::new(name, doc, build).args(&[SLIPS])
}

pub(crate) const BOTS: &[AgentEntry] = &[
    entry(
        "hand_strength",
        "texas_holdem: folds, calls and raises by how many hands its own beats on the board so far",
        |spec, game| bot(spec, game, by_strength),
    ),
    entry("pot_odds", "texas_holdem: weighs its equity against random hands with the price of a call", |spec, game| {
        bot(spec, game, by_odds)
    }),
    entry(
        "hand_ranges",
        "texas_holdem: weighs hands by the betting so far, and takes the bet with the best expected value",
        |spec, game| bot(spec, game, by_ranges),
    ),
];

/// How a bot decides: from the spot, and whatever it draws from the turn's stream.
type Decide = fn(&HoldemBot, &Spot, &MoveRequest<'_>) -> Action;

struct HoldemBot {
    table: PokerTable,
    deck: Deck,
    /// The equity of every hand before the board, made at the first use.
    preflop: OnceLock<Vec<f64>>,
    decide: Decide,
    slips: f64,
}

fn bot(spec: &AgentSpec, game: &GameRef, decide: Decide) -> Result<Arc<dyn Agent>, Refusal> {
    plays_only(GAME, spec, game)?;
    let table = PokerTable::of(game)?;
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
    fn act(&self, ask: &MoveRequest<'_>, _deadline: Option<Instant>) -> Result<MoveReply, AgentError> {
        if self.slips > 0.0 {
            let mut rng = ask.stream();
            if rng.unit() < self.slips {
                return Ok(MoveReply::id(ask.legal.get(rng.below(ask.legal.len())).copied().unwrap_or_default()));
            }
        }
        let seen: View = view(ask)?;
        let spot = Spot::of(&self.table, &seen.now, ask)
            .ok_or_else(|| AgentError::failed("a view of texas_holdem in which this seat is not to move"))?;
        let choice = (self.decide)(self, &spot, ask);
        Ok(MoveReply::id(if ask.legal.binary_search(&choice).is_ok() { choice } else { spot.call }))
    }
}

impl HoldemBot {
    /// The equity of every hand against a random one before the board.
    fn preflop(&self) -> &[f64] {
        self.preflop.get_or_init(|| hand_equity::preflop(&self.deck))
    }
}

/// Folds the weaker half to a bet, raises with the best fifth, by the smallest raise there is.
fn by_strength(bot: &HoldemBot, spot: &Spot, _ask: &MoveRequest<'_>) -> Action {
    let beaten = hand_equity::beaten(&bot.deck, &spot.hole, &spot.board);
    let alone = (0..spot.others.len()).fold(1.0, |all, _| all * beaten);
    match spot.raises.first() {
        Some(raise) if alone > 0.8 => raise.action,
        _ if alone < 0.5 => spot.give_up(),
        _ => spot.call,
    }
}

/// Hands drawn for an estimate of equity.
const SAMPLES: u32 = 600;

/// Calls when its share of the pot against random hands is worth the price. It raises more the further its share is above
/// a fair one.
fn by_odds(bot: &HoldemBot, spot: &Spot, ask: &MoveRequest<'_>) -> Action {
    let equity =
        hand_equity::sampled(&bot.deck, &spot.hole, &spot.board, spot.others.len(), SAMPLES, &mut ask.stream());
    let fair = 1.0 / (1.0 + spot.others.len() as f64);
    // What is left beyond a fair share: heads-up 5/8 and 3/4 are a quarter and a half of it.
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

/// Random error in the value of a choice, as a part of the pot, so that the same hand is not always played alike.
const WHIM: f64 = 0.03;

/// Takes what promises most: nothing by a fold, the price and the share of the pot by a call, and by a raise also the pot
/// when everybody folds.
fn by_ranges(bot: &HoldemBot, spot: &Spot, ask: &MoveRequest<'_>) -> Action {
    let mut rng = ask.stream();
    let preflop = bot.preflop();
    let field = Field::new(&bot.deck, &spot.hole, &spot.board, preflop, &mut rng);
    let ranges = ranges::of(&bot.deck, &field, spot, preflop, &mut rng);
    let equity = field.equity(&ranges);
    // A seat that acts before the others knows less: part of its equity is not realised.
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
