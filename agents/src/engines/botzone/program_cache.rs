//! Cache between turns: data stored by programs, and persistent programs.
//!
//! Entries of a match are keyed by its history, so that one agent can play several matches at once. Without an entry,
//! the program starts again with the whole history.

use std::collections::VecDeque;

use serde_json::Value;

use ludex_env::Seat;

use super::codec::TurnLog;
use crate::process::ChildProcess;

/// Maximum number of matches with stored data.
const MATCHES: usize = 64;
/// Maximum number of idle programs. The program of an ended match is dropped when another needs its slot, when the host
/// reports that all matches have ended, or with the agent.
const PROGRAMS: usize = 16;

/// Requests and actions of one seat so far, as a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HistoryKey(String);

impl HistoryKey {
    /// Returns the key before the request of this turn.
    pub fn before(seat: Seat, talk: &TurnLog) -> Self {
        let turns = talk.turns.iter().map(|turn| line(&turn.request, turn.action));
        HistoryKey(turns.fold(format!("{seat}\n"), |all, line| all + &line))
    }

    /// Returns the number of turns.
    fn turns(&self) -> usize {
        self.0.lines().count().saturating_sub(1)
    }

    /// Returns the key after `action` in response to this turn's request.
    pub fn after(&self, talk: &TurnLog, action: u32) -> Self {
        HistoryKey(format!("{}{}", self.0, line(&talk.now, action)))
    }
}

fn line(request: &Value, action: u32) -> String {
    format!("{request} {action}\n")
}

#[derive(Default)]
pub(super) struct ProgramCache {
    /// Data by key, oldest first.
    data: VecDeque<(HistoryKey, Value)>,
    /// Responses that contain a later turn's action too, by the key before them.
    answers: VecDeque<(HistoryKey, Value)>,
    programs: VecDeque<(HistoryKey, ChildProcess)>,
    /// Data for all matches.
    pub globaldata: Option<Value>,
    /// Number of seats in matches, as reported by hosts.
    pub matches: usize,
}

impl ProgramCache {
    /// Returns the stored data for this point of a match. The data stays stored, since the request may be repeated.
    pub fn data(&self, course: &HistoryKey) -> Option<&Value> {
        self.data.iter().rfind(|(c, _)| c == course).map(|(_, data)| data)
    }

    pub fn keep_data(&mut self, course: HistoryKey, data: Value) {
        self.data.push_back((course, data));
        if self.data.len() > 2 * MATCHES {
            self.data.pop_front();
        }
    }

    /// Returns the stored response at this point of a match.
    pub fn answer(&self, course: &HistoryKey) -> Option<Value> {
        self.answers.iter().rfind(|(c, _)| c == course).map(|(_, answer)| answer.clone())
    }

    pub fn keep_answer(&mut self, course: HistoryKey, answer: Value) {
        self.answers.push_back((course, answer));
        if self.answers.len() > 2 * MATCHES {
            self.answers.pop_front();
        }
    }

    /// Takes the idle program with this key, or with an earlier key of at least `least` turns. Returns it with its
    /// number of turns.
    pub fn program(&mut self, course: &HistoryKey, least: usize) -> Option<(ChildProcess, usize)> {
        let on_the_way = |(at, (c, _)): (usize, &(HistoryKey, ChildProcess))| {
            let turns = c.turns();
            (course.0.starts_with(&c.0) && turns >= least).then_some((turns, at))
        };
        let (turns, at) = self.programs.iter().enumerate().filter_map(on_the_way).max()?;
        self.programs.remove(at).map(|(_, program)| (program, turns))
    }

    /// Takes all idle programs.
    pub fn take_programs(&mut self) -> VecDeque<(HistoryKey, ChildProcess)> {
        std::mem::take(&mut self.programs)
    }

    /// Stores a program. Returns the oldest one if there are too many.
    pub fn keep_program(&mut self, course: HistoryKey, program: ChildProcess) -> Option<ChildProcess> {
        self.programs.push_back((course, program));
        if self.programs.len() > PROGRAMS { self.programs.pop_front().map(|(_, oldest)| oldest) } else { None }
    }
}
