//! Starts: moves before the first request of a match, and the number of moves to play after them.
//!
//! A file of starts holds one start per line, as JSON: `{"moves": [...], "chance": [...]}`. A move is an action id, a
//! text or a document, in the form that a player would send; a chance outcome is an id or a text. Both lists are in the
//! order of play and hold all events before the first move request.

use std::collections::{BTreeMap, BTreeSet};

use ludex_env::{DynState, GameRef, ParsedMove, Seat, ToMove};
use ludex_protocol::Move;
use ludex_protocol::record::{ChanceRecord, MoveRecord, RecordEvent};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{PartSpec, SuiteError};

/// Built-in files of starts, by name.
pub const STARTS: &[(&str, &str)] = &[
    ("reference-starts.jsonl", include_str!("../../suites/reference-starts.jsonl")),
    ("llmarena-spots.jsonl", include_str!("../../suites/llmarena-spots.jsonl")),
];

/// Excerpt of a game to play as a match: a start and a maximum number of decisions.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Excerpt {
    /// Events before the first move request.
    pub start: Vec<RecordEvent>,
    /// Maximum number of decisions in the match. A longer match is truncated. `None`: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moves: Option<u32>,
    /// Seats whose decisions count toward the limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of: Vec<Seat>,
}

impl Excerpt {
    /// Returns true if the excerpt is the whole game.
    pub fn is_whole(&self) -> bool {
        self.start.is_empty() && self.moves.is_none()
    }

    /// Returns true if the decisions of `seat` count toward the limit.
    pub fn counts(&self, seat: Seat) -> bool {
        self.moves.is_some() && self.of.contains(&seat)
    }

    /// Returns true if the excerpt ends after this number of counted decisions.
    pub fn is_spent(&self, decisions: u32) -> bool {
        self.moves.is_some_and(|most| decisions >= most)
    }
}

/// Excerpts for the matches of a part.
#[derive(Clone, Debug, Default)]
pub struct Excerpts {
    starts: Vec<Vec<RecordEvent>>,
    moves: Option<u32>,
    seatings: Vec<Vec<usize>>,
    /// Number of blocks in a cycle. The blocks of later cycles start with the same lines.
    blocks: u64,
}

impl Excerpts {
    pub(super) fn new(
        part: &PartSpec,
        game: &GameRef,
        files: &BTreeMap<String, String>,
        seatings: &[Vec<usize>],
        blocks: u64,
    ) -> Result<Excerpts, String> {
        let starts = part.starts.as_deref().map_or(Ok(Vec::new()), |name| read(name, files, game))?;
        Ok(Excerpts { starts, moves: part.moves, seatings: seatings.to_vec(), blocks })
    }

    /// Returns the excerpt for the match at position `turn` of block `index`. Block k starts with line k of the file,
    /// and the lines repeat after the last line.
    pub fn of(&self, index: u64, turn: usize) -> Excerpt {
        let block = if self.blocks == 0 { index } else { index % self.blocks };
        let line = block.checked_rem(self.starts.len() as u64);
        let start = line.and_then(|line| self.starts.get(line as usize)).cloned().unwrap_or_default();
        let seating = turn.checked_rem(self.seatings.len()).and_then(|turn| self.seatings.get(turn));
        let seating = seating.filter(|_| self.moves.is_some());
        let sides = seating.into_iter().flatten().enumerate();
        Excerpt { start, moves: self.moves, of: sides.filter(|(_, side)| **side == 0).map(|(seat, _)| seat).collect() }
    }
}

/// Checks the fields of a part that define excerpts.
pub(super) fn check(part: &PartSpec, game: &GameRef, files: &BTreeMap<String, String>) -> Result<(), String> {
    if part.moves == Some(0) {
        return Err("moves: expected at least 1 decision, got 0".into());
    }
    let lines = Excerpts::new(part, game, files, &[], 0)?.starts.len() as u64;
    match &part.starts {
        Some(name) if part.blocks > lines => {
            Err(format!("blocks = {}, but {name} has {lines} starts; each block needs a start", part.blocks))
        }
        _ => Ok(()),
    }
}

/// Returns the names of the files that a suite's text needs but does not contain. Built-in files are excluded.
pub fn missing(text: &str) -> BTreeSet<String> {
    let Ok(suite) = text.parse::<toml::Table>() else { return BTreeSet::new() };
    let carried = |name: &str| suite.get("files").and_then(|files| files.get(name)).is_some();
    let parts = suite.get("part").and_then(toml::Value::as_array).into_iter().flatten();
    let names = parts.filter_map(|part| part.get("starts")?.as_str());
    names.filter(|name| !carried(name) && !is_built_in(name)).map(str::to_owned).collect()
}

/// Returns the suite's text with the contents of its files, so that the text does not depend on the suite's directory.
///
/// # Errors
/// Returns an error if the suite's `[files]` table exists but lacks a needed file.
pub fn carrying(text: &str, files: &BTreeMap<String, String>) -> Result<String, SuiteError> {
    if files.is_empty() {
        return Ok(text.to_owned());
    }
    if text.parse::<toml::Table>().is_ok_and(|suite| suite.contains_key("files")) {
        let names = files.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        return Err(SuiteError(format!("[files] must hold all files of the suite; it lacks {names}")));
    }
    let table = BTreeMap::from([("files", files)]);
    let table = toml::to_string(&table).map_err(|e| SuiteError(e.to_string()))?;
    Ok(format!("{}\n\n{table}", text.trim_end()))
}

fn is_built_in(name: &str) -> bool {
    STARTS.iter().any(|(known, _)| *known == name)
}

/// Reads the starts of a file, by line.
fn read(name: &str, files: &BTreeMap<String, String>, game: &GameRef) -> Result<Vec<Vec<RecordEvent>>, String> {
    let built_in = || STARTS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
    let text = files.get(name).map(String::as_str).or_else(built_in);
    let text = text.ok_or_else(|| format!("starts = {name:?}: this file is neither in [files] nor built in"))?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let starts = lines.map(|(n, line)| {
        let start = serde_json::from_str::<Line>(line).map_err(|e| e.to_string());
        start.and_then(|start| start.events(game)).map_err(|why| format!("{name} line {n}: {why}"))
    });
    let starts = starts.collect::<Result<Vec<_>, _>>()?;
    if starts.is_empty() { Err(format!("{name}: expected at least one start, got none")) } else { Ok(starts) }
}

/// Line of a file of starts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default)]
    moves: Vec<Value>,
    #[serde(default)]
    chance: Vec<Value>,
    /// Comment for readers of the file, without effect.
    #[serde(default, rename = "about")]
    _about: Option<String>,
}

impl Line {
    /// Converts the start to events, and plays the events to check them.
    fn events(&self, game: &GameRef) -> Result<Vec<RecordEvent>, String> {
        let mut state = game.start();
        let mut turns = vec![0; game.spec().players as usize];
        let (mut moves, mut outcomes) = (self.moves.iter().enumerate(), self.chance.iter().enumerate());
        let mut events = Vec::new();
        loop {
            match state.turn() {
                ToMove::Over => return Err("the game ends before the first move request".into()),
                ToMove::Chance => {
                    let Some((k, given)) = outcomes.next() else { break };
                    let wrong = |why: String| format!("chance[{k}] {given}: {why}");
                    let action = state.read_outcome(&move_of(given)).map_err(|e| wrong(e.message))?;
                    state.play_chance(action).map_err(|e| wrong(e.message))?;
                    events.push(RecordEvent::Chance(ChanceRecord { action: Some(action) }));
                }
                ToMove::Seat(seat) => {
                    let Some((k, given)) = moves.next() else { break };
                    let heard = read_move(&*state, seat, k, given)?;
                    let played = match &heard {
                        ParsedMove::Action(action) => state.play(seat, *action),
                        ParsedMove::Document(document) => state.play_document(seat, document),
                    };
                    played.map_err(|e| format!("moves[{k}] {given}: {}", e.message))?;
                    events.push(event(&mut turns, seat, heard, false));
                }
                ToMove::Simultaneous(acting) => {
                    let seats: Vec<Seat> = acting.iter().collect();
                    let given: Vec<_> = moves.by_ref().take(seats.len()).collect();
                    let Some(&(first, _)) = given.first() else { break };
                    if given.len() < seats.len() {
                        let (seats, got) = (seats.len(), given.len());
                        return Err(format!("moves[{first}]: expected {seats} simultaneous moves, got {got}"));
                    }
                    let mut joint = vec![None; turns.len()];
                    for (at, (&seat, (k, given))) in seats.iter().zip(given).enumerate() {
                        let heard = read_move(&*state, seat, k, given)?;
                        joint[seat] = Some(heard.clone());
                        events.push(event(&mut turns, seat, heard, at + 1 < seats.len()));
                    }
                    state.play_joint(&joint).map_err(|e| format!("moves[{first}]: {}", e.message))?;
                }
            }
        }
        match (moves.next(), outcomes.next()) {
            (Some((k, given)), _) => {
                Err(format!("moves[{k}] {given}: expected a chance outcome before this move, got none"))
            }
            (_, Some((k, given))) => {
                Err(format!("chance[{k}] {given}: expected a move of a seat before this chance outcome, got none"))
            }
            _ => Ok(events),
        }
    }
}

fn move_of(given: &Value) -> Move {
    match given {
        Value::String(text) => Move::Text(text.clone()),
        other => other.as_i64().map_or_else(|| Move::Document(other.clone()), Move::Id),
    }
}

fn read_move(state: &dyn DynState, seat: Seat, k: usize, given: &Value) -> Result<ParsedMove, String> {
    state.parse_move(seat, &move_of(given)).map_err(|e| format!("moves[{k}] {given}: {}", e.message))
}

/// Creates the event of a move that no agent chose.
fn event(turns: &mut [u32], seat: Seat, heard: ParsedMove, more: bool) -> RecordEvent {
    let turn = turns[seat];
    turns[seat] += 1;
    let (action, document) = match heard {
        ParsedMove::Action(action) => (Some(action), None),
        ParsedMove::Document(document) => (None, Some(document)),
    };
    RecordEvent::Move(MoveRecord {
        seat: seat as u32,
        turn,
        action,
        document,
        forced: true,
        more,
        ..MoveRecord::default()
    })
}

#[cfg(test)]
mod tests;
