//! One match.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ludex_agents::{Agent, AgentError, Answer, ErrorKind, wrap};
use ludex_env::draw::{Key, key};
use ludex_env::history::hex_text;
use ludex_env::{Action, Ask, GameRef, Journal};
use ludex_protocol::Move;
use ludex_protocol::message::MatchFrame;
use ludex_protocol::record::{Clock, Header, Illegal, Reason, Record, RecordEvent, RecordSeat, VERSION};
use ludex_referee::digest::seed_commit;
use ludex_referee::suite::starts::Excerpt;
use serde_json::Value;

use super::seated::Seated;
use super::turns::Turns;
use crate::machine::terms::{Did, Input, Output, SeatSetup, Setup};
use crate::machine::{Match, Watcher};
use crate::time::now_text;

/// A match that was played.
#[derive(Clone, Debug)]
pub struct Played {
    /// The record, with seed, salt and digest.
    pub record: Record,
    /// What went wrong, where an agent's failure ended the match.
    pub failure: Option<String>,
}

/// The terms of a match without a clock between `players` (one for each seat). `block` is the key of the block of matches
/// that it belongs to ([`block_key`]), `turn` its place there; a match alone has no `pair`.
pub fn setup(game: &GameRef, players: &[&Seated], seed: u64, block: &Key, turn: usize, pair: Option<String>) -> Setup {
    let seats = players.iter().map(|p| p.record_seat()).collect();
    let peeks = players.iter().any(|p| p.agent.peeks());
    Setup { pair, ..terms(game, seats, peeks, seed, block, turn) }
}

/// The same for agents that are known by their seats in the record alone.
pub(super) fn terms(game: &GameRef, seats: Vec<RecordSeat>, peeks: bool, seed: u64, block: &Key, turn: usize) -> Setup {
    let spec = game.spec();
    let mut salt = [0; 16];
    salt.copy_from_slice(&block[16..]);
    let header = Header {
        ludex: VERSION,
        episode: format!("l_{}_{turn}", hex_text(&block[..8])),
        number: 0,
        flags: if peeks { vec!["peek".into()] } else { Vec::new() },
        game: spec.game.clone(),
        params: spec.params.clone(),
        rules: spec.rules,
        hash: spec.hash.clone(),
        server: crate::PROGRAM.into(),
        seats,
        rated: false,
        clock: Clock::default(),
        illegal: Illegal { tries: 1, ..Illegal::default() },
        seed_commit: Some(seed_commit(&salt, seed)),
        start: 0,
        started: now_text(),
    };
    Setup {
        game: game.clone(),
        seats: header.seats.iter().map(|_| SeatSetup::default()).collect(),
        header,
        skip_forced: false,
        seed,
        salt,
        release: true,
        grace_ms: Some(0),
        run: None,
        pair: None,
        mirror: Vec::new(),
        excerpt: Excerpt::default(),
        restarts: 0,
    }
}

/// The key of a block of matches on one seed: SHA-256 of `ludex.v1:local:<game string>:<names, sorted>:<seed>`, where an agent
/// without a name is named by its spec. Names and salts are taken from it, so that the same block has the same name wherever it is
/// played.
pub fn block_key(game: &GameRef, players: &[&Seated], seed: u64) -> Key {
    block_of(game, players.iter().map(|p| p.name.clone()).collect(), seed)
}

/// The same for names.
pub(super) fn block_of(game: &GameRef, mut names: Vec<String>, seed: u64) -> Key {
    names.sort();
    key(&format!("ludex.v1:local:{}:{}:{seed}", game.spec().string, names.join("|")))
}

/// What a host decides about the asking of agents.
#[derive(Clone, Copy, Default)]
pub struct Asking<'a> {
    /// How long an agent may think about one move. Those that cannot be hurried take the time they need, and those that gather
    /// questions ([`Agent::gathers`]) have no limit.
    pub limit: Option<Duration>,
    /// Where agents that compute wait for their turn, if many matches are played at a time.
    pub turns: Option<&'a Turns>,
    /// A seat with one legal action is not asked, even where the game hides something: nobody here could tell by the time.
    pub skip_forced: bool,
    /// Being late is a fault of the infrastructure.
    pub late_is_infra: bool,
    /// Where each seat keeps what it did outside.
    pub journals: Option<&'a dyn Journals>,
    /// Once this is set, the match is called off instead of playing the next answer. Its record says `aborted`.
    pub stop: Option<&'a AtomicBool>,
}

/// The journals of an episode, one for each seat.
pub trait Journals: Send + Sync {
    /// The journal of a seat.
    fn of(&self, seat: usize) -> &dyn Journal;
    /// Milliseconds that the calls took which the seat found in its journal since this was asked last. They are part of the time
    /// of its move.
    fn spared(&self, _seat: usize) -> u64 {
        0
    }
}

/// A journal for the length of a match that nobody keeps: conversations look back in it.
#[derive(Default)]
struct Memory(Mutex<HashMap<String, Value>>);

impl Journal for Memory {
    fn find(&self, key: &str) -> Option<Value> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    fn keep(&self, key: &str, entry: &Value) -> Result<(), String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned(), entry.clone());
        Ok(())
    }
}

/// Plays a match to its end. Nobody listens, so no frame is made.
pub fn play_match(setup: Setup, players: &[&Seated], asking: Asking) -> Played {
    run(Match::new(setup, 0), &agents_of(players), asking, |_, _| {})
}

/// Plays a match to its end; `told` hears each frame of `ears` when it happens.
pub fn play_aloud(
    setup: Setup,
    players: &[&Seated],
    asking: Asking,
    ears: Watcher,
    told: impl FnMut(&Match, &MatchFrame),
) -> Played {
    let mut machine = Match::new(setup, 0);
    machine.listen(ears);
    run(machine, &agents_of(players), asking, told)
}

fn agents_of<'a>(players: &[&'a Seated]) -> Vec<&'a dyn Agent> {
    players.iter().map(|p| &*p.agent).collect()
}

pub(super) fn run(
    machine: Match,
    agents: &[&dyn Agent],
    asking: Asking,
    mut told: impl FnMut(&Match, &MatchFrame),
) -> Played {
    let mut machine = machine.without_rows();
    let memory: Vec<Memory> = agents.iter().map(|_| Memory::default()).collect();
    let mut now = 0;
    let mut failure = None;
    agents.iter().for_each(|agent| agent.enter());
    let mut due = VecDeque::from(machine.on(now, Input::Start));
    while let Some(output) = due.pop_front() {
        let seat = match output {
            Output::Ask(seat) => seat,
            Output::Frame { frame, .. } => {
                told(&machine, &frame);
                continue;
            }
            _ => continue,
        };
        let agent = agents[seat];
        // The records of agents that answer alike every time are the same everywhere, so no time is taken.
        if !agent.reproducible() {
            machine.asked(now, seat);
        }
        let Some(ask) = machine.ask(seat, agent) else { continue };
        let place = asking.turns.filter(|_| !agent.waits()).map(Turns::take);
        let (turn, begun) = (ask.turn, Instant::now());
        let answer = match ask.legal[..] {
            [only] if asking.skip_forced => Ok(Answer::id(only)),
            _ => {
                let journal: &dyn Journal = asking.journals.map_or(&memory[seat], |journals| journals.of(seat));
                let ask = ask.with_journal(journal);
                let limit = asking.limit.filter(|_| !agent.gathers());
                agent.act(&ask, limit.map(|limit| begun + limit))
            }
        };
        drop(place);
        if !agent.reproducible() {
            now += begun.elapsed().as_millis() as u64 + asking.journals.map_or(0, |journals| journals.spared(seat));
        }
        if asking.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            due.extend(machine.on(now, Input::Abort(Reason::Aborted)));
            continue;
        }
        let mut did = Did::from(answer);
        if let Did::Failed { reason, message } = &mut did {
            if *reason == Reason::Timeout && asking.late_is_infra {
                *reason = Reason::InfraError;
            }
            failure = Some(message.clone());
        }
        due.extend(machine.on(now, Input::Agent { seat, turn, did }));
    }
    if !machine.over() {
        // Nobody is asked and it is not over: no rule leads here, and a record must say so.
        machine.on(now, Input::Abort(Reason::InfraError));
    }
    agents.iter().for_each(|agent| agent.leave());
    let record = machine.into_record().unwrap_or_default();
    let failure = failure.or_else(|| illegal_move(&record));
    Played { record, failure }
}

/// The agent, whose failures and illegal moves are faults of the infrastructure: an opponent that belongs to the test, not to
/// those who are tested.
pub fn blameless(agent: Arc<dyn Agent>) -> Arc<dyn Agent> {
    Arc::new(wrap(agent, |agent: &dyn Agent, ask: &Ask<'_>, deadline| {
        let answer = agent.act(ask, deadline).and_then(|answer| lawful(ask, answer));
        answer.map_err(|error| AgentError { kind: ErrorKind::Infrastructure, ..error })
    }))
}

/// The agent, which is not asked where it has one legal action.
pub fn skipping_forced(agent: Arc<dyn Agent>) -> Arc<dyn Agent> {
    Arc::new(wrap(agent, |agent: &dyn Agent, ask: &Ask<'_>, deadline| match ask.legal[..] {
        [only] => Ok(Answer::id(only)),
        _ => agent.act(ask, deadline),
    }))
}

/// The answer, if its move can be made.
fn lawful(ask: &Ask, answer: Answer) -> Result<Answer, AgentError> {
    let legal = match &answer.mv {
        Some(Move::Id(id)) => Action::try_from(*id).is_ok_and(|a| ask.legal.contains(&a)),
        Some(other) => ask.view().world(&mut ask.stream()).read(ask.seat, other).is_ok(),
        None => true,
    };
    if legal { Ok(answer) } else { Err(AgentError::failed(format!("it made an illegal move: {:?}", answer.mv))) }
}

/// The move that ended the match against the seat that made it.
fn illegal_move(record: &Record) -> Option<String> {
    let at_fault = record.footer.at_fault.filter(|_| record.footer.reason == Some(Reason::Illegal))?;
    let tries = record.events.iter().rev().find_map(|event| match event {
        RecordEvent::Move(m) if m.seat == at_fault => Some(&m.tries),
        _ => None,
    });
    let last = tries?.last()?;
    let text = match (last.action, &last.text, &last.proposal) {
        (Some(id), ..) => id.to_string(),
        (_, Some(text), _) => format!("{text:?}"),
        (_, _, Some(document)) => document.to_string(),
        _ => return None,
    };
    Some(format!("an illegal move: {text}"))
}
