//! What a match machine is made of, takes and gives.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use ludex_agents::{AgentError, Answer, ErrorKind};
use ludex_env::{AgentKey, Ask, Attempt, Draw, DynState, GameRef, Given, Past, Seat};
use ludex_protocol::message::{Act, MatchFrame, MatchView, Refused, ServerMessage};
use ludex_protocol::record::{Header, Notes, Reason, Record, Try};

use super::frames::Watcher;

/// What is fixed before the first move.
pub struct Setup {
    /// The game.
    pub game: GameRef,
    /// The head of the record: id, game, seats, clock, policy, commitment.
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
    /// How long a seat is held for a lost connection.
    pub grace_ms: u64,
    /// Run and pair of the match, for the record alone.
    pub run: Option<String>,
    /// See `run`.
    pub pair: Option<String>,
    /// How often the match was brought back after a crash.
    pub restarts: u32,
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
    /// The move of an in-process agent.
    Answer {
        /// The seat.
        seat: Seat,
        /// Its turn.
        turn: u32,
        /// The move.
        given: Given,
        /// What it says beside it.
        notes: Option<Box<Notes>>,
    },
    /// An in-process agent cannot go on.
    Failed {
        /// The seat.
        seat: Seat,
        /// How the match ends: `agent_error`, `timeout`, or `infra_error` where it is nobody's fault.
        reason: Reason,
        /// Why.
        message: String,
    },
    /// A client gives up.
    Resign {
        /// The seat.
        seat: Seat,
        /// The request's id; an in-process agent has none.
        re: Option<i64>,
    },
    /// A client is connected.
    Online(Seat),
    /// A client's connection is lost.
    Offline(Seat),
    /// Time passed.
    Tick,
    /// The match ends without a verdict.
    Abort(Reason),
}

impl Input {
    /// What an in-process agent answered, or that it could not.
    pub fn of_agent(seat: Seat, turn: u32, answer: Result<Answer, AgentError>) -> Input {
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                let reason = match error.kind {
                    ErrorKind::Late => Reason::Timeout,
                    ErrorKind::Infrastructure => Reason::InfraError,
                    _ => Reason::AgentError,
                };
                return Input::Failed { seat, reason, message: error.to_string() };
            }
        };
        let Some(given) = answer.mv else { return Input::Resign { seat, re: None } };
        let notes = (!answer.notes.is_empty()).then(|| Box::new(answer.notes));
        Input::Answer { seat, turn, given, notes }
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
    Keep(Box<Kept>),
    /// An in-process agent is to move: see [`Match::question`](super::machine::Match::question).
    Ask(Seat),
    /// The match is over.
    Over,
}

/// A row of the log of a running match; enough to bring it back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "row", rename_all = "snake_case")]
pub enum Kept {
    /// A move that counts.
    Act(KeptAct),
    /// A move that was refused.
    Refused {
        /// The seat.
        seat: Seat,
        /// What was tried.
        tried: Try,
        /// What was answered.
        answer: Box<Refused>,
    },
    /// The end.
    End(Box<Record>),
}

/// A move that counts, with the clock after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptAct {
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

/// A question to an in-process agent; owns all that it needs, so that it can be answered elsewhere.
pub struct Question {
    /// The seat.
    pub seat: Seat,
    /// Its turn.
    pub turn: u32,
    /// Legal actions.
    pub legal: Vec<u32>,
    pub(super) state: Box<dyn DynState>,
    pub(super) draw: Draw,
    pub(super) peek: bool,
    pub(super) past: Vec<Past>,
    pub(super) attempts: Vec<Attempt>,
}

impl Question {
    /// The question as agents take it.
    pub fn ask(&self) -> Ask<'_> {
        let ask = Ask::on_state(&*self.state, self.seat, self.turn, &self.legal, AgentKey::Episode(&self.draw));
        let ask = ask.with_past(&self.past).with_attempts(&self.attempts);
        if self.peek { ask.with_peek() } else { ask }
    }
}
