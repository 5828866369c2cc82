//! Transcripts of matches: one decision after the other, each with the game as the deciding seat saw it.

use std::collections::{BTreeMap, HashSet};

use ludex_agents::llm::{Call, ChatMessage, ChatRole};
use ludex_env::recording::{Replay, ReplayStep, submitted_move};
use ludex_env::{DynState, Move, Mover, Seat, Viewer};
use ludex_protocol::record::{MoveRecord, Record, RecordEvent, RefusedMove};
use ludex_protocol::spec::Spec;
use ludex_report::display::{self, move_text};
use ludex_report::runs::episode::MatchPlace;
use serde::Serialize;

use crate::runs::archive::Archive;
use crate::runs::run_files::CallLine;

/// A match as a list of decisions.
#[derive(Debug, Serialize)]
pub struct Transcript {
    /// The episode's name.
    pub episode: String,
    /// The game, canonical.
    pub game: String,
    /// Where the match belongs in its run; `None` if its name does not say.
    pub place: Option<String>,
    /// The seats: each with its name in the game and its agent.
    pub seats: Vec<String>,
    /// The result in one line.
    pub result: String,
    /// Whether the match counts; if not, `result` says why it ended.
    pub counts: bool,
    /// What its calls cost.
    pub sums: Sums,
    /// The turns of the seats that are shown.
    pub decisions: Vec<Decision>,
    /// What happened after the last decision that is shown, as spectators saw it.
    pub after: Vec<String>,
    /// The last position, as spectators see it.
    pub end: String,
    /// The same as SVG.
    pub end_picture: String,
    /// What is wrong with the record, if something is.
    pub broken: Option<String>,
}

/// The cost of a match's calls.
#[derive(Debug, Default, Serialize)]
pub struct Sums {
    /// The number of calls.
    pub calls: usize,
    /// Tokens of the questions.
    pub input: u64,
    /// Tokens of the answers.
    pub output: u64,
    /// Time in milliseconds.
    pub ms: u64,
    /// US dollars of the calls with a known price.
    pub usd: Option<f64>,
    /// Calls without a known price.
    pub unpriced: usize,
    /// Attempts that the game refused.
    pub refused: usize,
}

/// A turn of a seat.
#[derive(Debug, Serialize)]
pub struct Decision {
    /// Moves of the match up to this one, from 1.
    pub ply: u32,
    /// The seat's name in the game, and its agent.
    pub who: String,
    /// What the seat has seen since its last turn.
    pub since: Vec<String>,
    /// What the seat sees before it moves.
    pub position: String,
    /// The same as SVG.
    pub picture: String,
    /// Its attempts, in order.
    pub attempts: Vec<Attempt>,
    /// The move; `None` if the match ended without one.
    pub played: Option<String>,
    /// Whether the move was made for the agent, because it was the only legal move or by the policy of the match.
    pub forced: bool,
    /// Time of the turn in milliseconds.
    pub ms: u64,
    /// Name and text of the notes beside the move.
    pub notes: Vec<(String, String)>,
}

/// One attempt at a move.
#[derive(Debug, Default, Serialize)]
pub struct Attempt {
    /// The calls that led to it.
    pub calls: Vec<ShownCall>,
    /// The answer, and why it was refused.
    pub refused: Option<String>,
}

/// A call, without what was shown earlier in the match.
#[derive(Debug, Serialize)]
pub struct ShownCall {
    /// Its purpose: `move`, `vote`, ...
    pub purpose: String,
    /// The model.
    pub model: String,
    /// The prompt, without a system prompt that was shown earlier in the match.
    pub messages: Vec<ChatMessage>,
    /// Whether a system prompt was left out for that reason.
    pub system_again: bool,
    /// The model's reasoning, if the endpoint sends it.
    pub reasoning: Option<String>,
    /// The answer as it came.
    pub answer: String,
    /// The verdict on the answer: `ok`, `unparsed`, `illegal`, ...
    pub verdict: String,
    /// The move that was read in it.
    pub read: Option<String>,
    /// Time, tokens, price, and what was unusual.
    pub facts: String,
}

/// The transcript of a match of a run, with the decisions of the seats in `shown`.
///
/// # Errors
/// A game that this program does not know.
pub fn transcript(record: &Record, run: &Archive, shown: &[Seat]) -> anyhow::Result<Transcript> {
    let game = ludex_games::load_with(&record.header.game, &record.header.params)?;
    let spec = game.spec();
    let calls = run.calls_of(&record.header.episode);
    let mut teller = Teller::new(record, spec, shown, calls);
    let mut steps = Replay::new(&*game, &record.events);
    let mut broken = None;
    while let Some(step) = steps.next() {
        match step {
            Ok(step) => teller.take(&step),
            Err(stop) => broken = Some(stop.to_string()),
        }
    }
    teller.unanswered(steps.position());
    let place = run.place_of(&record.header.episode).map(|MatchPlace { place, rematch }| {
        let again = if rematch { ", played again after a failure" } else { "" };
        format!("{}, seed {}, seating {}{again}", place.part, place.index, place.turn)
    });
    let name = |seat: usize| teller.who(seat);
    Ok(Transcript {
        episode: record.header.episode.clone(),
        game: spec.string.clone(),
        place,
        seats: (0..record.header.seats.len()).map(name).collect(),
        result: display::result(spec, record),
        counts: record.footer.reason.is_some_and(|reason| reason.counts()),
        sums: sums(calls, &teller.decisions),
        after: teller.news(Viewer::Public),
        end: steps.position().view(Viewer::Public).text().trim_end().to_owned(),
        end_picture: steps.position().view(Viewer::Public).picture(Viewer::Public).still().svg,
        decisions: teller.decisions,
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

/// A transcript in the making.
struct Teller<'a> {
    record: &'a Record,
    spec: &'a Spec,
    shown: &'a [Seat],
    /// By seat and turn.
    calls: BTreeMap<(Seat, u32), Vec<&'a CallLine>>,
    ply: u32,
    /// What each seat, and last the public, has seen since [`Teller::news`] took it.
    heard: Vec<Vec<String>>,
    revealed: HashSet<(usize, String)>,
    systems: HashSet<&'a str>,
    decisions: Vec<Decision>,
}

impl<'a> Teller<'a> {
    fn new(record: &'a Record, spec: &'a Spec, shown: &'a [Seat], all: &'a [CallLine]) -> Self {
        let mut calls: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for kept in all.iter().filter(|kept| shown.contains(&kept.seat)) {
            calls.entry((kept.seat, kept.key.turn)).or_default().push(kept);
        }
        Teller {
            record,
            spec,
            shown,
            calls,
            ply: 0,
            heard: vec![Vec::new(); record.header.seats.len() + 1],
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

    /// Takes what a viewer has seen since the last call.
    fn news(&mut self, who: Viewer) -> Vec<String> {
        let at = who.seat().unwrap_or(self.record.header.seats.len());
        std::mem::take(&mut self.heard[at])
    }

    /// Takes a step: the decisions of the seats that are shown, and what each viewer saw of it.
    fn take(&mut self, step: &ReplayStep<'_>) {
        self.ply += u32::from(step.moves().next().is_some());
        for (_, m) in step.moves().filter(|(_, m)| self.shown.contains(&(m.seat as usize))) {
            self.decide(step.before, m);
        }
        if !step.played {
            return;
        }
        for (at, viewer) in self.viewers() {
            for event in step.events {
                let told = self.seen(step.before, viewer, event);
                self.heard[at].extend(told);
            }
            for (text, _) in step.after.reveals(viewer) {
                if self.revealed.insert((at, text.clone())) {
                    self.heard[at].push(format!("shown: {text}"));
                }
            }
        }
    }

    /// What a viewer sees of an event. Its own moves are left out.
    fn seen(&self, before: &dyn DynState, viewer: Viewer, event: &RecordEvent) -> Option<String> {
        match event {
            RecordEvent::Chance(c) => Some(format!("chance: {}", before.seen(viewer, Mover::Chance, c.action?).text?)),
            RecordEvent::Move(m) if viewer == Viewer::Seat(m.seat as usize) => None,
            RecordEvent::Move(m) => {
                let seat = m.seat as usize;
                let seen = match (m.action, &m.said) {
                    (Some(action), _) => before.seen(viewer, Mover::Seat(seat), action),
                    (None, Some(said)) => before.seen_said(viewer, seat, said),
                    (None, None) => return None,
                };
                let say = m.notes.as_ref().and_then(|n| n.say.as_ref()).map(|say| format!("; says: {say}"));
                Some(format!("{}: {}{}", self.who(seat), seen.text?, say.unwrap_or_default()))
            }
        }
    }

    /// One turn of a seat, with the position before it.
    fn decide(&mut self, state: &dyn DynState, m: &MoveRecord) {
        let seat = m.seat as usize;
        let mut attempts = self.asked(seat, m.turn);
        for (k, refused) in m.tries.iter().enumerate() {
            if attempts.len() <= k {
                attempts.push(Attempt::default());
            }
            attempts[k].refused = Some(why(state, seat, refused));
        }
        self.push(state, m, attempts);
    }

    fn push(&mut self, state: &dyn DynState, m: &MoveRecord, attempts: Vec<Attempt>) {
        let viewer = Viewer::Seat(m.seat as usize);
        let since = self.news(viewer);
        // At the end, only what follows the last decision is shown to spectators.
        self.news(Viewer::Public);
        self.decisions.push(Decision {
            ply: self.ply,
            who: self.who(m.seat as usize),
            since,
            position: state.view(viewer).text().trim_end().to_owned(),
            picture: state.view(viewer).picture(viewer).still().svg,
            attempts,
            played: move_text(state, m),
            forced: m.forced,
            ms: m.ms,
            notes: m.notes.as_ref().map(notes).unwrap_or_default(),
        });
    }

    /// Turns with calls but without an event: the match ended while the seat was asked.
    fn unanswered(&mut self, state: &dyn DynState) {
        let left: Vec<(Seat, u32)> = self.calls.keys().copied().collect();
        self.ply += u32::from(!left.is_empty());
        for (seat, turn) in left {
            let attempts = self.asked(seat, turn);
            self.push(state, &MoveRecord { seat: seat as u32, turn, ..MoveRecord::default() }, attempts);
        }
    }

    /// The calls of a turn, attempt by attempt.
    fn asked(&mut self, seat: Seat, turn: u32) -> Vec<Attempt> {
        let mut attempts: Vec<Attempt> = Vec::new();
        for kept in self.calls.remove(&(seat, turn)).unwrap_or_default() {
            let at = kept.key.attempt as usize;
            // The number of an attempt comes from a file and may be huge, so it is bounded before it becomes an index.
            while attempts.len() <= at.min(1000) {
                attempts.push(Attempt::default());
            }
            let asked = self.call(&kept.call);
            attempts[at.min(1000)].calls.push(asked);
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

/// `1.2 s, 340 tokens in and 12 out, $0.0010`.
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

/// `1.2 s`.
pub fn seconds(ms: u64) -> String {
    format!("{} s", display::number(ms as f64 / 1000.0, if ms < 10_000 { 2 } else { 0 }))
}

/// `$0.0012`: with four decimals, because a single call costs less than a cent.
pub fn dollars(usd: f64) -> String {
    format!("${}", display::number(usd, 4))
}

/// The answer, and the game's reason for refusing it.
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

/// The notes beside a move, by name.
fn notes(notes: &ludex_protocol::record::Notes) -> Vec<(String, String)> {
    let named = [("analysis", &notes.analysis), ("emotion", &notes.emotion), ("says", &notes.say)];
    let mut out: Vec<(String, String)> =
        named.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text.clone()?))).collect();
    let more = notes.more.iter().map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (name.replace('_', " "), text)
    });
    out.extend(more);
    out
}
