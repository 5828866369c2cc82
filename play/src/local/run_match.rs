//! Execution of a single match.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ludex_agents::{Agent, AgentError, ErrorKind, MoveReply, wrap};
use ludex_env::draw::{Key, key};
use ludex_env::recording::{hex_text, submitted_move};
use ludex_env::{Action, Budget, GameRef, Journal, MoveRequest};
use ludex_protocol::Move;
use ludex_protocol::message::MatchFrame;
use ludex_protocol::record::{EndReason, Header, IllegalMoveRules, Record, RecordEvent, RecordSeat};
use parking_lot::Mutex;
use serde_json::Value;

use super::compute_slots::Turns;
use super::participant::Participant;
use crate::header::header;
use crate::machine::interface::{AgentOutcome, Input, MatchSetup, Output};
use crate::machine::{MatchMachine, Watcher};

/// Match that has ended.
#[derive(Clone, Debug)]
pub struct PlayedMatch {
    /// Record with seed, salt and digest.
    pub record: Record,
    /// Reason for the failure, if an agent's failure ended the match.
    pub failure: Option<String>,
}

/// Returns the setup of a match without a clock between `players`, one per seat. `block` is the key of the match's
/// block ([`block_key`]), and `turn` is the position in the block. `pair` is absent for a match outside a block.
pub fn setup(
    game: &GameRef,
    players: &[&Participant],
    seed: u64,
    block: &Key,
    turn: usize,
    pair: Option<String>,
) -> MatchSetup {
    let seats = players.iter().map(|p| p.record_seat()).collect();
    let peeks = players.iter().any(|p| p.agent.needs_full_state());
    MatchSetup { pair, ..terms(game, seats, peeks, seed, block, turn) }
}

/// Returns the same setup as [`setup`], for agents known only by their seat entries in the record.
pub(super) fn terms(
    game: &GameRef,
    seats: Vec<RecordSeat>,
    peeks: bool,
    seed: u64,
    block: &Key,
    turn: usize,
) -> MatchSetup {
    let mut salt = [0; 16];
    salt.copy_from_slice(&block[16..]);
    let episode = format!("l_{}_{turn}", hex_text(&block[..8]));
    let illegal = IllegalMoveRules { tries: 1, ..IllegalMoveRules::default() };
    let header = Header { illegal, ..header(game.spec(), episode, &[("peek", peeks)], seats) };
    MatchSetup::new(game.clone(), header, seed, salt)
}

/// Returns the key of a block of matches on one seed: the SHA-256 of `ludex.v1:local:<game string>:<names,
/// sorted>:<seed>`. The name of an unnamed agent is its spec. Episode names and salts are derived from the key, so
/// they are equal on all machines.
pub fn block_key(game: &GameRef, players: &[&Participant], seed: u64) -> Key {
    block_of(game, players.iter().map(|p| p.name.clone()).collect(), seed)
}

/// Returns the block key for a list of names.
pub(super) fn block_of(game: &GameRef, mut names: Vec<String>, seed: u64) -> Key {
    names.sort();
    key(&format!("ludex.v1:local:{}:{}:{seed}", game.spec().string, names.join("|")))
}

/// Options for the host's move requests to agents.
#[derive(Clone, Copy, Default)]
pub struct HostOptions<'a> {
    /// Time limit per move. Agents that cannot be interrupted may exceed the limit. Batched agents
    /// ([`Agent::is_batched`]) have no limit.
    pub limit: Option<Duration>,
    /// Limit on the number of agents that compute at the same time, for many parallel matches.
    pub turns: Option<&'a Turns>,
    /// True to play a seat's only legal action without a request, even in games with hidden information: local agents
    /// cannot observe the timing.
    pub skip_forced: bool,
    /// True to count a timeout as an infrastructure failure.
    pub late_is_infra: bool,
    /// Journals of the external calls of each seat.
    pub journals: Option<&'a dyn Journals>,
    /// Flag that aborts the match before its next move; the record ends with `aborted`.
    pub stop: Option<&'a AtomicBool>,
}

/// Journals of an episode, one per seat.
pub trait Journals: Send + Sync {
    /// Returns the journal of a seat.
    fn of(&self, seat: usize) -> &dyn Journal;
    /// Returns the original duration, in milliseconds, of the calls that `seat` took from its journal since the last
    /// call of this method. The duration counts as time of the move.
    fn spared(&self, _seat: usize) -> u64 {
        0
    }
}

/// In-memory journal that lasts for one match. Agents with conversations look up their earlier calls in it.
#[derive(Default)]
struct Memory(Mutex<HashMap<String, Value>>);

impl Journal for Memory {
    fn find(&self, key: &str) -> Option<Value> {
        self.0.lock().get(key).cloned()
    }

    fn keep(&self, key: &str, entry: &Value) -> Result<(), String> {
        self.0.lock().insert(key.to_owned(), entry.clone());
        Ok(())
    }
}

/// Plays a match to its end, without frames for a watcher.
pub fn play_match(setup: MatchSetup, players: &[&Participant], asking: HostOptions) -> PlayedMatch {
    run(MatchMachine::new(setup, 0), &agents_of(players), asking, |_, _| {})
}

/// Plays a match to its end and calls `on_frame` with each frame for `watcher` as soon as the frame is built.
pub fn play_observed(
    setup: MatchSetup,
    players: &[&Participant],
    asking: HostOptions,
    watcher: Watcher,
    on_frame: impl FnMut(&MatchMachine, &MatchFrame),
) -> PlayedMatch {
    let mut machine = MatchMachine::new(setup, 0);
    machine.add_watcher(watcher);
    run(machine, &agents_of(players), asking, on_frame)
}

fn agents_of<'a>(players: &[&'a Participant]) -> Vec<&'a dyn Agent> {
    players.iter().map(|p| &*p.agent).collect()
}

pub(super) fn run(
    machine: MatchMachine,
    agents: &[&dyn Agent],
    asking: HostOptions,
    mut on_frame: impl FnMut(&MatchMachine, &MatchFrame),
) -> PlayedMatch {
    let mut machine = machine.without_rows();
    let memory: Vec<Memory> = agents.iter().map(|_| Memory::default()).collect();
    let mut now = 0;
    let mut failure = None;
    agents.iter().for_each(|agent| agent.enter());
    let mut due = VecDeque::from(machine.handle(now, Input::Start));
    while let Some(output) = due.pop_front() {
        let seat = match output {
            Output::Ask(seat) => seat,
            Output::Frame { frame, .. } => {
                on_frame(&machine, &frame);
                continue;
            }
            _ => continue,
        };
        let agent = agents[seat];
        // Reproducible agents are charged no time, so that records of their matches are equal on all machines.
        if !agent.reproducible() {
            machine.start_agent_clock(now, seat);
        }
        let Some(ask) = machine.ask(seat, agent) else { continue };
        let place = asking.turns.filter(|_| !agent.is_io_bound()).map(Turns::take);
        let (turn, begun) = (ask.turn, Instant::now());
        let answer = match ask.legal[..] {
            [only] if asking.skip_forced => Ok(MoveReply::id(only)),
            _ => {
                let journal: &dyn Journal = asking.journals.map_or(&memory[seat], |journals| journals.of(seat));
                let limit = asking.limit.filter(|_| !agent.is_batched());
                let budget = Budget::default().with_deadline(limit.map(|limit| begun + limit));
                agent.act(&ask.with_journal(journal).with_budget(budget))
            }
        };
        drop(place);
        if !agent.reproducible() {
            now += begun.elapsed().as_millis() as u64 + asking.journals.map_or(0, |journals| journals.spared(seat));
        }
        if asking.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            due.extend(machine.handle(now, Input::Abort(EndReason::Aborted)));
            continue;
        }
        let mut did = AgentOutcome::from(answer);
        if let AgentOutcome::Failed { reason, message } = &mut did {
            if *reason == EndReason::Timeout && asking.late_is_infra {
                *reason = EndReason::InfraError;
            }
            failure = Some(message.clone());
        }
        due.extend(machine.handle(now, Input::Agent { seat, turn, did }));
    }
    if !machine.is_over() {
        // No request is pending, but the match has not ended: a bug of the machine, recorded as `infra_error`.
        machine.handle(now, Input::Abort(EndReason::InfraError));
    }
    agents.iter().for_each(|agent| agent.leave());
    let record = machine.into_record().unwrap_or_default();
    let failure = failure.or_else(|| illegal_move(&record));
    PlayedMatch { record, failure }
}

/// Wraps an agent so that its failures and illegal moves count as infrastructure failures. Used for opponents that are
/// not themselves under test.
pub fn faults_as_infra(agent: Arc<dyn Agent>) -> Arc<dyn Agent> {
    Arc::new(wrap(agent, |agent: &dyn Agent, ask: &MoveRequest<'_>| {
        let answer = agent.act(ask).and_then(|answer| lawful(ask, answer));
        answer.map_err(|error| AgentError { kind: ErrorKind::Infrastructure, ..error })
    }))
}

/// Wraps an agent so that the agent receives no request for a move if only one action is legal; that action is played.
pub fn auto_play_forced(agent: Arc<dyn Agent>) -> Arc<dyn Agent> {
    Arc::new(wrap(agent, |agent: &dyn Agent, ask: &MoveRequest<'_>| match ask.legal[..] {
        [only] => Ok(MoveReply::id(only)),
        _ => agent.act(ask),
    }))
}

/// Returns `answer` if its move is legal, otherwise an error.
fn lawful(ask: &MoveRequest, answer: MoveReply) -> Result<MoveReply, AgentError> {
    let legal = match &answer.mv {
        Some(Move::Id(id)) => Action::try_from(*id).is_ok_and(|a| ask.legal.contains(&a)),
        Some(other) => ask.view().world(&mut ask.stream()).parse_move(ask.seat, other).is_ok(),
        None => true,
    };
    if legal { Ok(answer) } else { Err(AgentError::failed(format!("expected a legal move, got {:?}", answer.mv))) }
}

/// Describes the illegal move that ended the match; `None` if the match ended otherwise.
fn illegal_move(record: &Record) -> Option<String> {
    let at_fault = record.footer.at_fault.filter(|_| record.footer.reason == Some(EndReason::Illegal))?;
    let tries = record.events.iter().rev().find_map(|event| match event {
        RecordEvent::Move(m) if m.seat == at_fault => Some(&m.tries),
        _ => None,
    });
    let last = tries?.last()?;
    let text = match submitted_move(last)? {
        Move::Id(id) => id.to_string(),
        Move::Text(text) => format!("{text:?}"),
        Move::Document(document) => document.to_string(),
    };
    Some(format!("illegal move: {text}"))
}
