//! The page of a match: the position after any step, the moves with the agents' reasoning, a chart of evaluations.
#![allow(missing_docs, reason = "the other names are self-explanatory")]

use ludex_protocol::record::{AgentKind, Outcome};
use serde::Serialize;

use super::curve::{Curve, Series, curve};

/// Page of a match.
#[derive(Clone, Debug, Serialize)]
pub struct MatchPage {
    /// Id of the match.
    pub id: String,
    /// Display name of the game.
    pub title: String,
    /// Id of the game.
    pub game: String,
    /// True if the match is rated.
    pub rated: bool,
    /// Start time as text; see [`minute`](super::text::minute).
    pub began: String,
    /// Display name of each seat; see [`called`](super::result_text::called).
    pub called: Vec<String>,
    /// Names of the seats.
    pub roles: Vec<String>,
    pub seats: Vec<MatchSeat>,
    /// Seat whose view is displayed; `None` for the view of spectators.
    pub seat: Option<usize>,
    pub at: usize,
    /// Number of the last step.
    pub last: usize,
    pub steps: Vec<MatchStep>,
    /// Picture of the position as SVG.
    pub picture: Option<String>,
    /// True while the match runs.
    pub live: bool,
    /// True if the record is public.
    pub released: bool,
    /// Result in sentences; `None` while the match runs.
    pub verdict: Option<String>,
    /// End time in milliseconds since the Unix epoch.
    pub ended_ms: Option<i64>,
    /// Evaluations by the agents; see [`evaluations`].
    pub curve: Option<Curve>,
    /// Notation in which the match can be downloaded.
    pub notation: Option<NotationLink>,
    /// Digest of the record.
    pub digest: Option<String>,
}

/// Player of a match.
#[derive(Clone, Debug, Serialize)]
pub struct MatchSeat {
    /// Name of the agent.
    pub name: String,
    /// Version of the agent.
    pub version: Option<String>,
    /// Kind of the agent.
    pub kind: AgentKind,
    /// Outcome of the match.
    pub outcome: Option<Outcome>,
    /// Points as text; `None` if the return is only 1, 0 or -1.
    pub points: Option<String>,
    /// Name of the seat.
    pub role: Option<String>,
}

/// Event of a match.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MatchStep {
    /// Number of the step, from 1; `None` for an event other than a move or a chance outcome.
    pub at: Option<usize>,
    /// Seat of the event.
    pub seat: Option<u32>,
    /// Kind of an event without a number.
    pub word: Option<&'static str>,
    /// Text of the event.
    pub text: String,
    /// Thinking time in milliseconds.
    pub ms: Option<u64>,
    /// True if the move was not chosen by the agent, such as a move of the illegal-move policy.
    pub forced: bool,
    /// Notes of the agent, once the record is public.
    pub notes: Option<StepNotes>,
}

/// Notes of an agent that accompany its move.
#[derive(Clone, Debug, Default, Serialize)]
pub struct StepNotes {
    /// Reasoning behind the move.
    pub analysis: Option<String>,
    /// Message to the other seats.
    pub say: Option<String>,
    pub value: Option<f64>,
    /// Evaluation in centipawns, by an engine.
    pub cp: Option<f64>,
}

/// Notation of a game.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct NotationLink {
    /// Name of the notation.
    pub name: &'static str,
    /// File extension of the notation, without the dot.
    pub extension: &'static str,
}

/// Maximum absolute value in a chart. Larger values in notes are omitted as errors of the agent.
const GREATEST: f64 = 1e6;

/// Returns a chart of the agents' evaluations by step number, from their move notes; `None` without evaluations.
/// In two-player zero-sum games (`against`), both lines are from the perspective of seat 0.
pub fn evaluations(steps: &[MatchStep], names: &[String], against: bool) -> Option<Curve> {
    let of = |seat: usize, get: fn(&StepNotes) -> Option<f64>, scale: f64| -> Vec<(f64, f64)> {
        let lines = steps.iter().filter(|line| line.seat.is_some_and(|of| of as usize == seat));
        let sign = if against && seat == 1 { -scale } else { scale };
        let point = |line: &MatchStep| Some((line.at? as f64, get(line.notes.as_ref()?)? * sign + 0.0));
        lines.filter_map(point).filter(|(_, value)| value.abs() <= GREATEST).collect()
    };
    let all = |get: fn(&StepNotes) -> Option<f64>, scale: f64| -> Series {
        let line = |(seat, name): (usize, &String)| (name.clone(), of(seat, get, scale));
        names.iter().enumerate().map(line).filter(|(_, points)| !points.is_empty()).collect()
    };
    let first = names.first().map(String::as_str).unwrap_or_default();
    let (good, own) = (format!("Higher is better for {first}."), "Each agent's expectation of its own return.");
    let note = if against { good.as_str() } else { own };
    let axes = |y| ["Step", y];
    curve("Expected result", note, axes("Return"), 2, all(|notes| notes.value, 1.0))
        .or_else(|| curve("Evaluation", note, axes("Pawns"), 2, all(|notes| notes.cp, 0.01)))
}
