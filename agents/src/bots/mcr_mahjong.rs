//! Bots for international mahjong (MCR): two bots that minimize shanten, and a bot that plans for a hand of at least
//! eight points (`plans`).

use std::cmp::Reverse;
use std::sync::Arc;

use ludex_env::{Action, GameRef, MoveRequest};
use ludex_games::mcr_mahjong::ids::{self, Doing};
use ludex_games::mcr_mahjong::shanten::shanten;
use ludex_games::mcr_mahjong::tiles::{self, COPIES, Counts, KINDS, Tile};
use ludex_games::mcr_mahjong::{Edition, Errors, Flags, Meld, MeldKind, Params, View, unseen};
use ludex_protocol::Refusal;

use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::refusal::does_not_play;
use crate::spec::{AgentEntry, AgentSpec, ArgDef, ArgKind, Builder};
use crate::typed_access::{params, require_game, view};

mod plans;

use plans::{OpenHand, worth};

const GAME: &str = "mcr_mahjong";

const SLIPS: &[ArgDef] =
    &[ArgDef::new("slips", ArgKind::Number { min: 0.0, max: 1.0 }, "probability of a random discard").default("0")];

const fn entry(name: &'static str, doc: &'static str, build: Builder) -> AgentEntry {
    AgentEntry::new(name, doc, build).args(SLIPS)
}

pub(crate) const BOTS: &[AgentEntry] = &[
    entry("lowest_shanten", "mcr_mahjong: discards for the lowest shanten, and claims only HU", |spec, game| {
        build(spec, game, Style::Lowest)
    }),
    entry(
        "most_useful",
        "mcr_mahjong: lowest shanten with the most unseen useful tiles; claims tiles that lower its shanten",
        |spec, game| build(spec, game, Style::MostUseful),
    ),
    entry(
        "fan_plans",
        "mcr_mahjong: weighs families of fans worth 8 points, and claims tiles that advance them",
        |spec, game| build(spec, game, Style::Plans),
    ),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Lowest,
    MostUseful,
    Plans,
}

fn build(spec: &AgentSpec, game: &GameRef, style: Style) -> Result<Arc<dyn Agent>, Refusal> {
    require_game(GAME, spec, game)?;
    let params = params::<Params>(game)?;
    if params.errors == Errors::Botzone {
        let why = "it declares HU whenever legal, and this variant allows a false HU";
        return Err(does_not_play(spec.name(), &game.spec().string, why, "it plays mcr_mahjong with errors=refuse"));
    }
    let slips = spec.number("slips").unwrap_or(0.0);
    Ok(Arc::new(MahjongBot { style, slips, minimum: params.minimum, edition: params.edition }))
}

struct MahjongBot {
    style: Style,
    slips: f64,
    minimum: u32,
    edition: Edition,
}

/// Facts on which a decision is based.
struct TurnFacts<'a> {
    legal: &'a [Action],
    hand: Counts,
    melds: Vec<Meld>,
    unseen: Counts,
    flags: Flags,
    seen: &'a View,
}

/// Sort key of a discard, where lower is better: shanten, reversed number of unseen useful tiles, and discarded tile.
type Best = (i8, Reverse<u32>, Tile);

/// Returns the hand without `n` copies of a tile.
fn without(hand: &Counts, tile: Tile, n: u8) -> Counts {
    let mut left = *hand;
    if let Some(held) = left.get_mut(usize::from(tile)) {
        *held = held.saturating_sub(n);
    }
    left
}

/// Returns the remaining hand and the new meld if `a` claims the tile `offer`; `None` if `a` is not a claim.
fn claimed(a: Action, offer: Tile, hand: &Counts) -> Option<(Counts, Meld)> {
    match ids::reading(a) {
        Doing::Peng => Some((without(hand, offer, 2), Meld { kind: MeldKind::Peng, tile: offer })),
        Doing::Gang(_) => Some((without(hand, offer, 3), Meld { kind: MeldKind::Gang, tile: offer })),
        Doing::Chi(place) => {
            let middle = ids::middle(offer, place)?;
            let others = (middle - 1..=middle + 1).filter(|&t| t != offer);
            Some((others.fold(*hand, |left, t| without(&left, t, 1)), Meld { kind: MeldKind::Chi, tile: middle }))
        }
        _ => None,
    }
}

/// Returns the offered tile if it was discarded. Returns `None` without an offer, or if the tile promotes a pung to a
/// kong.
fn discard(seen: &View) -> Option<Tile> {
    seen.offer.as_ref().filter(|offer| !offer.kong).map(|offer| offer.tile.0).filter(|&t| usize::from(t) < KINDS)
}

impl MahjongBot {
    /// Returns the evaluation of the best discard from a hand of 3n + 2 tiles.
    fn best(&self, hand: &Counts, melds: usize, unseen: &Counts) -> Option<Best> {
        let after = |t: Tile| {
            let s = shanten(&without(hand, t, 1), melds);
            let useful = s.useful.iter().map(|t| u32::from(unseen[usize::from(t)])).sum();
            (s.number, Reverse(if self.style == Style::Lowest { 0 } else { useful }), t)
        };
        tiles::kinds(hand).iter().map(after).min()
    }

    fn by_shanten(&self, facts: &TurnFacts<'_>) -> Option<Action> {
        let TurnFacts { hand, unseen, .. } = facts;
        let melds = facts.melds.len();
        if facts.seen.offer.is_none() {
            return self.best(hand, melds, unseen).map(|best| ids::PLAY + Action::from(best.2));
        }
        let offer = discard(facts.seen).filter(|_| self.style == Style::MostUseful)?;
        let now = shanten(hand, melds).number;
        let after = |&a: &Action| {
            let (left, meld) = claimed(a, offer, hand).filter(|(_, meld)| !meld.kong())?;
            let (number, useful, _) = self.best(&left, melds + usize::from(meld.copies(offer) > 0), unseen)?;
            (number < now).then_some((number, useful, a))
        };
        facts.legal.iter().filter_map(after).min().map(|best| best.2)
    }

    /// Returns the value of a hand of 3n + 1 tiles, as a sum over plans.
    fn worth(&self, facts: &TurnFacts<'_>, hand: &Counts, melds: &[Meld]) -> f64 {
        let (unseen, flags, minimum, edition) = (&facts.unseen, facts.flags, self.minimum, self.edition);
        worth(&OpenHand { hand, melds, unseen, flags, minimum, edition })
    }

    /// Returns the best discard from a hand of 3n + 2 tiles, and the value of the remaining hand.
    fn planned(&self, facts: &TurnFacts<'_>, hand: &Counts, melds: &[Meld]) -> Option<(f64, Tile)> {
        let after = |t: Tile| (self.worth(facts, &without(hand, t, 1), melds), t);
        tiles::kinds(hand).iter().map(after).max_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// Returns the value of the hand after a kong on the seat's own turn; `None` for other actions.
    fn konged(&self, a: Action, facts: &TurnFacts<'_>) -> Option<f64> {
        let mut melds = facts.melds.clone();
        let left = match ids::reading(a) {
            Doing::Gang(tile) => {
                melds.push(Meld { kind: MeldKind::Angang, tile });
                without(&facts.hand, tile, COPIES)
            }
            Doing::Bugang(tile) => {
                let pung = melds.iter_mut().find(|m| m.kind == MeldKind::Peng && m.tile == tile)?;
                pung.kind = MeldKind::Bugang;
                without(&facts.hand, tile, 1)
            }
            _ => return None,
        };
        Some(self.worth(facts, &left, &melds))
    }

    fn by_plans(&self, facts: &TurnFacts<'_>) -> Option<Action> {
        let TurnFacts { hand, melds, legal, .. } = facts;
        if facts.seen.offer.is_some() {
            let offer = discard(facts.seen).filter(|_| legal.len() > 1)?;
            let after = |&a: &Action| {
                let (left, meld) = claimed(a, offer, hand)?;
                let melds = [&melds[..], &[meld]].concat();
                let worth =
                    if meld.kong() { self.worth(facts, &left, &melds) } else { self.planned(facts, &left, &melds)?.0 };
                Some((worth, a))
            };
            let best = legal.iter().filter_map(after).max_by(|a, b| a.0.total_cmp(&b.0))?;
            return (best.0 > self.worth(facts, hand, melds)).then_some(best.1);
        }
        let (plain, tile) = self.planned(facts, hand, melds)?;
        let kongs = legal.iter().filter_map(|&a| Some((self.konged(a, facts)?, a)));
        let kong = kongs.filter(|kong| kong.0 >= plain).max_by(|a, b| a.0.total_cmp(&b.0));
        Some(kong.map_or(ids::PLAY + Action::from(tile), |kong| kong.1))
    }
}

impl Agent for MahjongBot {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let seen: View = view(ask)?;
        let first = ask
            .legal
            .first()
            .copied()
            .ok_or_else(|| AgentError::failed("mcr_mahjong: the list of legal actions is empty"))?;
        if ask.legal.contains(&ids::HU) {
            return Ok(MoveReply::id(ids::HU));
        }
        if ask.legal.len() == 1 {
            return Ok(MoveReply::id(first));
        }
        let own = seen.melds.get(ask.seat).into_iter().flatten();
        // A chow is identified by its middle tile.
        let tile = |m: &ludex_games::mcr_mahjong::MeldView| m.tiles.get(1).map(|kind| kind.0);
        let facts = TurnFacts {
            legal: ask.legal,
            hand: tiles::counts(seen.hand.iter().map(|kind| kind.0)),
            melds: own.filter_map(|m| Some(Meld { kind: m.kind, tile: tile(m)? })).take(4).collect(),
            unseen: unseen(&seen),
            flags: Flags { seat_wind: ask.seat as u8, prevalent_wind: seen.prevalent.unwrap_or(0), ..Flags::default() },
            seen: &seen,
        };
        let mut rng = ask.stream();
        if seen.offer.is_none() && rng.unit() < self.slips {
            let plays: Vec<Action> = ask.legal.iter().copied().filter(|a| (ids::PLAY..ids::GANG).contains(a)).collect();
            return Ok(MoveReply::id(plays.get(rng.below(plays.len().max(1))).copied().unwrap_or(first)));
        }
        let choice = match self.style {
            Style::Plans => self.by_plans(&facts),
            _ => self.by_shanten(&facts),
        };
        let legal = choice.filter(|a| ask.legal.binary_search(a).is_ok());
        Ok(MoveReply::id(legal.unwrap_or(first)))
    }
}
