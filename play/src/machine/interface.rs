//! What a match machine is made of, takes and gives.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use ludex_agents::{AgentError, ErrorKind, MoveReply};
use ludex_env::draw::Key;
use ludex_env::{AgentKey, DynState, GameRef, MoveRequest, ObservedMove, ParsedMove, PriorAttempt, Seat};
use ludex_protocol::Move;
use ludex_protocol::message::{Act, MatchView};
use ludex_protocol::message::{ActRefused, MatchFrame, ServerMessage};
use ludex_protocol::record::{EndReason, Header, Notes, Record, RefusedMove};
use ludex_protocol::spec::Information;
use ludex_referee::suite::starts::Excerpt;

use super::watcher::Watcher;

/// What is fixed before the first move.
#[derive(Clone)]
pub struct MatchSetup {
    /// The game.
    pub game: GameRef,
    /// The head of the record: id, game, seats, clock, policy, commitment, length of the start.
    pub header: Header,
    /// One entry per seat.
    pub seats: Vec<SeatSetup>,
    /// Whether a seat with one legal action is not asked (perfect information only).
    pub skip_forced: bool,
    /// The seed.
    pub seed: u64,
    /// The salt of the commitment.
    pub salt: [u8; 16],
    /// Whether seed, salt and digest may be shown at the end: no other running match shares the seed.
    pub release: bool,
    /// How long a seat is held for a lost connection. `None`: until its client comes back; its clock stands still meanwhile.
    pub grace_ms: Option<u64>,
    /// Run and pair of the match, for the record alone.
    pub run: Option<String>,
    /// See `run`.
    pub pair: Option<String>,
    /// The returns of the mirror on the same seed, for the record alone; empty without one.
    pub mirror: Vec<f64>,
    /// The part of the game that is played.
    pub excerpt: Excerpt,
    /// How often the match was brought back after a crash.
    pub restarts: u32,
}

impl MatchSetup {
    /// Whether `seat`, which is to move alone, is not asked since it has no choice.
    pub(super) fn skips(&self, state: &dyn DynState, seat: Seat) -> bool {
        let open = self.game.spec().information == Information::Perfect;
        self.skip_forced && open && state.legal_list(seat).len() == 1
    }
}

/// A seat before the first move.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SeatSetup {
    /// Whether a client plays it (else an in-process agent).
    pub remote: bool,
    /// Views of its turns.
    #[serde(default)]
    pub views: Vec<MatchView>,
    /// Whether tensors have OpenSpiel's layout.
    #[serde(default)]
    pub openspiel: bool,
    /// The join that it came from.
    #[serde(default)]
    pub join: Option<String>,
}

/// What comes in.
#[derive(Clone, Debug)]
pub enum Input {
    /// Begin.
    Start,
    /// A client's move.
    Act {
        /// The seat.
        seat: Seat,
        /// The request's id.
        re: i64,
        /// The message.
        act: Box<Act>,
    },
    /// What an in-process agent did.
    Agent {
        /// The seat.
        seat: Seat,
        /// Its turn. What belongs to another turn than the open one is dropped.
        turn: u32,
        /// What it did.
        did: AgentOutcome,
    },
    /// A client gives up.
    Resign {
        /// The seat.
        seat: Seat,
        /// The request's id.
        re: i64,
    },
    /// A client is connected.
    Online(Seat),
    /// A client's connection is lost.
    Offline(Seat),
    /// The agent of a seat gives the match up without saying so itself.
    Withdrawn(Seat),
    /// The agent of a seat has not come.
    Absent(Seat),
    /// Time passed.
    Tick,
    /// The match ends without a verdict.
    Abort(EndReason),
}

/// What an in-process agent did in its turn.
#[derive(Clone, Debug)]
pub enum AgentOutcome {
    /// It moved.
    Move {
        /// The move.
        chosen: Move,
        /// What it says beside it.
        notes: Option<Box<Notes>>,
    },
    /// It gives up.
    Resign,
    /// It failed.
    Failed {
        /// How the match ends: `agent_error`, `timeout`, or `infra_error` where nobody is at fault.
        reason: EndReason,
        /// Why.
        message: String,
    },
}

impl From<Result<MoveReply, AgentError>> for AgentOutcome {
    fn from(answer: Result<MoveReply, AgentError>) -> Self {
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                let reason = match error.kind {
                    ErrorKind::Late => EndReason::Timeout,
                    ErrorKind::Infrastructure => EndReason::InfraError,
                    _ => EndReason::AgentError,
                };
                return AgentOutcome::Failed { reason, message: error.to_string() };
            }
        };
        let Some(chosen) = answer.mv else { return AgentOutcome::Resign };
        let notes = (!answer.notes.is_empty()).then(|| Box::new(answer.notes));
        AgentOutcome::Move { chosen, notes }
    }
}

/// What goes out, in order of effect.
#[derive(Clone, Debug)]
pub enum Output {
    /// An answer to one client.
    Reply {
        /// The seat.
        seat: Seat,
        /// The request's id.
        re: i64,
        /// The answer.
        message: Box<ServerMessage>,
    },
    /// An event of one watcher, numbered.
    Frame {
        /// Whose.
        to: Watcher,
        /// What.
        frame: Box<MatchFrame>,
    },
    /// A row to keep. In rated matches nothing after it is shown before it is durable.
    Persist(Box<LogRow>),
    /// An in-process agent is to move: see [`Match::question`](super::Match::question).
    Ask(Seat),
    /// The match is over.
    Over,
}

/// A row of the log of a running match; enough to bring it back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "row", rename_all = "snake_case")]
pub enum LogRow {
    /// A move that counts.
    Act(AcceptedMove),
    /// A move that was refused.
    Refused {
        /// The seat.
        seat: Seat,
        /// What was tried.
        tried: RefusedMove,
        /// What was answered.
        answer: Box<ActRefused>,
    },
    /// The end.
    End(Box<Record>),
}

/// A move that counts, with the clock after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AcceptedMove {
    /// The seat.
    pub seat: Seat,
    /// Its turn.
    pub turn: u32,
    /// The number of refusals before it.
    #[serde(rename = "try")]
    pub attempt: u32,
    /// The action, unless it was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<u32>,
    /// The canonical saying.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Value>,
    /// Time used.
    pub ms: u64,
    /// What was said beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<Notes>,
    /// Whether the policy for illegal moves played it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forced: bool,
    /// The seat's bank afterwards.
    pub bank_ms: u64,
}

impl AcceptedMove {
    /// The move as the game understood it.
    pub(super) fn parsed_move(&self) -> Option<ParsedMove> {
        let said = || self.said.clone().map(ParsedMove::Document);
        self.action.map(ParsedMove::Action).or_else(said)
    }
}

/// A question to an in-process agent; owns all that it needs, so that it can be answered elsewhere.
pub struct OwnedMoveRequest {
    /// The seat.
    pub seat: Seat,
    /// Its turn.
    pub turn: u32,
    /// Milliseconds until the machine ends the turn.
    pub left_ms: u64,
    /// Legal actions.
    pub legal: Vec<u32>,
    pub(super) state: Box<dyn DynState>,
    pub(super) key: Key,
    pub(super) peek: bool,
    pub(super) past: Option<Arc<Vec<ObservedMove>>>,
    pub(super) attempts: Vec<PriorAttempt>,
}

impl OwnedMoveRequest {
    /// The question as agents take it.
    pub fn ask(&self) -> MoveRequest<'_> {
        let ask = MoveRequest::on_state(&*self.state, self.seat, self.turn, &self.legal, AgentKey::Own(&self.key));
        let ask = ask.with_attempts(&self.attempts);
        let ask = if let Some(past) = &self.past { ask.with_history(past) } else { ask };
        if self.peek { ask.with_peek() } else { ask }
    }
}
