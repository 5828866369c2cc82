//! Rounds of games of plans, as their marks tell them.

use ludex_env::MarkValue;

use super::selection::word;
use super::{ParamDef, Takes};
use crate::result::SeatMark;
use crate::rows::Rows;

/// The marks that these metrics read.
pub(super) const MARKS: &[&str] = &[
    "attempt",
    "round",
    "won",
    "cost",
    "budget",
    "over",
    "violation",
    "revised",
    "kept",
    "value",
    "structural",
    "semantic",
    "functional",
];

/// Which rounds are looked at.
pub(super) const SCOPE: ParamDef = ParamDef::new(
    "scope",
    "decided",
    Takes::Words(&["decided", "all"]),
    "the rounds before which the agent could revise its strategy, or all rounds",
);

/// A round of one seat.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RoundMarks {
    /// Its number, from 1.
    pub round: f64,
    /// Whether it was won.
    pub won: bool,
    /// What the strategy cost.
    pub cost: Option<f64>,
    /// What it could cost at most.
    pub budget: Option<f64>,
    /// Whether it broke a rule.
    pub violates: bool,
    /// Whether the strategy differs from that of the round before.
    pub revised: bool,
    /// Whether the agent was asked and kept its strategy.
    pub kept: bool,
    /// How good the outcome was.
    pub value: Option<f64>,
    /// How similar the strategy is to the one before: structure, meaning, function.
    pub similar: [Option<f64>; 3],
}

impl RoundMarks {
    /// Whether the agent could revise its strategy before the round.
    pub fn decided(&self) -> bool {
        self.revised || self.kept
    }

    /// Whether the feedback on the round was negative: lost, or a rule was broken.
    pub fn negative(&self) -> bool {
        !self.won || self.violates
    }

    /// Whether the strategy cost more than the budget.
    pub fn over(&self) -> Option<bool> {
        Some(self.cost? > self.budget?)
    }
}

/// An initial strategy that was sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct InitialAttempt {
    /// Its number, from 1.
    pub attempt: f64,
    /// What it cost.
    pub cost: Option<f64>,
    /// Whether it broke a rule.
    pub violates: bool,
}

/// What a seat did in a match.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SeatRounds {
    /// Its initial strategies.
    pub attempts: Vec<InitialAttempt>,
    /// Its rounds, in order.
    pub rounds: Vec<RoundMarks>,
}

impl SeatRounds {
    /// Reads marks. `attempt` and `round` begin a new entry, and the marks after them belong to it.
    pub fn of(marks: &[SeatMark]) -> SeatRounds {
        let mut course = SeatRounds::default();
        let mut initial = false;
        for mark in marks {
            let number = match mark.value {
                MarkValue::Number(n) => Some(n),
                _ => None,
            };
            let yes = number.is_some_and(|n| n != 0.0);
            let violates = || number.map_or_else(|| !matches!(word(&mark.value).as_str(), "none" | ""), |n| n > 0.0);
            match (&*mark.name, number) {
                ("attempt", Some(attempt)) => {
                    initial = true;
                    course.attempts.push(InitialAttempt { attempt, ..InitialAttempt::default() });
                }
                ("round", Some(round)) => {
                    initial = false;
                    course.rounds.push(RoundMarks { round, ..RoundMarks::default() });
                }
                (name, _) if initial => {
                    let Some(own) = course.attempts.last_mut() else { continue };
                    match name {
                        "cost" => own.cost = number,
                        "violation" => own.violates = violates(),
                        _ => {}
                    }
                }
                (name, _) => {
                    let Some(own) = course.rounds.last_mut() else { continue };
                    match name {
                        "won" => own.won = yes,
                        "cost" => own.cost = number,
                        "budget" => own.budget = number,
                        "violation" => own.violates = violates(),
                        "revised" => own.revised = yes,
                        "kept" => own.kept = yes,
                        "value" => own.value = number,
                        "structural" => own.similar[0] = number,
                        "semantic" => own.similar[1] = number,
                        "functional" => own.similar[2] = number,
                        _ => {}
                    }
                }
            }
        }
        course
    }

    /// The rounds that [`SCOPE`] asks for.
    pub fn in_scope(&self, scope: &str) -> impl Iterator<Item = &RoundMarks> {
        self.rounds.iter().filter(move |round| scope == "all" || round.decided())
    }

    /// Each round with the one before it.
    pub fn steps(&self) -> impl Iterator<Item = (&RoundMarks, &RoundMarks)> {
        self.rounds.iter().zip(self.rounds.iter().skip(1))
    }
}

/// What the agent that is asked about did, match by match.
pub(super) fn courses(rows: &Rows) -> Vec<SeatRounds> {
    let all = rows.samples().into_iter().map(|sample| SeatRounds::of(&sample.own().marks));
    all.filter(|course| *course != SeatRounds::default()).collect()
}
