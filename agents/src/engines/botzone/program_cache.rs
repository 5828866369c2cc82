//! Cache between turns: data that programs stored, and idle persistent programs.
//!
//! Entries of a match are keyed by the seat's history, so one agent can play several matches concurrently. If there is
//! no entry, the program is started again with the whole history.

use std::collections::VecDeque;

use serde_json::Value;

use ludex_env::Seat;

use super::codec::TurnLog;
use crate::process::ChildProcess;

/// Maximum number of matches with stored data.
const MATCHES: usize = 64;
/// Maximum number of idle programs. The program of an ended match is dropped when another program needs its place, when
/// all matches have ended, or when the agent is dropped.
const PROGRAMS: usize = 16;

/// Cache key: all requests and actions of one seat up to a point of a match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HistoryKey(String);

impl HistoryKey {
    /// Returns the key at the start of the current turn.
    pub fn before(seat: Seat, talk: &TurnLog) -> Self {
        let turns = talk.turns.iter().map(|turn| line(&turn.request, turn.action));
        HistoryKey(turns.fold(format!("{seat}\n"), |all, line| all + &line))
    }

    /// Returns the number of turns in the key.
    fn turns(&self) -> usize {
        self.0.lines().count().saturating_sub(1)
    }

    /// Returns the key after the current turn, in which the seat took `action`.
    pub fn after(&self, talk: &TurnLog, action: u32) -> Self {
        HistoryKey(format!("{}{}", self.0, line(&talk.now, action)))
    }
}

fn line(request: &Value, action: u32) -> String {
    format!("{request} {action}\n")
}

#[derive(Default)]
pub(super) struct ProgramCache {
    /// Stored data of programs by key, oldest first.
    data: VecDeque<(HistoryKey, Value)>,
    /// Responses that contain the actions of two turns, by the key of the first of these turns.
    answers: VecDeque<(HistoryKey, Value)>,
    programs: VecDeque<(HistoryKey, ChildProcess)>,
    /// Data shared by all matches.
    pub globaldata: Option<Value>,
    /// Number of seats in running matches, as reported by hosts.
    pub matches: usize,
}

impl ProgramCache {
    /// Returns the data stored under this key. The entry is not removed, since the request may be repeated.
    pub fn data(&self, course: &HistoryKey) -> Option<&Value> {
        self.data.iter().rfind(|(c, _)| c == course).map(|(_, data)| data)
    }

    pub fn keep_data(&mut self, course: HistoryKey, data: Value) {
        self.data.push_back((course, data));
        if self.data.len() > 2 * MATCHES {
            self.data.pop_front();
        }
    }

    /// Returns the response stored under this key.
    pub fn answer(&self, course: &HistoryKey) -> Option<Value> {
        self.answers.iter().rfind(|(c, _)| c == course).map(|(_, answer)| answer.clone())
    }

    pub fn keep_answer(&mut self, course: HistoryKey, answer: Value) {
        self.answers.push_back((course, answer));
        if self.answers.len() > 2 * MATCHES {
            self.answers.pop_front();
        }
    }

    /// Takes the idle program that has seen the most turns of `course`. The program's key must be a prefix of `course`
    /// and contain at least `least` turns. Also returns the number of turns in the key.
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

    /// Stores an idle program. If there are too many, removes and returns the oldest.
    pub fn keep_program(&mut self, course: HistoryKey, program: ChildProcess) -> Option<ChildProcess> {
        self.programs.push_back((course, program));
        if self.programs.len() > PROGRAMS { self.programs.pop_front().map(|(_, oldest)| oldest) } else { None }
    }
}
