//! What is remembered between turns: data that programs asked to be kept, and programs that kept running.
//!
//! All of it is a cache. What belongs to a match is found by the match's course so far, so that one agent can play several
//! at once; when it is gone, the program begins anew with the whole course.

use std::collections::VecDeque;

use serde_json::Value;

use ludex_env::Seat;

use super::codec::Talk;
use crate::process::Process;

/// Most matches whose data is kept.
const MATCHES: usize = 64;
/// Most programs that are kept while they wait for their turn. The program of a match that ended is
/// dropped when another needs its place, when the host says that all matches are over, or with the agent.
const PROGRAMS: usize = 16;

/// The course of a match as one seat was told of it, and what the seat did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HistoryKey(String);

impl HistoryKey {
    /// Before the request of this turn.
    pub fn before(seat: Seat, talk: &Talk) -> Self {
        let turns = talk.turns.iter().map(|turn| line(&turn.request, turn.action));
        HistoryKey(turns.fold(format!("{seat}\n"), |all, line| all + &line))
    }

    /// How many turns it has.
    fn turns(&self) -> usize {
        self.0.lines().count().saturating_sub(1)
    }

    /// After `action` in answer to the request of this turn.
    pub fn after(&self, talk: &Talk, action: u32) -> Self {
        HistoryKey(format!("{}{}", self.0, line(&talk.now, action)))
    }
}

fn line(request: &Value, action: u32) -> String {
    format!("{request} {action}\n")
}

#[derive(Default)]
pub(super) struct ProgramCache {
    /// Oldest first.
    data: VecDeque<(HistoryKey, Value)>,
    /// Responses that tell of a later turn too, by the course before them.
    answers: VecDeque<(HistoryKey, Value)>,
    programs: VecDeque<(HistoryKey, Process)>,
    /// For all matches.
    pub globaldata: Option<Value>,
    /// Seats that the agent has in matches, as far as hosts say so.
    pub matches: usize,
}

impl ProgramCache {
    /// The data that was kept for this point of a match. It stays: the question may come again.
    pub fn data(&self, course: &HistoryKey) -> Option<&Value> {
        self.data.iter().rfind(|(c, _)| c == course).map(|(_, data)| data)
    }

    pub fn keep_data(&mut self, course: HistoryKey, data: Value) {
        self.data.push_back((course, data));
        if self.data.len() > 2 * MATCHES {
            self.data.pop_front();
        }
    }

    /// The response that was given at this point of a match.
    pub fn answer(&self, course: &HistoryKey) -> Option<Value> {
        self.answers.iter().rfind(|(c, _)| c == course).map(|(_, answer)| answer.clone())
    }

    pub fn keep_answer(&mut self, course: HistoryKey, answer: Value) {
        self.answers.push_back((course, answer));
        if self.answers.len() > 2 * MATCHES {
            self.answers.pop_front();
        }
    }

    /// The program that waits at this point of a match, or at an earlier one that has at least `least` turns behind it; and how
    /// many it has.
    pub fn program(&mut self, course: &HistoryKey, least: usize) -> Option<(Process, usize)> {
        let on_the_way = |(at, (c, _)): (usize, &(HistoryKey, Process))| {
            let turns = c.turns();
            (course.0.starts_with(&c.0) && turns >= least).then_some((turns, at))
        };
        let (turns, at) = self.programs.iter().enumerate().filter_map(on_the_way).max()?;
        self.programs.remove(at).map(|(_, program)| (program, turns))
    }

    /// All programs that wait.
    pub fn take_programs(&mut self) -> VecDeque<(HistoryKey, Process)> {
        std::mem::take(&mut self.programs)
    }

    /// Keeps a program. If there are too many, the one that has waited longest is handed back.
    pub fn keep_program(&mut self, course: HistoryKey, program: Process) -> Option<Process> {
        self.programs.push_back((course, program));
        if self.programs.len() > PROGRAMS { self.programs.pop_front().map(|(_, oldest)| oldest) } else { None }
    }
}
