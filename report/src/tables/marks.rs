//! Tidy table of the marks of a run's moves: the input of most metrics.

use ludex_env::MarkValue;
use ludex_referee::rows::Rows;
use schemars::JsonSchema;
use serde::Serialize;

use super::TableRow;
use super::matches::{Seated, seats};

/// Mark of a move.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MarkRow {
    /// name of the run
    pub run: String,
    /// name of the match
    pub episode: String,
    /// part of the suite
    pub part: String,
    /// position of the match in the order of the plan
    pub order: usize,
    /// index of the round-robin cycle, from 0
    pub cycle: u64,
    /// level of the opponent on the ladder
    pub level: Option<u32>,
    /// true if the match counts for the agent on the seat
    pub counts: bool,
    /// index of the seat, from 0
    pub seat: usize,
    /// agent on the seat
    pub agent: String,
    /// true if the agent is under evaluation
    pub candidate: bool,
    /// side of the match, from 0
    pub side: Option<usize>,
    /// agents on the seats of other sides
    pub opponent: String,
    /// true if the seat moves first
    pub first: bool,
    /// index of the seat's own turn, from 0
    pub turn: u32,
    /// position of the mark among those of its seat and match, from 0: marks of one move follow each other
    pub nth: usize,
    /// name of the mark, see `## Marks` on the game's page; `emotion` is reported by the agent
    pub mark: String,
    /// value of a mark that is a number
    pub value: Option<f64>,
    /// value of a mark that is a word or a text
    pub word: Option<String>,
}

impl TableRow for MarkRow {
    const WHAT: &str = "marks";
    const ABOUT: &str = "One row is one mark of one move. Marks are computed while the records are verified.";
}

/// Returns one row for each mark, in the order of the plan and of play.
pub fn marks(run: &str, rows: &Rows) -> Vec<MarkRow> {
    let of_seat = |Seated { game, seat, part, agent, candidate, counts, opponent }: Seated| {
        let row = |(nth, mark): (usize, &ludex_referee::result::SeatMark)| {
            let (value, word) = match &mark.value {
                MarkValue::Number(value) => (Some(*value), None),
                MarkValue::Word(word) => (None, Some((*word).to_owned())),
                MarkValue::Text(text) => (None, Some(text.clone())),
                // `MarkValue` is non-exhaustive.
                other => (None, Some(format!("{other:?}"))),
            };
            MarkRow {
                run: run.to_owned(),
                episode: game.episode.to_owned(),
                part: part.to_owned(),
                order: game.order,
                cycle: game.cycle,
                level: game.level,
                counts,
                seat,
                agent: agent.to_owned(),
                candidate,
                side: game.sides.get(seat).copied(),
                opponent: opponent.clone(),
                first: game.first == seat,
                turn: mark.turn,
                nth,
                mark: mark.name.to_string(),
                value,
                word,
            }
        };
        game.seats[seat].marks.iter().enumerate().map(row).collect::<Vec<_>>()
    };
    seats(rows).into_iter().flat_map(of_seat).collect()
}
