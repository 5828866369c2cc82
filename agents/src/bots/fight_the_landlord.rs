//! Bots for Fight the Landlord. They split a hand into plays (`split`) and choose the play that leaves the best
//! remaining hand (`policy`).
//!
//! The strongest bot also evaluates its candidate plays by playouts (`playout`) in sampled deals that are consistent
//! with its view.

use std::sync::Arc;

use ludex_env::{Action, GameRef, MoveRequest, Viewer};
use ludex_games::fight_the_landlord::cards::{self, Counts, DECK, RANKS, count, counts};
use ludex_games::fight_the_landlord::combinations::Plays;
use ludex_games::fight_the_landlord::{Params, Phase, Rules, View};
use ludex_protocol::Refusal;

use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::spec::{AgentEntry, AgentSpec, ArgDef, ArgKind, Builder};
use crate::typed_access::{params, require_game, view};

mod playout;
mod policy;
mod split;
#[cfg(test)]
mod tests;

use playout::Playout;
use policy::{KnowledgeLevel, SeatKnowledge, ranked};
use split::{Combo, Splits};

const GAME: &str = "fight_the_landlord";

const fn entry(name: &'static str, doc: &'static str, args: &'static [ArgDef], build: Builder) -> AgentEntry {
    AgentEntry::new(name, doc, build).args(args)
}

pub(crate) const BOTS: &[AgentEntry] = &[
    entry(
        "smallest_play",
        "fight_the_landlord: beats plays with its lowest possible cards",
        &[ArgDef::new("slips", ArgKind::Number { min: 0.0, max: 1.0 }, "probability of a random play").default("0")],
        |spec, game| bot(spec, game, Style::Smallest(spec.number("slips").unwrap_or(0.0))),
    ),
    entry(
        "hand_split",
        "fight_the_landlord: splits its hand into few plays and treats all other players as opponents",
        &[],
        |spec, game| bot(spec, game, Style::Policy(KnowledgeLevel::Alone)),
    ),
    entry("team_split", "fight_the_landlord: splits its hand, helps its partner, counts cards", &[], |spec, game| {
        bot(spec, game, Style::Policy(KnowledgeLevel::Together))
    }),
    entry(
        "split_search",
        "fight_the_landlord: runs playouts of team_split's likely plays in sampled deals",
        &[ArgDef::new("worlds", ArgKind::Int { min: 1, max: 10_000 }, "sampled deals per decision").default("24")],
        |spec, game| bot(spec, game, Style::Search(spec.int("worlds").unwrap_or(1))),
    ),
];

#[derive(Clone, Copy)]
enum Style {
    Smallest(f64),
    Policy(KnowledgeLevel),
    Search(u64),
}

struct LandlordBot {
    rules: Rules,
    plays: &'static Plays,
    style: Style,
}

fn bot(spec: &AgentSpec, game: &GameRef, style: Style) -> Result<Arc<dyn Agent>, Refusal> {
    require_game(GAME, spec, game)?;
    let params: Params = params(game)?;
    Ok(Arc::new(LandlordBot { rules: params.rules, plays: Plays::of(params.rules), style }))
}

impl Agent for LandlordBot {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let seen: View = view(ask)?;
        let choice = match (seen.phase, self.style) {
            (Phase::Bid, _) => bid(counts(cards::set(&seen.hand)), ask.legal),
            (_, Style::Smallest(slips)) => {
                let mut rng = ask.stream();
                let slip = rng.unit() < slips;
                if slip { ask.legal.get(rng.below(ask.legal.len())).copied() } else { self.smallest(ask.legal) }
            }
            (_, Style::Policy(sense)) => self.by_policy(&seen, ask, sense),
            (_, Style::Search(worlds)) => self.by_search(&seen, ask, worlds),
        };
        // If the policy's choice is illegal (it ignores OpenSpiel's chain restriction), makes the smallest legal play.
        let choice = choice.filter(|a| ask.legal.binary_search(a).is_ok()).or_else(|| self.smallest(ask.legal));
        choice.map(MoveReply::id).ok_or_else(|| AgentError::failed("expected at least one legal action, got none"))
    }
}

/// Returns the highest legal bid that the hand's high cards and bombs justify; 0 is a pass.
fn bid(hand: Counts, legal: &[Action]) -> Option<Action> {
    let jokers = 4 * u32::from(count(hand, 14)) + 3 * u32::from(count(hand, 13));
    let bombs = (0..13).filter(|&r| count(hand, r) == 4).count() as u32;
    let worth = match jokers + 2 * u32::from(count(hand, 12)) + 5 * bombs + u32::from(count(hand, 11)) / 2 {
        9.. => 3,
        7.. => 2,
        5.. => 1,
        _ => 0,
    };
    legal.iter().copied().rfind(|&a| a <= worth)
}

impl LandlordBot {
    fn combo(&self, a: Action) -> Option<Combo> {
        let play = self.plays.get(a)?;
        let main = self.plays.main(play);
        Some(Combo {
            kind: self.plays.kind(play),
            length: self.plays.length(play),
            rank: (main.trailing_zeros() / 4) as u8,
            counts: play.counts,
        })
    }

    /// Returns the action id of the given play, or of a pass if `combo` is `None`. Returns `None` if the play or pass
    /// is not legal.
    fn id(&self, combo: Option<Combo>, legal: &[Action]) -> Option<Action> {
        let Some(combo) = combo else { return legal.first().copied().filter(|&a| a == 0) };
        let same = |a: &Action| {
            self.plays.get(*a).is_some_and(|p| p.counts == combo.counts && self.plays.kind(p) == combo.kind)
        };
        legal.iter().copied().find(same)
    }

    /// Returns the play with the lowest main part. If several plays have it, returns the one with the most cards.
    /// Passes if only bombs are playable.
    fn smallest(&self, legal: &[Action]) -> Option<Action> {
        let key = |a: Action| {
            let combo = self.combo(a)?;
            let size: u8 = (0..RANKS).map(|r| count(combo.counts, r)).sum();
            Some((combo.kind.doubles(), combo.rank, std::cmp::Reverse(size)))
        };
        let least = legal.iter().filter_map(|&a| Some((key(a)?, a))).min();
        match least {
            Some(((true, ..), _)) | None if legal.first() == Some(&0) => Some(0),
            Some((_, a)) => Some(a),
            None => legal.first().copied(),
        }
    }

    /// Returns the legal play that empties the hand, if there is one.
    fn last(&self, hand: Counts, legal: &[Action]) -> Option<Action> {
        legal.iter().copied().find(|&a| self.plays.get(a).is_some_and(|p| p.counts == hand))
    }

    fn knowledge(&self, seen: &View, me: usize) -> SeatKnowledge {
        let gone = seen.plays.iter().fold(cards::set(&seen.hand), |all, p| all | cards::set(&p.cards));
        let owner = seen.plays.iter().rfind(|p| p.action != 0).map_or(me, |p| p.seat.into());
        let top = seen.to_beat.and_then(|a| self.combo(a)).map(|combo| (combo, owner));
        SeatKnowledge {
            me,
            landlord: seen.landlord.unwrap_or(0).into(),
            hand: counts(cards::set(&seen.hand)),
            unseen: counts(DECK & !gone),
            held: seen.held,
            top,
        }
    }

    fn by_policy(&self, seen: &View, ask: &MoveRequest<'_>, sense: KnowledgeLevel) -> Option<Action> {
        let knowledge = self.knowledge(seen, ask.seat);
        let candidates = ranked(&knowledge, sense, &mut Splits::new());
        let fits = || candidates.iter().find_map(|(_, play)| self.id(*play, ask.legal));
        self.last(knowledge.hand, ask.legal).or_else(fits)
    }

    fn by_search(&self, seen: &View, ask: &MoveRequest<'_>, worlds: u64) -> Option<Action> {
        let knowledge = self.knowledge(seen, ask.seat);
        if let Some(last) = self.last(knowledge.hand, ask.legal) {
            return Some(last);
        }
        let splits = &mut Splits::new();
        let mut candidates: Vec<(Action, Option<Combo>)> = Vec::new();
        for (_, play) in ranked(&knowledge, KnowledgeLevel::Together, splits) {
            if let Some(a) = self.id(play, ask.legal).filter(|_| candidates.len() < CANDIDATES) {
                candidates.push((a, play));
            }
        }
        if candidates.len() < 2 {
            return candidates.first().map(|&(a, _)| a);
        }
        let (mut rng, view) = (ask.stream(), ask.view());
        let mut sums = vec![0.0; candidates.len()];
        for _ in (0..worlds).take_while(|_| ask.budget().pause().is_ok()) {
            let world = view.world(&mut rng);
            let hand = |seat: usize| {
                let view = world.view(Viewer::Seat(seat));
                let own: Option<&View> = view.as_any().downcast_ref();
                own.map_or(0, |v| counts(cards::set(&v.hand)))
            };
            let game = Playout {
                hands: [hand(0), hand(1), hand(2)],
                held: knowledge.held,
                landlord: knowledge.landlord,
                to_move: knowledge.me,
                top: knowledge.top,
                bombs: 0,
            };
            for (sum, (_, play)) in sums.iter_mut().zip(&candidates) {
                let mut game = game;
                game.put(*play);
                let won = game.finish(splits) == (knowledge.me == knowledge.landlord);
                *sum += if won { self.stake(&game) } else { -self.stake(&game) };
            }
        }
        let best = (0..sums.len()).fold(0, |best, k| if sums[k] > sums[best] { k } else { best });
        Some(candidates[best].0)
    }

    /// Returns the stake of a playout, doubled by each bomb; always 1 under Botzone's rules.
    fn stake(&self, game: &Playout) -> f64 {
        if self.rules == Rules::Botzone { 1.0 } else { f64::from(1u32 << game.bombs.min(6)) }
    }
}

/// Maximum number of plays evaluated by playouts.
const CANDIDATES: usize = 8;
