//! The three tables of a run.

use std::collections::BTreeMap;

use ludex_env::erased::legal_list;
use ludex_env::{DynState, Given, Seat, Turn};
use ludex_protocol::record::{AgentKind, MoveRecord, Outcome, Parts, Record, RecordEvent};
use ludex_referee::read::{Found, Refused};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Column, Kind, Table};
use crate::archive::{Archive, Call, Kept, Message};
use crate::stepping::{Stepper, given, move_text};

const fn text(name: &'static str, about: &'static str) -> Column {
    Column { name, kind: Kind::Text, about }
}

const fn int(name: &'static str, about: &'static str) -> Column {
    Column { name, kind: Kind::Int, about }
}

const fn float(name: &'static str, about: &'static str) -> Column {
    Column { name, kind: Kind::Float, about }
}

const fn flag(name: &'static str, about: &'static str) -> Column {
    Column { name, kind: Kind::Flag, about }
}

const EPISODES: &[Column] = &[
    text("run", "name of the run"),
    text("episode", "name of the match"),
    text("part", "part of the suite"),
    text("pairing", "who met, as indices of the run's agents"),
    int("round", "number of the seed in the part, from 0"),
    int("rotation", "how far the seats were rotated, from 0"),
    flag("rematch", "played because the first try failed"),
    text("game", "game with its parameters"),
    int("rules", "version of the rules"),
    text("rules_hash", "hash of the game's spec"),
    text("seats", "JSON: name, spec and kind of the agent on each seat"),
    text("started", "when it started, UTC, RFC 3339"),
    text("ended", "when it ended, UTC, RFC 3339"),
    text("reason", "why it ended"),
    flag("counts", "whether it counts: no failure of the infrastructure"),
    text("outcome", "JSON: win, loss, draw or none, by seat"),
    text("returns", "JSON: return of each seat, in the game's points"),
    int("at_fault", "seat whose forfeit ended it"),
    int("moves", "moves played, without chance"),
    text("seed", "the seed, decimal (up to 64 bits without sign)"),
    text("digest", "digest of the record, hex"),
    text("record", "JSON: the whole record"),
];

const DECISIONS: &[Column] = &[
    text("run", "name of the run"),
    text("episode", "name of the match"),
    text("part", "part of the suite"),
    text("game", "game with its parameters"),
    int("level", "level of the opponent, where it is an anchor of the game's ladder"),
    text("agent", "name of the agent that decides"),
    text("opponent", "names of the others, by seat, joined by a comma"),
    int("round", "number of the seed in the part, from 0"),
    int("rotation", "how far the seats were rotated, from 0"),
    int("seat", "its seat, from 0"),
    int("decision", "its turn in the match, from 0"),
    int("ply", "moves of the match before this one"),
    text("started", "when the match started, UTC, RFC 3339"),
    int("ms", "time of the decision, milliseconds"),
    int("legal", "legal actions there were"),
    text("system_prompt", "system prompt of the last move call"),
    text("user_prompt", "user prompt of the last move call"),
    text("reasoning", "what the model thought before it answered, where its endpoint tells"),
    text("output", "answer of the last move call"),
    text("response", "the move read in the answer"),
    int("action", "id of the action played"),
    text("move", "the move played, as its mover knows it"),
    text("verdict", "what became of it: accepted, forced (not the agent's choice), or none (the match ended there)"),
    int("attempts", "attempts, refused ones among them"),
    text("refused", "JSON: the refused attempts, what was answered and why it was refused"),
    int("calls", "calls made for it"),
    int("tokens_in", "tokens read, sum over its calls"),
    int("tokens_out", "tokens written, sum over its calls"),
    float("usd", "price of its calls, US dollars; absent where one is not known"),
    text("outcome", "how the agent came out of the match: win, loss, draw, none"),
    float("return", "the agent's return in the match, in the game's points"),
    flag("counts", "whether the match counts"),
    flag("rematch", "played because the first try failed"),
];

const CALLS: &[Column] = &[
    text("run", "name of the run"),
    text("episode", "name of the match"),
    int("seat", "seat, from 0"),
    int("turn", "the seat's own turn, from 0"),
    int("attempt", "attempt of that turn, from 0"),
    int("step", "call of that attempt, from 0"),
    text("purpose", "what it was made for: move, sample, vote, critique, ..."),
    text("model", "the model"),
    text("messages", "JSON: the prompt, role and content of each message"),
    text("reasoning", "what the model thought before it answered, where its endpoint tells"),
    text("answer", "the answer as it came"),
    text("finish", "why the answer ended: stop, length, ..."),
    int("tokens_in", "tokens read"),
    int("tokens_out", "tokens written"),
    flag("estimated", "whether tokens are a guess from the number of characters"),
    int("ms", "time from request to answer, milliseconds"),
    int("retries", "requests that failed before"),
    float("usd", "price, US dollars; absent where it is not known"),
    text("verdict", "what became of the answer: ok, unparsed, illegal, empty, ..."),
    text("read", "the move read in it"),
];

/// The columns of a table of records as they are: one JSON object a line.
pub const RECORD: &[Column] = &[
    int("ludex", "version of the record format"),
    text("episode", "name of the match"),
    text("game", "id of the game"),
    text("params", "object: its parameters"),
    int("rules", "version of the rules"),
    text("hash", "hash of the game's spec"),
    text("server", "program that played it"),
    text("seats", "list: name, kind and spec of the agent on each seat"),
    flag("rated", "whether it was to count"),
    text("clock", "object: the clock, milliseconds"),
    text("illegal", "object: how illegal moves were treated"),
    text("seed_commit", "commitment to the seed, hex SHA-256"),
    text("started", "when it started, UTC, RFC 3339"),
    text("events", "list: chance outcomes and moves in order, with time in milliseconds and refused attempts"),
    text("returns", "list: return of each seat, in the game's points"),
    text("outcome", "list: win, loss, draw or none, by seat"),
    text("reason", "why it ended"),
    int("at_fault", "seat whose forfeit ended it"),
    text("ended", "when it ended, UTC, RFC 3339"),
    text("run", "name of the run"),
    text("pair", "matches of one seed share it"),
    text("seed", "the seed, decimal"),
    text("salt", "salt of the commitment, hex"),
    text("digest", "digest of the record, hex"),
];

/// One row for each match, those that do not count among them; and records that cannot be read.
pub fn episodes(run: &Archive, records: &[&Found]) -> (Table, Vec<Refused>) {
    let about = "One row is one match, also those that do not count (`counts`).";
    gather("episodes", about, EPISODES, run, records, |record, parts| Ok(vec![episode(run, record, parts)?]))
}

/// One row for each decision of a seat that a language model played (in a run without any, of every seat); and records
/// that cannot be played.
pub fn decisions(run: &Archive, records: &[&Found]) -> (Table, Vec<Refused>) {
    let about = "One row is one decision: a turn of a seat that a language model played (in a run without any, of any seat), \
                 with its refused attempts. Prompts and output are those of the attempt that was played.";
    let thinks = |record: &Record| !thinking(run, record).is_empty();
    let any = records.iter().any(|found| found.parts.clone().record().is_ok_and(|record| thinks(&record)));
    gather("decisions", about, DECISIONS, run, records, |record, _| {
        let seats = if any { thinking(run, record) } else { (0..record.header.seats.len()).collect() };
        decided(run, record, &seats)
    })
}

/// One row for each call.
pub fn calls(run: &Archive, records: &[&Found]) -> (Table, Vec<Refused>) {
    let about = "One row is one call of a model's endpoint, in matches that are over.";
    gather("calls", about, CALLS, run, records, |record, _| {
        Ok(run.calls_of(&record.header.episode).iter().map(|kept| call(run, kept)).collect())
    })
}

/// The rows of all records; those that give none are refused.
fn gather(
    what: &'static str,
    about: &'static str,
    columns: &'static [Column],
    run: &Archive,
    records: &[&Found],
    of: impl Fn(&Record, &Parts) -> Result<Vec<Vec<Value>>, String>,
) -> (Table, Vec<Refused>) {
    let mut table = Table { what, about, columns, rows: Vec::new() };
    let mut refused = Vec::new();
    for found in records {
        let rows = found.parts.clone().record().map_err(|e| e.to_string()).and_then(|record| of(&record, &found.parts));
        match rows {
            Ok(rows) => table.rows.extend(rows),
            Err(message) => {
                let episode = Some(crate::archive::episode_of(&found.parts).to_owned());
                refused.push(Refused { source: found.source.clone(), episode, message });
            }
        }
    }
    debug_assert!(table.rows.iter().all(|row| row.len() == columns.len()), "{}: {what}", run.about.run);
    (table, refused)
}

/// The seats that a language model played.
fn thinking(run: &Archive, record: &Record) -> Vec<Seat> {
    let calls = run.calls_of(&record.header.episode);
    let seats = record.header.seats.iter().enumerate();
    let thinks = |k: usize, kind: AgentKind| kind == AgentKind::Llm || calls.iter().any(|kept| kept.seat == k);
    seats.filter(|(k, seat)| thinks(*k, seat.kind)).map(|(k, _)| k).collect()
}

/// An enumeration's name on the wire.
fn word(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// A document as JSON text.
fn document(value: impl Serialize) -> Value {
    word(value).to_string().into()
}

fn game_string(record: &Record) -> Result<String, String> {
    let game = ludex_env::load_with(&record.header.game, &record.header.params).map_err(|e| e.to_string())?;
    Ok(game.spec().string.clone())
}

fn episode(run: &Archive, record: &Record, parts: &Parts) -> Result<Vec<Value>, String> {
    let (header, footer) = (&record.header, &record.footer);
    let place = run.place_of(parts);
    let moves =
        record.events.iter().filter(|e| matches!(e, RecordEvent::Move(m) if m.action.is_some() || m.said.is_some()));
    Ok(vec![
        json!(run.about.run),
        json!(header.episode),
        json!(place.as_ref().map(|p| &p.part)),
        json!(place.as_ref().map(|p| &p.pairing)),
        json!(place.as_ref().map(|p| p.index)),
        json!(place.as_ref().map(|p| p.turn)),
        json!(place.as_ref().map(|p| p.rematch)),
        json!(game_string(record)?),
        json!(header.rules),
        json!(header.hash),
        document(&header.seats),
        json!(header.started),
        json!(footer.ended),
        word(footer.reason),
        json!(footer.reason.is_some_and(|reason| reason.counts())),
        document(&footer.outcome),
        document(&footer.returns),
        json!(footer.at_fault),
        json!(moves.count()),
        json!(footer.seed),
        json!(footer.digest),
        json!(parts_line(parts)),
    ])
}

/// A record as one line, nothing of it lost.
pub fn parts_line(parts: &Parts) -> String {
    let mut all = parts.header.clone();
    all.insert("events".to_owned(), parts.events.clone().into());
    all.extend(parts.footer.clone());
    Value::Object(all).to_string()
}

/// The level of an anchor such as `anchor level=3`.
fn level(spec: &str) -> Option<u32> {
    let mut words = spec.split_whitespace();
    words.next().filter(|name| *name == "anchor")?;
    words.find_map(|word| word.strip_prefix("level=")?.parse().ok())
}

/// What is the same in all decisions of a match.
struct Match<'a> {
    run: &'a Archive,
    record: &'a Record,
    game: String,
    calls: BTreeMap<(Seat, u32), Vec<&'a Kept>>,
}

fn decided(run: &Archive, record: &Record, seats: &[Seat]) -> Result<Vec<Vec<Value>>, String> {
    let game = ludex_env::load_with(&record.header.game, &record.header.params).map_err(|e| e.to_string())?;
    let mut calls: BTreeMap<_, Vec<&Kept>> = BTreeMap::new();
    for kept in run.calls_of(&record.header.episode).iter().filter(|kept| seats.contains(&kept.seat)) {
        calls.entry((kept.seat, kept.key.turn)).or_default().push(kept);
    }
    let mut of = Match { run, record, game: game.spec().string.clone(), calls };
    let (mut rows, mut ply) = (Vec::new(), 0);
    let mut steps = Stepper::new(&game, record, None);
    loop {
        let (before, at) = (steps.state().boxed(), steps.at());
        let step = steps.step();
        // A turn that ended the match without a move is the last event and cannot be played.
        let until = step.as_ref().map_or(record.events.len(), |step| step.events.end);
        let moves =
            record.events[at..until].iter().filter_map(|e| if let RecordEvent::Move(m) = e { Some(m) } else { None });
        let mut moved = false;
        for m in moves {
            // In the middle of a joint turn a match may end with moves of some seats.
            let alone = !matches!(before.turn(), Turn::Together(_));
            if step.is_none() && alone && (m.action.is_some() || m.said.is_some()) {
                return Err(format!("events[{at}] cannot be played here"));
            }
            moved = true;
            if seats.contains(&(m.seat as usize)) {
                rows.push(of.row(&*before, m, ply));
            }
        }
        ply += u32::from(moved);
        if step.is_none() {
            break;
        }
    }
    // The match ended while these were asked, and the record has no event of it.
    let left: Vec<(Seat, u32)> = of.calls.keys().copied().collect();
    for (seat, turn) in left {
        let none = MoveRecord { seat: seat as u32, turn, ..MoveRecord::default() };
        rows.push(of.row(steps.state(), &none, ply));
    }
    Ok(rows)
}

impl Match<'_> {
    /// A decision at the position before it.
    fn row(&mut self, state: &dyn DynState, m: &MoveRecord, ply: u32) -> Vec<Value> {
        let (header, footer) = (&self.record.header, &self.record.footer);
        let seat = m.seat as usize;
        let place = crate::archive::Place::parse(&self.run.about.run, &header.episode);
        let others: Vec<_> = header.seats.iter().enumerate().filter(|(k, _)| *k != seat).map(|(_, s)| s).collect();
        let names: Vec<&str> = others.iter().map(|s| s.name.as_str()).collect();
        let levels = others.iter().find_map(|s| s.spec.as_deref().and_then(level));
        let calls = self.calls.remove(&(seat, m.turn)).unwrap_or_default();
        // The attempt that was played is the last; what it did beside the move (votes, critiques) stands in the calls.
        let last = calls.iter().rev().find(|kept| kept.call.purpose == "move").or(calls.last()).map(|kept| &kept.call);
        let said = |role: &str| last.map(|call| call.said(role)).filter(|text| !text.is_empty());
        let played = move_text(state, m);
        let verdict = match (&played, m.forced) {
            (None, _) => "none",
            (Some(_), true) => "forced",
            (Some(_), false) => "accepted",
        };
        let own = played.is_some() && !m.forced;
        let sum = |of: fn(&Call) -> u64| (!calls.is_empty()).then(|| calls.iter().map(|k| of(&k.call)).sum::<u64>());
        // One price that is not known makes the sum unknown.
        let usd: Option<f64> = calls.iter().map(|kept| kept.call.usd).sum();
        vec![
            json!(self.run.about.run),
            json!(header.episode),
            json!(place.as_ref().map(|p| &p.part)),
            json!(self.game),
            json!(levels),
            json!(header.seats.get(seat).map(|s| &s.name)),
            json!(names.join(", ")),
            json!(place.as_ref().map(|p| p.index)),
            json!(place.as_ref().map(|p| p.turn)),
            json!(seat),
            json!(m.turn),
            json!(ply),
            json!(header.started),
            json!(m.ms),
            json!(legal_list(state, seat).len()),
            json!(said("system")),
            json!(said("user")),
            json!(last.and_then(Call::reasoning)),
            json!(last.map(|call| &call.answer)),
            json!(last.and_then(|call| call.read.as_ref())),
            json!(m.action),
            json!(played),
            json!(verdict),
            json!(m.tries.len() + usize::from(own)),
            document(refusals(state, m)),
            json!(calls.len()),
            json!(sum(|call| call.tokens.input)),
            json!(sum(|call| call.tokens.out)),
            json!(usd.filter(|_| !calls.is_empty())),
            word(footer.outcome.get(seat).copied().unwrap_or(Outcome::None)),
            json!(footer.returns.get(seat)),
            json!(footer.reason.is_some_and(|reason| reason.counts())),
            json!(place.is_some_and(|p| p.rematch)),
        ]
    }
}

/// What was answered before a move, and why it was refused in the game's words.
fn refusals(state: &dyn DynState, m: &MoveRecord) -> Vec<Value> {
    let refused = m.tries.iter().map(|attempt| {
        let given = given(attempt);
        let why = given.as_ref().and_then(|given| state.read(m.seat as usize, given).err()).map(|r| r.message);
        let said = match given {
            Some(Given::Id(id)) => json!(id),
            Some(Given::Text(text)) => json!(text),
            Some(Given::Document(value)) => value,
            None => Value::Null,
        };
        json!({ "said": said, "code": attempt.code, "why": why, "ms": attempt.ms })
    });
    refused.collect()
}

fn call(run: &Archive, kept: &Kept) -> Vec<Value> {
    let call = &kept.call;
    let messages: &[Message] = &call.messages;
    vec![
        json!(run.about.run),
        json!(kept.episode),
        json!(kept.seat),
        json!(kept.key.turn),
        json!(kept.key.attempt),
        json!(kept.key.step),
        json!(call.purpose),
        json!(call.model),
        document(messages),
        json!(call.reasoning()),
        json!(call.answer),
        json!(call.finish),
        json!(call.tokens.input),
        json!(call.tokens.out),
        json!(call.estimated),
        json!(call.ms),
        json!(call.retries),
        json!(call.usd),
        json!(call.verdict),
        json!(call.read),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_those_of_anchors() {
        assert_eq!(level("anchor level=3"), Some(3));
        assert_eq!(level("anchor bot=2 level=10"), Some(10));
        assert_eq!([level("mcts level=3"), level("anchor"), level("")], [None; 3]);
    }
}
