//! Bots of the iterated prisoner's dilemma: the classics of its tournaments, and one that finds out which of them it plays against.
//! Ids: 0 cooperate, 1 defect.

use std::sync::Arc;
use std::time::Instant;

use ludex_env::games::iterated_prisoners_dilemma::{Params, View};
use ludex_env::{GameRef, MoveRequest};
use ludex_protocol::Refusal;

use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::spec::{AgentEntry, AgentSpec, ArgDef, ArgKind};
use crate::typed_access::{params, plays_only, view};

const GAME: &str = "iterated_prisoners_dilemma";

const GENEROSITY: &[ArgDef] =
    &[ArgDef::new("generosity", ArgKind::Number { min: 0.0, max: 1.0 }, "the chance that a defection is forgiven")
        .default("0.3333333333333333")];

pub(crate) const BOTS: &[AgentEntry] = &[
    classic("tit_for_tat", "iterated_prisoners_dilemma: cooperates first, then does what the other did last", &[]),
    classic("always_cooperate", "iterated_prisoners_dilemma: cooperates", &[]),
    classic("always_defect", "iterated_prisoners_dilemma: defects", &[]),
    classic("grim", "iterated_prisoners_dilemma: cooperates until the other defects, then always defects", &[]),
    classic("pavlov", "iterated_prisoners_dilemma: wins and stays, loses and shifts", &[]),
    classic(
        "generous_tit_for_tat",
        "iterated_prisoners_dilemma: tit for tat that forgives a defection now and then",
        GENEROSITY,
    ),
    classic("suspicious_tit_for_tat", "iterated_prisoners_dilemma: tit for tat that defects first", &[]),
    classic("tit_for_two_tats", "iterated_prisoners_dilemma: defects after two defections in a row", &[]),
    classic(
        "gradual",
        "iterated_prisoners_dilemma: answers the n-th defection with n defections, then makes peace twice",
        &[],
    ),
    AgentEntry::new(
        "classics_responder",
        "iterated_prisoners_dilemma: weighs which of the classics the other is, and plays best against that",
        |spec, game| {
            plays_only(GAME, spec, game)?;
            Ok(Arc::new(Responder { rules: params(game)? }))
        },
    ),
];

const fn classic(name: &'static str, doc: &'static str, args: &'static [ArgDef]) -> AgentEntry {
    AgentEntry::new(name, doc, build).args(args)
}

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    plays_only(GAME, spec, game)?;
    Ok(Arc::new(match spec.name() {
        "always_cooperate" => Classic::AlwaysCooperate,
        "always_defect" => Classic::AlwaysDefect,
        "grim" => Classic::Grim,
        "pavlov" => Classic::Pavlov,
        "generous_tit_for_tat" => Classic::GenerousTitForTat(spec.number("generosity").unwrap_or(0.0)),
        "suspicious_tit_for_tat" => Classic::SuspiciousTitForTat,
        "tit_for_two_tats" => Classic::TitForTwoTats,
        "gradual" => Classic::Gradual,
        _ => Classic::TitForTat,
    }))
}

/// The strategies that the literature compares.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Classic {
    AlwaysCooperate,
    AlwaysDefect,
    /// Rapoport's entry to Axelrod's tournaments (1980).
    TitForTat,
    /// Friedman's: one defection is never forgiven (1971).
    Grim,
    /// Win-stay lose-shift (Nowak and Sigmund 1993): cooperates after a round in which both did the same.
    Pavlov,
    /// Forgives with this probability (Nowak and Sigmund 1992; 1/3 for Axelrod's payoffs).
    GenerousTitForTat(f64),
    /// Boyd and Lorberbaum (1987).
    SuspiciousTitForTat,
    /// Axelrod (1984): it would have won his first tournament.
    TitForTwoTats,
    /// Beaufils, Delahaye and Mathieu (1996).
    Gradual,
}

impl Classic {
    /// The chance of a defection after these rounds, oldest first; `true` is a defection.
    fn defects(self, own: &[bool], other: &[bool]) -> f64 {
        let last = other.last().copied();
        let sure = |defects: bool| f64::from(u8::from(defects));
        match self {
            Classic::AlwaysCooperate => 0.0,
            Classic::AlwaysDefect => 1.0,
            Classic::TitForTat => sure(last == Some(true)),
            Classic::Grim => sure(other.contains(&true)),
            Classic::Pavlov => sure(last != own.last().copied()),
            Classic::GenerousTitForTat(generosity) => sure(last == Some(true)) * (1.0 - generosity),
            Classic::SuspiciousTitForTat => sure(last != Some(false)),
            Classic::TitForTwoTats => sure(other.ends_with(&[true, true])),
            Classic::Gradual => sure(gradual(other)),
        }
    }
}

/// Whether `gradual` defects now: it counts the other's defections, and begins a row of that many each time that it is
/// at peace and the other has just defected. Its own moves follow from the other's.
fn gradual(other: &[bool]) -> bool {
    let (mut seen, mut punish, mut calm) = (0u32, 0u32, 0u32);
    let mut defects = false;
    for &defected in other {
        seen += u32::from(defected);
        if punish == 0 && calm == 0 && defected {
            (punish, calm) = (seen, 2);
        }
        defects = punish > 0;
        if defects {
            punish -= 1;
        } else {
            calm = calm.saturating_sub(1);
        }
    }
    defects
}

/// The moves of the asked seat and those of the other; `true` is a defection.
fn rounds(ask: &MoveRequest<'_>) -> Result<[Vec<bool>; 2], AgentError> {
    let seen: View = view(ask)?;
    let read = |moves: &String| moves.bytes().map(|b| b == b'D').collect();
    let [first, second] = &seen.moves;
    Ok(if ask.seat == 0 { [read(first), read(second)] } else { [read(second), read(first)] })
}

impl Agent for Classic {
    fn act(&self, ask: &MoveRequest<'_>, _deadline: Option<Instant>) -> Result<MoveReply, AgentError> {
        let [own, other] = rounds(ask)?;
        let chance = self.defects(&own, &other);
        // Only mixed strategies draw a random number.
        let defects = chance >= 1.0 || chance > 0.0 && ask.stream().unit() < chance;
        Ok(MoveReply::id(defects.into()))
    }
}

/// The opponents that the responder expects, with weights; `None` stands for one that tosses a coin.
const EXPECTED: &[(Option<Classic>, f64)] = &[
    (None, 1.0),
    (Some(Classic::AlwaysDefect), 1.0),
    (Some(Classic::TitForTat), 1.0),
    (Some(Classic::Grim), 0.5),
    (Some(Classic::Pavlov), 1.0),
    (Some(Classic::GenerousTitForTat(1.0 / 3.0)), 1.0),
    (Some(Classic::SuspiciousTitForTat), 1.0),
    (Some(Classic::Gradual), 1.0),
];

/// The chance that an opponent deviates from its strategy.
const SLIP: f64 = 0.01;
/// Rounds in which every pair of moves is looked at.
const DEPTH: u32 = 3;
/// Rounds after these, in which one of a few simple plans is followed.
const REACH: u32 = 12;
/// The plans.
const PLANS: &[Classic] = &[Classic::AlwaysCooperate, Classic::AlwaysDefect, Classic::TitForTat];
/// How many past rounds are weighed: more would not change the result noticeably.
const MEMORY: usize = 40;

/// Bayes over the classics, and a look ahead that learns on its way.
struct Responder {
    rules: Params,
}

impl Responder {
    /// The chance that one of the expected defects now.
    fn defects(who: Option<Classic>, theirs: &[bool], mine: &[bool]) -> f64 {
        let chance = who.map_or(0.5, |c| c.defects(theirs, mine));
        SLIP + (1.0 - 2.0 * SLIP) * chance
    }

    /// The chance of another round after this many.
    fn goes_on(&self, played: usize) -> f64 {
        let more = |most: u32| f64::from(u8::from(played < most as usize));
        match self.rules.num_repetitions {
            Some(n) => more(n),
            None => more(self.rules.max_game_length) * (1.0 - self.rules.termination_probability),
        }
    }

    fn payoff(&self, mine: bool, theirs: bool) -> f64 {
        let [temptation, sucker, reward, punishment] = self.rules.payoffs;
        match (mine, theirs) {
            (true, false) => temptation,
            (false, true) => sucker,
            (false, false) => reward,
            (true, true) => punishment,
        }
    }

    /// What the rounds from here on are worth under the better move, and whether that is to defect. `weights` are those of
    /// the expected, `ahead` the rounds in which every pair of moves is looked at.
    fn best(&self, mine: &mut Vec<bool>, theirs: &mut Vec<bool>, weights: &[f64], ahead: u32) -> (f64, bool) {
        if ahead == 0 {
            return (self.plans(mine, theirs, weights), false);
        }
        let sum: f64 = weights.iter().sum();
        let chances: Vec<f64> = EXPECTED.iter().map(|&(who, _)| Self::defects(who, theirs, mine)).collect();
        let on = self.goes_on(mine.len() + 1);
        let mut values = [0.0; 2];
        for own in [false, true] {
            for other in [false, true] {
                let each = weights.iter().zip(&chances).map(|(w, c)| w * if other { *c } else { 1.0 - c });
                let after: Vec<f64> = each.collect();
                let likely = after.iter().sum::<f64>() / sum;
                mine.push(own);
                theirs.push(other);
                let later = if on > 0.0 { on * self.best(mine, theirs, &after, ahead - 1).0 } else { 0.0 };
                mine.pop();
                theirs.pop();
                values[usize::from(own)] += likely * (self.payoff(own, other) + later);
            }
        }
        let defects = values[1] > values[0];
        (values[usize::from(defects)], defects)
    }

    /// What the rounds from here on are worth under the best plan.
    fn plans(&self, mine: &[bool], theirs: &[bool], weights: &[f64]) -> f64 {
        let sum: f64 = weights.iter().sum();
        let worth = |plan: &Classic| {
            let each = weights.iter().zip(EXPECTED).map(|(w, e)| w * self.plan(*plan, e.0, mine, theirs));
            each.sum::<f64>() / sum
        };
        PLANS.iter().map(worth).fold(f64::NEG_INFINITY, |best, w| if w > best { w } else { best })
    }

    /// What a plan earns with one of the expected; a mixed move counts by its chances, and the likelier is remembered.
    fn plan(&self, plan: Classic, who: Option<Classic>, mine: &[bool], theirs: &[bool]) -> f64 {
        let (mut mine, mut theirs) = (mine.to_vec(), theirs.to_vec());
        let (mut worth, mut reached) = (0.0, 1.0);
        for _ in 0..REACH {
            let own = plan.defects(&mine, &theirs) > 0.5;
            let chance = who.map_or(0.5, |c| c.defects(&theirs, &mine));
            worth += reached * (chance * self.payoff(own, true) + (1.0 - chance) * self.payoff(own, false));
            mine.push(own);
            theirs.push(chance > 0.5);
            reached *= self.goes_on(mine.len());
            if reached <= 0.0 {
                break;
            }
        }
        worth
    }
}

impl Agent for Responder {
    fn act(&self, ask: &MoveRequest<'_>, _deadline: Option<Instant>) -> Result<MoveReply, AgentError> {
        let [mut mine, mut theirs] = rounds(ask)?;
        let mut weights: Vec<f64> = EXPECTED.iter().map(|e| e.1).collect();
        let played = mine.len();
        for r in played.saturating_sub(MEMORY)..played {
            for (weight, &(who, _)) in weights.iter_mut().zip(EXPECTED) {
                let chance = Self::defects(who, &theirs[..r], &mine[..r]);
                *weight *= if theirs[r] { chance } else { 1.0 - chance };
            }
            // So that a weight never becomes 0.
            let sum: f64 = weights.iter().sum();
            weights.iter_mut().for_each(|w| *w = *w / sum + 1e-12);
        }
        let (_, defects) = self.best(&mut mine, &mut theirs, &weights, DEPTH);
        Ok(MoveReply::id(defects.into()))
    }
}
