//! Table of a run's decisions.

use std::collections::BTreeMap;

use ludex_env::recording::{Replay, submitted_move};
use ludex_env::{DynState, Move, Seat};
use ludex_protocol::call::{Call, ChatRole};
use ludex_protocol::record::{AgentKind, EndReason, MoveRecord, Outcome, Record};
use ludex_referee::read::{RejectedRecord, SourcedRecord};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::{TableRow, collect_rows, document};
use crate::display::move_text;
use crate::runs::archive::Archive;
use crate::runs::run_files::CallLine;

/// Decision: a turn of a seat with its refused attempts.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DecisionRow {
    /// name of the run
    pub run: String,
    /// name of the match
    pub episode: String,
    /// part of the suite
    pub part: Option<String>,
    /// game with its parameters
    pub game: String,
    /// level of the opponent, if the opponent is an anchor of the game's ladder
    pub level: Option<u32>,
    /// name of the deciding agent
    pub agent: Option<String>,
    /// names of the other agents, by seat, separated by commas
    pub opponent: String,
    /// index of the seed in the part, from 0
    pub round: Option<u64>,
    /// rotation of the seats, from 0
    pub rotation: Option<usize>,
    /// index of the seat, from 0
    pub seat: usize,
    /// index of the turn in the match, from 0
    pub decision: u32,
    /// number of moves in the match before this decision
    pub ply: u32,
    /// start of the match, UTC, RFC 3339
    pub started: String,
    /// duration of the decision, milliseconds
    pub ms: u64,
    /// number of legal actions
    pub legal: usize,
    /// system prompt of the last move call
    pub system_prompt: Option<String>,
    /// user prompt of the last move call
    pub user_prompt: Option<String>,
    /// reasoning before the reply, if the endpoint reports it
    pub reasoning: Option<String>,
    /// reply of the last move call
    pub output: Option<String>,
    /// move parsed from the reply
    pub response: Option<String>,
    /// id of the played action
    pub action: Option<u32>,
    /// played move, as text for its seat
    pub r#move: Option<String>,
    /// verdict: accepted, forced (not chosen by the agent), or none (the match ended without a move)
    pub verdict: &'static str,
    /// number of attempts, including refused attempts
    pub attempts: usize,
    /// JSON: the refused attempts, each with the reply and the reason
    pub refused: String,
    /// number of calls of the language model
    pub calls: usize,
    /// input tokens of all calls in this decision
    pub tokens_in: Option<u64>,
    /// output tokens of all calls in this decision
    pub tokens_out: Option<u64>,
    /// price of all calls in this decision, US dollars; absent if the price of a call is unknown
    pub usd: Option<f64>,
    /// outcome for the agent: win, loss, draw, none
    #[schemars(with = "Option<String>")]
    pub outcome: Outcome,
    /// the agent's return in the match, in the game's points
    pub r#return: Option<f64>,
    /// true if the match counts
    pub counts: bool,
    /// true if the match repeats a match that failed
    pub rematch: bool,
}

impl TableRow for DecisionRow {
    const WHAT: &str = "decisions";
    const ABOUT: &str = "One row is one decision: a turn of a seat that a language model played (in a run without any, of any seat), \
        with its refused attempts. Prompts and output are those of the attempt that was played.";
}

/// Returns one row for each decision of a seat that a language model played, and the records whose events are invalid.
/// In a run without language models, the decisions of all seats are included.
pub fn decisions(run: &Archive, records: &[&SourcedRecord]) -> (Vec<DecisionRow>, Vec<RejectedRecord>) {
    let thinks = |record: &Record| !model_seats(run, record).is_empty();
    let any = records.iter().any(|found| found.parts.clone().record().is_ok_and(|record| thinks(&record)));
    collect_rows(records, |record, _| {
        let seats = if any { model_seats(run, record) } else { (0..record.header.seats.len()).collect() };
        rows_of(run, record, &seats)
    })
}

/// Returns the seats that a language model played.
fn model_seats(run: &Archive, record: &Record) -> Vec<Seat> {
    let calls = run.calls_of(&record.header.episode);
    let seats = record.header.seats.iter().enumerate();
    let thinks = |k: usize, kind: AgentKind| kind == AgentKind::Llm || calls.iter().any(|line| line.seat == k);
    seats.filter(|(k, seat)| thinks(*k, seat.kind)).map(|(k, _)| k).collect()
}

/// Returns the level of an anchor such as `anchor level=3`.
fn level(spec: &str) -> Option<u32> {
    let mut words = spec.split_whitespace();
    words.next().filter(|name| *name == "anchor")?;
    words.find_map(|word| word.strip_prefix("level=")?.parse().ok())
}

/// Match of a decision.
struct DecidedMatch<'a> {
    run: &'a Archive,
    record: &'a Record,
    game: String,
    calls: BTreeMap<(Seat, u32), Vec<&'a CallLine>>,
}

fn rows_of(run: &Archive, record: &Record, seats: &[Seat]) -> Result<Vec<DecisionRow>, String> {
    let game = ludex_games::load_with(&record.header.game, &record.header.params).map_err(|e| e.to_string())?;
    let mut calls: BTreeMap<_, Vec<&CallLine>> = BTreeMap::new();
    for line in run.calls_of(&record.header.episode).iter().filter(|line| seats.contains(&line.seat)) {
        calls.entry((line.seat, line.key.turn)).or_default().push(line);
    }
    let mut of = DecidedMatch { run, record, game: game.spec().string.clone(), calls };
    let (mut rows, mut ply) = (Vec::new(), 0);
    let mut steps = Replay::new(&*game, &record.events);
    while let Some(step) = steps.next() {
        let step = step.map_err(|stop| stop.to_string())?;
        // No agent chose the moves of the start, so they are no decisions.
        let decided =
            |(at, m): &(usize, &MoveRecord)| *at >= record.header.start as usize && seats.contains(&(m.seat as usize));
        for (_, m) in step.moves().filter(decided) {
            rows.push(of.row(step.before, m, ply)?);
        }
        ply += u32::from(step.moves().next().is_some());
    }
    // The match ended during these turns, for which the record has no event.
    let left: Vec<(Seat, u32)> = of.calls.keys().copied().collect();
    for (seat, turn) in left {
        let none = MoveRecord { seat: seat as u32, turn, ..MoveRecord::default() };
        rows.push(of.row(steps.position(), &none, ply)?);
    }
    Ok(rows)
}

impl DecidedMatch<'_> {
    /// Returns the row of a decision, made in the position `state`.
    fn row(&mut self, state: &dyn DynState, m: &MoveRecord, ply: u32) -> Result<DecisionRow, String> {
        let (header, footer) = (&self.record.header, &self.record.footer);
        let seat = m.seat as usize;
        let found = self.run.place_of(&header.episode);
        let place = found.as_ref().map(|found| &found.place);
        let others: Vec<_> = header.seats.iter().enumerate().filter(|(k, _)| *k != seat).map(|(_, s)| s).collect();
        let names: Vec<&str> = others.iter().map(|s| s.name.as_str()).collect();
        let calls = self.calls.remove(&(seat, m.turn)).unwrap_or_default();
        // The row has the last move call, of the last attempt. Votes and critiques are in the table of calls.
        let last = calls.iter().rev().find(|line| line.call.purpose == "move").or(calls.last()).map(|line| &line.call);
        let said = |role| last.map(|call| call.messages_of(role)).filter(|text| !text.is_empty());
        let played = move_text(state, m);
        let verdict = match (&played, m.forced) {
            (None, _) => "none",
            (Some(_), true) => "forced",
            (Some(_), false) => "accepted",
        };
        let own = played.is_some() && !m.forced;
        let sum = |of: fn(&Call) -> u64| (!calls.is_empty()).then(|| calls.iter().map(|k| of(&k.call)).sum::<u64>());
        // If one price is unknown, the sum is unknown.
        let usd: Option<f64> = calls.iter().map(|line| line.call.usd).sum();
        Ok(DecisionRow {
            run: self.run.about.run.clone(),
            episode: header.episode.clone(),
            part: place.map(|place| place.part.clone()),
            game: self.game.clone(),
            level: others.iter().find_map(|s| s.spec.as_deref().and_then(level)),
            agent: header.seats.get(seat).map(|s| s.name.clone()),
            opponent: names.join(", "),
            round: place.map(|place| place.index),
            rotation: place.map(|place| place.turn),
            seat,
            decision: m.turn,
            ply,
            started: header.started.clone(),
            ms: m.ms,
            legal: state.legal_list(seat).len(),
            system_prompt: said(ChatRole::System),
            user_prompt: said(ChatRole::User),
            reasoning: last.and_then(|call| call.reasoning.clone()),
            output: last.map(|call| call.answer.clone()),
            response: last.and_then(|call| call.read.clone()),
            action: m.action,
            r#move: played,
            verdict,
            attempts: m.tries.len() + usize::from(own),
            refused: document(refusals(state, m))?,
            calls: calls.len(),
            tokens_in: sum(|call| call.tokens.input),
            tokens_out: sum(|call| call.tokens.out),
            usd: usd.filter(|_| !calls.is_empty()),
            outcome: footer.outcome.get(seat).copied().unwrap_or(Outcome::None),
            r#return: footer.returns.get(seat).copied(),
            counts: footer.reason.is_some_and(EndReason::counts),
            rematch: found.as_ref().is_some_and(|found| found.rematch),
        })
    }
}

/// Returns the refused attempts before a move, with the game's reasons for the refusals.
fn refusals(state: &dyn DynState, m: &MoveRecord) -> Vec<Value> {
    let refused = m.tries.iter().map(|attempt| {
        let given = submitted_move(attempt);
        let why = given.as_ref().and_then(|given| state.parse_move(m.seat as usize, given).err()).map(|r| r.message);
        let said = match given {
            Some(Move::Id(id)) => json!(id),
            Some(Move::Text(text)) => json!(text),
            Some(Move::Document(value)) => value,
            None => Value::Null,
        };
        json!({ "said": said, "code": attempt.code, "why": why, "ms": attempt.ms })
    });
    refused.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_anchor_specs_have_a_level() {
        assert_eq!(level("anchor level=3"), Some(3));
        assert_eq!(level("anchor bot=2 level=10"), Some(10));
        assert_eq!([level("mcts level=3"), level("anchor"), level("")], [None; 3]);
    }
}
