//! Tidy table of a run's moves.

use std::collections::HashMap;

use ludex_protocol::record::{MoveRecord, Notes, Record, RecordEvent};
use ludex_referee::rows::Rows;
use schemars::JsonSchema;
use serde::Serialize;

use super::TableRow;
use super::matches::{Seated, seats};

/// Move of a seat.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MoveRow {
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
    /// true if the match counts for the agent on the seat
    pub counts: bool,
    /// index of the seat, from 0
    pub seat: usize,
    /// agent on the seat
    pub agent: String,
    /// true if the agent is under evaluation
    pub candidate: bool,
    /// agents on the seats of other sides
    pub opponent: String,
    /// number of moves in the match before this one
    pub ply: usize,
    /// index of the seat's own turn, from 0
    pub turn: u32,
    /// id of the action; absent for a document
    pub action: Option<u32>,
    /// true if the agent did not choose the move
    pub forced: bool,
    /// time from the request of the move to its acceptance, milliseconds
    pub ms: u64,
    /// number of refused attempts before the move
    pub refused: usize,
    /// emotion that the agent reports, `A` (desperate) to `E` (excited)
    pub emotion: Option<String>,
    /// tokens read for the reply
    pub tokens_in: Option<u64>,
    /// tokens written for the reply
    pub tokens_out: Option<u64>,
}

impl TableRow for MoveRow {
    const WHAT: &str = "moves";
    const ABOUT: &str = "One row is one move of one match.";
}

/// Returns one row for each move, in the order of the plan, of the seats and of play.
pub fn moves(run: &str, rows: &Rows, records: &HashMap<&str, &Record>) -> Vec<MoveRow> {
    let of_seat = |Seated { game, seat, part, agent, candidate, counts, opponent }: Seated| {
        let events = records.get(game.episode).map_or(&[][..], |record| &record.events);
        let played = events.iter().filter_map(|event| match event {
            RecordEvent::Move(played) => Some(played),
            RecordEvent::Chance(_) => None,
        });
        let row = |(ply, played): (usize, &MoveRecord)| {
            let notes = played.notes.as_ref();
            let tokens = notes.and_then(|notes| notes.tokens);
            MoveRow {
                run: run.to_owned(),
                episode: game.episode.to_owned(),
                part: part.to_owned(),
                order: game.order,
                cycle: game.cycle,
                counts,
                seat,
                agent: agent.to_owned(),
                candidate,
                opponent: opponent.clone(),
                ply,
                turn: played.turn,
                action: played.action,
                forced: played.forced,
                ms: played.ms,
                refused: played.tries.len(),
                emotion: notes.and_then(|Notes { emotion, .. }| emotion.clone()),
                tokens_in: tokens.map(|tokens| tokens.input),
                tokens_out: tokens.map(|tokens| tokens.out),
            }
        };
        played.enumerate().filter(|(_, played)| played.seat as usize == seat).map(row).collect::<Vec<_>>()
    };
    seats(rows).into_iter().flat_map(of_seat).collect()
}
