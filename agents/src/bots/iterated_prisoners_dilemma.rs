//! Bots for the iterated prisoner's dilemma: the classic tournament strategies, and a bot that infers the
//! opponent's strategy. Action ids: 0 cooperates, 1 defects.

use std::sync::Arc;

use ludex_env::{GameRef, MoveRequest};
use ludex_games::iterated_prisoners_dilemma::{Params, View};
use ludex_protocol::Refusal;

use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::spec::{AgentEntry, AgentSpec, ArgDef, ArgKind};
use crate::typed_access::{params, require_game, view};

const GAME: &str = "iterated_prisoners_dilemma";

const GENEROSITY: &[ArgDef] =
    &[ArgDef::new("generosity", ArgKind::Number { min: 0.0, max: 1.0 }, "probability of forgiving a defection")
        .default("0.3333333333333333")];

pub(crate) const BOTS: &[AgentEntry] = &[
    classic("tit_for_tat", "iterated_prisoners_dilemma: cooperates first, then repeats the opponent's last move", &[]),
    classic("always_cooperate", "iterated_prisoners_dilemma: always cooperates", &[]),
    classic("always_defect", "iterated_prisoners_dilemma: always defects", &[]),
    classic("grim", "iterated_prisoners_dilemma: cooperates until the opponent defects, then always defects", &[]),
    classic("pavlov", "iterated_prisoners_dilemma: win-stay, lose-shift", &[]),
    classic(
        "generous_tit_for_tat",
        "iterated_prisoners_dilemma: tit for tat that forgives some defections",
        GENEROSITY,
    ),
    classic("suspicious_tit_for_tat", "iterated_prisoners_dilemma: tit for tat that defects first", &[]),
    classic("tit_for_two_tats", "iterated_prisoners_dilemma: defects after two defections in a row", &[]),
    classic("gradual", "iterated_prisoners_dilemma: n defections after the n-th defection, then cooperates twice", &[]),
    AgentEntry::new(
        "classics_responder",
        "iterated_prisoners_dilemma: infers the opponent's classic strategy and plays the best response",
        |spec, game| {
            require_game(GAME, spec, game)?;
            Ok(Arc::new(Responder { rules: params(game)? }))
        },
    ),
];

const fn classic(name: &'static str, doc: &'static str, args: &'static [ArgDef]) -> AgentEntry {
    AgentEntry::new(name, doc, build).args(args)
}

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    require_game(GAME, spec, game)?;
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

/// Classic strategies from the literature.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Classic {
    AlwaysCooperate,
    AlwaysDefect,
    /// Rapoport's entry to Axelrod's tournaments (1980).
    TitForTat,
    /// Friedman's strategy, which never forgives a defection (1971).
    Grim,
    /// Win-stay, lose-shift (Nowak and Sigmund 1993): cooperates if both players made the same move in the last round.
    Pavlov,
    /// Tit for tat that forgives a defection with the given probability (Nowak and Sigmund 1992; 1/3 for Axelrod's
    /// payoffs).
    GenerousTitForTat(f64),
    /// Tit for tat that defects in the first round (Boyd and Lorberbaum 1987).
    SuspiciousTitForTat,
    /// Tit for tat that defects only after two defections in a row (Axelrod 1984).
    TitForTwoTats,
    /// Strategy that answers the opponent's n-th defection with n defections and two cooperations (Beaufils, Delahaye
    /// and Mathieu 1996).
    Gradual,
}

impl Classic {
    /// Returns the probability that the strategy defects in the next round. The slices hold the past moves, oldest
    /// first; `true` is a defection.
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

/// Returns true if `gradual` defects in the next round, given the opponent's moves. After its opponent's n-th defection
/// it defects n times and then cooperates twice. Defections during this punishment are counted but start no new one.
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

/// Returns the seat's own moves and the opponent's moves, oldest first; `true` is a defection.
fn rounds(ask: &MoveRequest<'_>) -> Result<[Vec<bool>; 2], AgentError> {
    let seen: View = view(ask)?;
    let read = |moves: &String| moves.bytes().map(|b| b == b'D').collect();
    let [first, second] = &seen.moves;
    Ok(if ask.seat == 0 { [read(first), read(second)] } else { [read(second), read(first)] })
}

impl Agent for Classic {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let [own, other] = rounds(ask)?;
        let chance = self.defects(&own, &other);
        // Only mixed strategies draw a random number.
        let defects = chance >= 1.0 || chance > 0.0 && ask.stream().unit() < chance;
        Ok(MoveReply::id(defects.into()))
    }
}

/// Opponent strategies considered possible, with prior weights; `None` plays at random.
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

/// Probability that an opponent deviates from its strategy.
const SLIP: f64 = 0.01;
/// Number of rounds searched exhaustively over the moves of both seats.
const DEPTH: u32 = 3;
/// Number of rounds for which a simple plan is simulated after the exhaustive search.
const REACH: u32 = 12;
const PLANS: &[Classic] = &[Classic::AlwaysCooperate, Classic::AlwaysDefect, Classic::TitForTat];
/// Number of most recent rounds used to infer the opponent's strategy.
const MEMORY: usize = 40;

/// Bot that infers the opponent's classic strategy by Bayes' rule and searches for the best response to it.
struct Responder {
    rules: Params,
}

impl Responder {
    /// Returns the probability that an opponent with strategy `who` defects in the next round; `None` plays at random.
    fn defects(who: Option<Classic>, theirs: &[bool], mine: &[bool]) -> f64 {
        let chance = who.map_or(0.5, |c| c.defects(theirs, mine));
        SLIP + (1.0 - 2.0 * SLIP) * chance
    }

    /// Returns the probability that another round follows after `played` rounds.
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

    /// Returns the value of the best move, and true if that move is to defect. `weights` are the weights of the
    /// strategies in [`EXPECTED`]; `ahead` is the number of rounds left to search exhaustively.
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

    /// Returns the value of the remaining rounds if the seat follows the best simple plan.
    fn plans(&self, mine: &[bool], theirs: &[bool], weights: &[f64]) -> f64 {
        let sum: f64 = weights.iter().sum();
        let worth = |plan: &Classic| {
            let each = weights.iter().zip(EXPECTED).map(|(w, e)| w * self.plan(*plan, e.0, mine, theirs));
            each.sum::<f64>() / sum
        };
        PLANS.iter().map(worth).fold(f64::NEG_INFINITY, |best, w| if w > best { w } else { best })
    }

    /// Returns the expected payoff of a plan against an opponent with strategy `who`. After a round in which the
    /// opponent's move is uncertain, assumes the more likely move.
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
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let [mut mine, mut theirs] = rounds(ask)?;
        let mut weights: Vec<f64> = EXPECTED.iter().map(|e| e.1).collect();
        let played = mine.len();
        for r in played.saturating_sub(MEMORY)..played {
            for (weight, &(who, _)) in weights.iter_mut().zip(EXPECTED) {
                let chance = Self::defects(who, &theirs[..r], &mine[..r]);
                *weight *= if theirs[r] { chance } else { 1.0 - chance };
            }
            // Keeps weights above 0.
            let sum: f64 = weights.iter().sum();
            weights.iter_mut().for_each(|w| *w = *w / sum + 1e-12);
        }
        let (_, defects) = self.best(&mut mine, &mut theirs, &weights, DEPTH);
        Ok(MoveReply::id(defects.into()))
    }
}
