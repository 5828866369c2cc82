//! Rounds of planning games, read from their marks.

use ludex_env::MarkValue;

use super::selection::word;
use super::{ParamDef, Takes};
use crate::result::SeatMark;
use crate::rows::Rows;

/// Names of the marks from which metrics of rounds are computed.
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

/// Parameter that selects rounds.
pub(super) const SCOPE: ParamDef = ParamDef::new(
    "scope",
    "decided",
    Takes::Words(&["decided", "all"]),
    "decided: rounds before which the agent could revise its strategy; all: all rounds",
);

/// Round of one seat.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RoundMarks {
    /// Round number, from 1.
    pub round: f64,
    /// True if the seat won the round.
    pub won: bool,
    /// Cost of the strategy.
    pub cost: Option<f64>,
    /// Maximum cost of the strategy.
    pub budget: Option<f64>,
    /// True if the strategy broke a rule.
    pub violates: bool,
    /// True if the strategy differs from that of the previous round.
    pub revised: bool,
    /// True if the agent could revise its strategy but did not.
    pub kept: bool,
    /// Value of the outcome.
    pub value: Option<f64>,
    /// Similarity to the previous strategy: structure, meaning, function.
    pub similar: [Option<f64>; 3],
}

impl RoundMarks {
    /// Returns true if the agent could revise its strategy before the round.
    pub fn decided(&self) -> bool {
        self.revised || self.kept
    }

    /// Returns true if the feedback on the round was negative: the round was lost, or the strategy broke a rule.
    pub fn negative(&self) -> bool {
        !self.won || self.violates
    }

    /// Returns true if the strategy cost more than the budget; `None` if unknown.
    pub fn over(&self) -> Option<bool> {
        Some(self.cost? > self.budget?)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct InitialAttempt {
    /// Attempt number, from 1.
    pub attempt: f64,
    /// Cost of the strategy.
    pub cost: Option<f64>,
    /// True if the strategy broke a rule.
    pub violates: bool,
}

/// Attempts and rounds of a seat in a match.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SeatRounds {
    /// Attempts at the initial strategy.
    pub attempts: Vec<InitialAttempt>,
    pub rounds: Vec<RoundMarks>,
}

impl SeatRounds {
    /// Parses marks in order. A mark `attempt` or `round` starts a new entry, to which the following marks belong.
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

    /// Returns the rounds that `scope`, a value of [`SCOPE`], selects.
    pub fn in_scope(&self, scope: &str) -> impl Iterator<Item = &RoundMarks> {
        self.rounds.iter().filter(move |round| scope == "all" || round.decided())
    }

    /// Returns all pairs of consecutive rounds, the earlier round first.
    pub fn steps(&self) -> impl Iterator<Item = (&RoundMarks, &RoundMarks)> {
        self.rounds.iter().zip(self.rounds.iter().skip(1))
    }
}

/// Returns the queried agent's attempts and rounds, match by match.
pub(super) fn courses(rows: &Rows) -> Vec<SeatRounds> {
    let all = rows.samples().into_iter().map(|sample| SeatRounds::of(&sample.own().marks));
    all.filter(|course| *course != SeatRounds::default()).collect()
}
