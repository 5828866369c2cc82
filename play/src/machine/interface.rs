//! Inputs, outputs and setup of a match machine.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use ludex_agents::{AgentError, ErrorKind, MoveReply};
use ludex_env::draw::Key;
use ludex_env::recording::seed_commit;
use ludex_env::{AgentKey, DynState, GameRef, MoveRequest, ObservedMove, PriorAttempt, Seat};
use ludex_protocol::Move;
use ludex_protocol::message::{Act, MatchView};
use ludex_protocol::message::{ActRefused, MatchFrame, ServerMessage};
use ludex_protocol::record::{EndReason, Header, MoveRecord, Notes, Record, RefusedMove};
use ludex_protocol::spec::Information;
use ludex_referee::suite::starts::Excerpt;

use super::known_answers::KnownAnswers;
pub use super::seat_prompts::SeatPrompts;
use super::watcher::Watcher;

/// Settings of a match, fixed before the first move.
#[derive(Clone)]
pub struct MatchSetup {
    pub game: GameRef,
    /// Header of the record: id, game, seats, clock, policy for illegal moves, seed commitment, number of start moves.
    pub header: Header,
    pub seats: Vec<SeatSetup>,
    /// True if a seat's only legal action is played without a request. Applies only to games with perfect information.
    pub skip_forced: bool,
    pub seed: u64,
    /// Salt of the seed commitment.
    pub salt: [u8; 16],
    /// True if seed, salt and digest may be published at the end of the match: no other running match uses the seed.
    pub release: bool,
    /// Milliseconds for which a seat's client may be disconnected in the whole match; `None`: without limit. The seat's
    /// clock is paused meanwhile.
    pub grace_ms: Option<u64>,
    /// True if the match follows another of its pair. Its clients are bound to play it, so one that is absent from the
    /// start loses it.
    pub follows: bool,
    /// Seat that loses the match before it begins: the match was due, and its player may not or does not play it.
    pub forfeit: Option<Seat>,
    /// Name of the run that the match belongs to; only copied to the record.
    pub run: Option<String>,
    /// Id of the pair that the match belongs to; only copied to the record.
    pub pair: Option<String>,
    /// Return of each seat in the mirror match on the same seed; empty without a mirror match. Only copied to the
    /// record.
    pub mirror: Vec<f64>,
    /// Part of the game to play.
    pub excerpt: Excerpt,
    /// Number of restarts after a crash.
    pub restarts: u32,
}

impl MatchSetup {
    /// Creates the setup of a complete match between in-process agents. Adds a seed commitment if the header has none.
    pub fn new(game: GameRef, mut header: Header, seed: u64, salt: [u8; 16]) -> Self {
        header.seed_commit.get_or_insert_with(|| seed_commit(&salt, seed));
        MatchSetup {
            game,
            seats: vec![SeatSetup::default(); header.seats.len()],
            header,
            skip_forced: false,
            seed,
            salt,
            release: true,
            grace_ms: Some(0),
            follows: false,
            forfeit: None,
            run: None,
            pair: None,
            mirror: Vec::new(),
            excerpt: Excerpt::default(),
            restarts: 0,
        }
    }

    /// Returns the joins that filled the seats, each once.
    pub fn joins(&self) -> BTreeSet<&str> {
        self.seats.iter().filter_map(|seat| seat.join.as_deref()).collect()
    }

    /// Returns true if the host plays an earlier answer of the client on `seat` without a request.
    pub(super) fn has_answer(&self, state: &dyn DynState, seat: Seat) -> bool {
        self.seats[seat].known.recall(state, seat).is_some()
    }

    /// Returns true if the host plays the only legal move of `seat` without a request.
    pub(super) fn skips(&self, state: &dyn DynState, seat: Seat) -> bool {
        let open = self.game.spec().information == Information::Perfect;
        self.skip_forced && open && state.legal_list(seat).len() == 1
    }
}

/// Settings of one seat.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SeatSetup {
    /// True for a client, false for an in-process agent.
    pub remote: bool,
    /// Views that are sent with the seat's turns.
    #[serde(default)]
    pub views: Vec<MatchView>,
    /// Prompts for a client that calls a language model.
    #[serde(default, skip_serializing_if = "SeatPrompts::is_default")]
    pub prompts: SeatPrompts,
    /// True to send tensors in OpenSpiel's layout.
    #[serde(default)]
    pub openspiel: bool,
    /// Id of the join request that filled the seat.
    #[serde(default)]
    pub join: Option<String>,
    /// Variant of the agent that plays the seat, in a run with variants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Earlier answers of the client, which the host plays again.
    #[serde(default, skip_serializing_if = "KnownAnswers::is_empty")]
    pub known: KnownAnswers,
}

/// Input to the match machine.
#[derive(Clone, Debug)]
pub enum Input {
    Start,
    /// Move submitted by a client.
    Act {
        seat: Seat,
        /// Id of the request.
        re: i64,
        act: Box<Act>,
    },
    /// Outcome of an in-process agent's turn.
    Agent {
        seat: Seat,
        /// Turn that the outcome belongs to; outcomes of turns that are not open are dropped.
        turn: u32,
        did: AgentOutcome,
    },
    /// Resignation by a client.
    Resign {
        seat: Seat,
        /// Id of the request.
        re: i64,
    },
    Online(Seat),
    Offline(Seat),
    /// Resignation by the host for a seat, because the seat's agent caused the run to end early.
    Withdrawn(Seat),
    /// Seat whose agent never connected.
    Absent(Seat),
    Tick,
    /// End of the match without a result.
    Abort(EndReason),
}

/// Outcome of an in-process agent's turn.
#[derive(Clone, Debug)]
pub enum AgentOutcome {
    Move {
        chosen: Move,
        /// Message and reasoning that accompany the move.
        notes: Option<Box<Notes>>,
    },
    Resign,
    Failed {
        /// Reason for the end of the match: `agent_error`, `timeout`, or `infra_error` (no seat is at fault).
        reason: EndReason,
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

/// Output of the match machine. Outputs must take effect in order.
#[derive(Clone, Debug)]
pub enum Output {
    /// Reply to a client's request.
    Reply {
        seat: Seat,
        /// Id of the request.
        re: i64,
        message: Box<ServerMessage>,
    },
    /// Numbered frame for one watcher.
    Frame {
        to: Watcher,
        frame: Box<MatchFrame>,
    },
    /// Row to persist. In rated matches, later outputs must wait until the row is durable.
    Persist(Box<LogRow>),
    /// Seat whose in-process agent must move: see [`MatchMachine::agent_request`](super::MatchMachine::agent_request).
    Ask(Seat),
    Over,
}

/// Row in the persisted log of a running match. The match is restored from these rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "row", rename_all = "snake_case")]
pub enum LogRow {
    Act(AcceptedMove),
    Refused {
        seat: Seat,
        tried: RefusedMove,
        /// Reply that the client received.
        answer: Box<ActRefused>,
    },
    /// Suspension of the match, until its client returns.
    Suspended {
        /// Milliseconds for which each seat's client was disconnected before.
        away_ms: Vec<u64>,
        /// Time of the suspension, in milliseconds since the Unix epoch.
        at_ms: i64,
    },
    /// Record of the ended match.
    End(Box<Record>),
}

/// Accepted move with the remaining bank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AcceptedMove {
    /// Move as recorded, without refused attempts and without the flag `more` of joint moves.
    #[serde(flatten)]
    pub record: MoveRecord,
    /// Number of refused attempts before the move in the same turn.
    #[serde(rename = "try")]
    pub attempt: u32,
    /// Remaining bank of the seat after the move.
    pub bank_ms: u64,
}

impl AcceptedMove {
    pub fn seat(&self) -> Seat {
        self.record.seat as Seat
    }
}

/// Move request to an in-process agent. The request owns its data, so it can be sent to another thread.
pub struct OwnedMoveRequest {
    pub seat: Seat,
    pub turn: u32,
    /// Milliseconds until the turn times out.
    pub left_ms: u64,
    pub legal: Vec<u32>,
    pub(super) state: Box<dyn DynState>,
    pub(super) key: Key,
    pub(super) peek: bool,
    pub(super) past: Option<Arc<Vec<ObservedMove>>>,
    pub(super) attempts: Vec<PriorAttempt>,
}

impl OwnedMoveRequest {
    /// Borrows the request as the [`MoveRequest`] that agents receive.
    pub fn ask(&self) -> MoveRequest<'_> {
        let ask = MoveRequest::on_state(&*self.state, self.seat, self.turn, &self.legal, AgentKey::Own(&self.key));
        let ask = ask.with_attempts(&self.attempts);
        let ask = if let Some(past) = &self.past { ask.with_history(past) } else { ask };
        if self.peek { ask.with_peek() } else { ask }
    }
}
