//! Transcripts of matches: all decisions in order, each with the view of the deciding seat.

use std::collections::{BTreeMap, HashSet};

use ludex_env::recording::{Replay, ReplayStep, submitted_move};
use ludex_env::{DynState, Move, Mover, Seat, Viewer};
use ludex_protocol::call::{Call, ChatMessage, ChatRole};
use ludex_protocol::record::{MoveRecord, Record, RecordEvent, RefusedMove};
use ludex_protocol::spec::Spec;
use serde::Serialize;

use crate::display::{self, move_text};
use crate::runs::archive::Archive;
use crate::runs::episode::MatchPlace;
use crate::runs::run_files::CallLine;

/// Match as a list of decisions.
#[derive(Clone, Debug, Serialize)]
pub struct Transcript {
    pub episode: String,
    /// Canonical game string.
    pub game: String,
    /// Position of the match in the run; `None` if the episode name contains no position.
    pub place: Option<String>,
    /// Description of each seat: the seat's name in the game, and its agent.
    pub seats: Vec<String>,
    /// Result of the match in one line.
    pub result: String,
    /// True if the match counts; otherwise `result` gives the reason.
    pub counts: bool,
    pub sums: Sums,
    /// Turns of the seats that were selected for the transcript.
    pub decisions: Vec<Decision>,
    /// Events after the last of [`decisions`](Transcript::decisions), as seen by spectators.
    pub after: Vec<String>,
    /// Last position, as seen by spectators.
    pub end: String,
    /// Last position as SVG.
    pub end_picture: String,
    /// Fault of the record; `None` for a record without faults.
    pub broken: Option<String>,
}

/// Cost of a match's calls.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sums {
    pub calls: usize,
    /// Input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Duration in milliseconds.
    pub ms: u64,
    /// US dollars of the calls with a known price.
    pub usd: Option<f64>,
    /// Number of calls without a known price.
    pub unpriced: usize,
    /// Number of attempts that the game refused.
    pub refused: usize,
}

/// Turn of a seat.
#[derive(Clone, Debug, Serialize)]
pub struct Decision {
    /// Number of the move in the match, from 1.
    pub ply: u32,
    pub seat: Seat,
    /// Index of the seat's own turn, from 0.
    pub turn: u32,
    /// Name of the seat in the game, and its agent.
    pub who: String,
    /// Events since the last turn of the seat, as seen by the seat.
    pub since: Vec<String>,
    /// Position before the move, as seen by the seat.
    pub position: String,
    /// Position as SVG.
    pub picture: String,
    pub attempts: Vec<Attempt>,
    /// Played move; `None` if the match ended before a move.
    pub played: Option<String>,
    /// True if the program chose the move: the only legal move, or a move under the match policy for illegal moves.
    pub forced: bool,
    /// Duration of the turn in milliseconds.
    pub ms: u64,
    /// Names and texts of the move's notes.
    pub notes: Vec<(String, String)>,
}

/// Attempt at a move.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Attempt {
    pub calls: Vec<ShownCall>,
    /// Refused move with the reason.
    pub refused: Option<String>,
    /// Names and texts of the notes of a refused move.
    pub notes: Vec<(String, String)>,
}

/// Call of a language model, without the parts that the transcript displayed earlier.
#[derive(Clone, Debug, Serialize)]
pub struct ShownCall {
    /// Purpose: `move`, `vote`, ...
    pub purpose: String,
    pub model: String,
    /// Prompt, without a system prompt that an earlier call displays.
    pub messages: Vec<ChatMessage>,
    /// True if the system prompt is omitted because an earlier call displays it.
    pub system_again: bool,
    /// Reasoning of the model, if the endpoint sends it.
    pub reasoning: Option<String>,
    /// Text of the reply.
    pub answer: String,
    /// Verdict on the reply: `ok`, `unparsed`, `illegal`, ...
    pub verdict: String,
    /// Move parsed from the reply.
    pub read: Option<String>,
    /// Duration, tokens, price and unusual events of the call, as text.
    pub facts: String,
}

/// Returns the file name of a match's transcript, or of a further piece of it.
pub fn page_name(episode: &str, piece: usize) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let name: String = episode.chars().map(safe).collect();
    if piece == 0 { format!("m-{name}.html") } else { format!("m-{name}-{}.html", piece + 1) }
}

/// Returns the transcript of a match of a run, with the decisions of the seats in `shown`.
///
/// # Errors
/// Returns an error for a game that the program does not know.
pub fn transcript(record: &Record, run: &Archive, shown: &[Seat]) -> anyhow::Result<Transcript> {
    let game = ludex_games::load_with(&record.header.game, &record.header.params)?;
    let spec = game.spec();
    let calls = run.calls_of(&record.header.episode);
    let mut builder = TranscriptBuilder::new(record, spec, shown, calls);
    let mut steps = Replay::new(&*game, &record.events);
    let mut broken = None;
    while let Some(step) = steps.next() {
        match step {
            Ok(step) => builder.add_step(&step),
            Err(stop) => broken = Some(stop.to_string()),
        }
    }
    builder.add_unfinished_turns(steps.position());
    let place = run.place_of(&record.header.episode).map(|MatchPlace { place, rematch }| {
        let again = if rematch { ", played again after a failure" } else { "" };
        format!("{}, seed {}, seating {}{again}", place.part, place.index, place.turn)
    });
    let name = |seat: usize| builder.who(seat);
    Ok(Transcript {
        episode: record.header.episode.clone(),
        game: spec.string.clone(),
        place,
        seats: (0..record.header.seats.len()).map(name).collect(),
        result: display::result(spec, record),
        counts: record.footer.reason.is_some_and(|reason| reason.counts()),
        sums: sums(calls, &builder.decisions),
        after: builder.take_news(Viewer::Public),
        end: steps.position().view(Viewer::Public).text().trim_end().to_owned(),
        end_picture: steps.position().view(Viewer::Public).picture(Viewer::Public).still().svg,
        decisions: builder.decisions,
        broken,
    })
}

fn sums(calls: &[CallLine], decisions: &[Decision]) -> Sums {
    let mut sums = Sums { calls: calls.len(), ..Sums::default() };
    for CallLine { call, .. } in calls {
        sums.input += call.tokens.input;
        sums.output += call.tokens.out;
        sums.ms += call.ms;
        match call.usd {
            Some(usd) => *sums.usd.get_or_insert(0.0) += usd,
            None => sums.unpriced += 1,
        }
    }
    sums.refused = decisions.iter().flat_map(|d| &d.attempts).filter(|a| a.refused.is_some()).count();
    sums
}

/// Builder of a transcript.
struct TranscriptBuilder<'a> {
    record: &'a Record,
    spec: &'a Spec,
    shown: &'a [Seat],
    /// Calls by seat and turn.
    calls: BTreeMap<(Seat, u32), Vec<&'a CallLine>>,
    ply: u32,
    /// Events since the last call of [`take_news`](TranscriptBuilder::take_news) for each seat. The last entry is for
    /// spectators.
    news: Vec<Vec<String>>,
    revealed: HashSet<(usize, String)>,
    systems: HashSet<&'a str>,
    decisions: Vec<Decision>,
}

impl<'a> TranscriptBuilder<'a> {
    fn new(record: &'a Record, spec: &'a Spec, shown: &'a [Seat], all: &'a [CallLine]) -> Self {
        let mut calls: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for line in all.iter().filter(|line| shown.contains(&line.seat)) {
            calls.entry((line.seat, line.key.turn)).or_default().push(line);
        }
        TranscriptBuilder {
            record,
            spec,
            shown,
            calls,
            ply: 0,
            news: vec![Vec::new(); record.header.seats.len() + 1],
            revealed: HashSet::new(),
            systems: HashSet::new(),
            decisions: Vec::new(),
        }
    }

    fn who(&self, seat: Seat) -> String {
        let place = self.spec.seats.get(seat).map(String::as_str).unwrap_or_default();
        format!("{place} ({})", self.record.header.seats.get(seat).map_or("?", |s| &s.name))
    }

    fn viewers(&self) -> impl Iterator<Item = (usize, Viewer)> + use<> {
        let seats = self.record.header.seats.len();
        (0..seats).map(|seat| (seat, Viewer::Seat(seat))).chain([(seats, Viewer::Public)])
    }

    /// Takes the events that a viewer has seen since the previous call of this function.
    fn take_news(&mut self, who: Viewer) -> Vec<String> {
        let at = who.seat().unwrap_or(self.record.header.seats.len());
        std::mem::take(&mut self.news[at])
    }

    /// Adds a step: the decisions of the requested seats, and the events for each viewer.
    fn add_step(&mut self, step: &ReplayStep<'_>) {
        self.ply += u32::from(step.moves().next().is_some());
        for (_, m) in step.moves().filter(|(_, m)| self.shown.contains(&(m.seat as usize))) {
            self.add_turn(step.before, m);
        }
        if !step.played {
            return;
        }
        for (at, viewer) in self.viewers() {
            for event in step.events {
                let text = self.event_text(step.before, viewer, event);
                self.news[at].extend(text);
            }
            for (text, _) in step.after.reveals(viewer) {
                if self.revealed.insert((at, text.clone())) {
                    self.news[at].push(format!("shown: {text}"));
                }
            }
        }
    }

    /// Returns the text of an event as a viewer sees the event; `None` for the viewer's own moves.
    fn event_text(&self, before: &dyn DynState, viewer: Viewer, event: &RecordEvent) -> Option<String> {
        match event {
            RecordEvent::Chance(c) => Some(format!("chance: {}", before.seen(viewer, Mover::Chance, c.action?).text?)),
            RecordEvent::Move(m) if viewer == Viewer::Seat(m.seat as usize) => None,
            RecordEvent::Move(m) => {
                let seat = m.seat as usize;
                let seen = match (m.action, &m.document) {
                    (Some(action), _) => before.seen(viewer, Mover::Seat(seat), action),
                    (None, Some(document)) => before.observe_document(viewer, seat, document),
                    (None, None) => return None,
                };
                let say = m.notes.as_ref().and_then(|n| n.say.as_ref()).map(|say| format!("; says: {say}"));
                Some(format!("{}: {}{}", self.who(seat), seen.text?, say.unwrap_or_default()))
            }
        }
    }

    /// Adds a turn of a seat, with the position before the turn.
    fn add_turn(&mut self, state: &dyn DynState, m: &MoveRecord) {
        let seat = m.seat as usize;
        let mut attempts = self.take_attempts(seat, m.turn);
        for (k, refused) in m.tries.iter().enumerate() {
            if attempts.len() <= k {
                attempts.push(Attempt::default());
            }
            attempts[k].refused = Some(why(state, seat, refused));
            let called = !attempts[k].calls.is_empty();
            attempts[k].notes = refused.notes.as_ref().map(|own| notes(own, called)).unwrap_or_default();
        }
        self.push(state, m, attempts);
    }

    fn push(&mut self, state: &dyn DynState, m: &MoveRecord, attempts: Vec<Attempt>) {
        let viewer = Viewer::Seat(m.seat as usize);
        let since = self.take_news(viewer);
        // Drop the earlier news of spectators, so that `after` has only the events after the last decision.
        self.take_news(Viewer::Public);
        let called = attempts.last().is_some_and(|attempt| !attempt.calls.is_empty());
        self.decisions.push(Decision {
            ply: self.ply,
            seat: m.seat as usize,
            turn: m.turn,
            who: self.who(m.seat as usize),
            since,
            position: state.view(viewer).text().trim_end().to_owned(),
            picture: state.view(viewer).picture(viewer).still().svg,
            attempts,
            played: move_text(state, m),
            forced: m.forced,
            ms: m.ms,
            notes: m.notes.as_ref().map(|own| notes(own, called)).unwrap_or_default(),
        });
    }

    /// Adds turns that have model calls but no event, because the match ended during the turn.
    fn add_unfinished_turns(&mut self, state: &dyn DynState) {
        let left: Vec<(Seat, u32)> = self.calls.keys().copied().collect();
        self.ply += u32::from(!left.is_empty());
        for (seat, turn) in left {
            let attempts = self.take_attempts(seat, turn);
            self.push(state, &MoveRecord { seat: seat as u32, turn, ..MoveRecord::default() }, attempts);
        }
    }

    /// Takes the calls of a turn, by attempt.
    fn take_attempts(&mut self, seat: Seat, turn: u32) -> Vec<Attempt> {
        let mut attempts: Vec<Attempt> = Vec::new();
        for line in self.calls.remove(&(seat, turn)).unwrap_or_default() {
            let at = line.key.attempt as usize;
            // The number of an attempt comes from a file and may be huge, so it is bounded before it becomes an index.
            while attempts.len() <= at.min(1000) {
                attempts.push(Attempt::default());
            }
            let shown = self.call(&line.call);
            attempts[at.min(1000)].calls.push(shown);
        }
        attempts
    }

    fn call(&mut self, call: &'a Call) -> ShownCall {
        let mut again = false;
        let mut new = |m: &&'a ChatMessage| {
            let first = m.role != ChatRole::System || self.systems.insert(&m.content);
            again |= !first;
            first
        };
        let messages = call.messages.iter().filter(|m| new(m)).cloned().collect();
        ShownCall {
            purpose: call.purpose.clone(),
            model: call.model.clone(),
            messages,
            system_again: again,
            reasoning: call.reasoning.clone(),
            answer: call.answer.clone(),
            verdict: call.verdict.clone(),
            read: call.read.clone(),
            facts: facts(call),
        }
    }
}

/// Formats the cost of a call: `1.2 s, 340 tokens in and 12 out, $0.0010`.
fn facts(call: &Call) -> String {
    let about = if call.estimated { "about " } else { "" };
    let mut out = format!("{}, {about}{} tokens in and {} out", seconds(call.ms), call.tokens.input, call.tokens.out);
    out.extend(call.usd.map(|usd| format!(", {}", dollars(usd))));
    if call.retries > 0 {
        out += &format!(", after {}", display::count(call.retries as usize, "failed request", "failed requests"));
    }
    let unusual = call.finish.as_deref().filter(|finish| *finish != "stop");
    out.extend(unusual.map(|finish| format!(", ended by {finish}")));
    out
}

/// Formats milliseconds as seconds: `1.2 s`.
pub fn seconds(ms: u64) -> String {
    format!("{} s", display::number(ms as f64 / 1000.0, if ms < 10_000 { 2 } else { 0 }))
}

/// Formats US dollars with four decimals, because a single call costs less than a cent: `$0.0012`.
pub fn dollars(usd: f64) -> String {
    format!("${}", display::number(usd, 4))
}

/// Formats a refused move with the reason of the game.
fn why(state: &dyn DynState, seat: Seat, refused: &RefusedMove) -> String {
    let given = submitted_move(refused);
    let said = match &given {
        Some(Move::Id(id)) => format!("{id}: "),
        Some(Move::Text(text)) => format!("{text:?}: "),
        Some(Move::Document(value)) => format!("{value}: "),
        None => String::new(),
    };
    let words = given.and_then(|given| state.parse_move(seat, &given).err()).map(|refusal| refusal.message);
    let code = || serde_json::to_value(refused.code).ok().and_then(|v| Some(v.as_str()?.replace('_', " ")));
    format!("{said}{}", words.or_else(code).unwrap_or_else(|| "refused".to_owned()))
}

/// Notes about a call, which the transcript shows with the call.
const CALL_NOTES: [&str; 8] = ["answer", "calls", "calls_sha256", "model", "prompt", "reasoning", "usd", "verdict"];

/// Returns the notes of a move, by name; with `called`, without those that the transcript shows as a call.
fn notes(notes: &ludex_protocol::record::Notes, called: bool) -> Vec<(String, String)> {
    let named = [("analysis", &notes.analysis), ("emotion", &notes.emotion), ("says", &notes.say)];
    let mut out: Vec<(String, String)> =
        named.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text.clone()?))).collect();
    let more = notes.more.iter().filter(|(name, _)| !(called && CALL_NOTES.contains(&name.as_str())));
    let more = more.map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (name.replace('_', " "), text)
    });
    out.extend(more);
    out
}
