//! What a player is asked and what it answers.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ludex_protocol::Move;
use ludex_protocol::client::Act;
use ludex_protocol::record::Notes;
use ludex_protocol::server::{Event, Legal, MatchEnd, MatchStart, Refused, Resync, SeatView};
use serde_json::Value;

/// Why a handler has no move.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A turn: everything that the server says about it.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The match, as it began: game, parameters, own seat, who else plays, clock.
    pub start: Arc<MatchStart>,
    /// This seat's own turns, from 0.
    pub turn: u32,
    /// Refusals within the turn so far.
    pub attempt: u32,
    /// The legal actions; empty in phases of proposals.
    pub legal: Legal,
    /// The text of each legal action, in the same order (view `texts`).
    pub names: Option<Vec<String>>,
    /// What the seat sees.
    pub view: SeatView,
    /// Which of the spec's `proposals` is wanted.
    pub phase: Option<String>,
    /// After this much of the turn the seat has lost on time; absent: no clock.
    pub budget: Option<Duration>,
    /// Milliseconds in the bank of every seat.
    pub bank_ms: Vec<u64>,
    /// When the turn came.
    pub since: Instant,
    /// Why the last attempt of this turn was refused.
    pub refusal: Option<Box<Refused>>,
}

impl Ask {
    /// Own seat.
    pub fn seat(&self) -> u32 {
        self.start.seat.unwrap_or(0)
    }

    /// When the seat has lost on time, as far as this side of the wire can tell.
    pub fn deadline(&self) -> Option<Instant> {
        self.since.checked_add(self.budget?)
    }

    /// The text of a legal action.
    pub fn name(&self, id: u32) -> Option<&str> {
        let at = self.legal.iter().take_while(|&legal| legal <= id).zip(0..).find(|&(legal, _)| legal == id)?.1;
        self.names.as_ref()?.get::<usize>(at).map(String::as_str)
    }
}

/// A move, and what is said beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The move; `None` gives the match up.
    pub mv: Option<Move>,
    /// Kept in the record; `say` is told to the others.
    pub notes: Option<Notes>,
}

impl Answer {
    /// A legal action.
    pub fn action(id: u32) -> Self {
        Answer { mv: Some(Move::Id(id.into())), notes: None }
    }

    /// The move in any notation that the game knows.
    pub fn text(text: impl Into<String>) -> Self {
        Answer { mv: Some(Move::Text(text.into())), notes: None }
    }

    /// A document.
    pub fn proposal(document: Value) -> Self {
        Answer { mv: Some(Move::Document(document)), notes: None }
    }

    /// Gives the match up.
    pub fn resign() -> Self {
        Answer { mv: None, notes: None }
    }

    /// Adds notes.
    pub fn noting(mut self, notes: Notes) -> Self {
        self.notes = Some(notes);
        self
    }

    /// The act that carries it; `None` resigns.
    pub(crate) fn act(self, match_id: &str, (turn, attempt): (u32, u32)) -> Option<Act> {
        let mut act = Act { match_id: match_id.to_owned(), turn, attempt, notes: self.notes, ..Act::default() };
        match self.mv? {
            Move::Id(id) => act.action = Some(id),
            Move::Text(text) => act.text = Some(text),
            Move::Document(document) => act.proposal = Some(document),
        }
        Some(act)
    }
}

/// A match that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// How it began.
    pub start: Arc<MatchStart>,
    /// How it ended; absent when the server forgot it before it could tell.
    pub end: Option<Box<MatchEnd>>,
}

impl Played {
    /// What it returned to this seat.
    pub fn own_return(&self) -> Option<f64> {
        self.end.as_ref()?.returns.get(self.start.seat? as usize).copied()
    }
}

/// Who plays. A closure from [`Ask`] to a future of an [`Answer`] is one; implement the trait to hear more.
///
/// Turns of different matches are asked at the same time, each in a task of its own. What computes for long belongs on
/// a thread (`tokio::task::spawn_blocking`).
pub trait Handler: Send + Sync + 'static {
    /// The move for a turn. After a refusal the same turn is asked again, with the reason.
    ///
    /// # Errors
    /// What keeps the agent from playing on: all its matches are resigned and [`Player::run`](crate::Player::run) fails.
    fn turn(&self, ask: Ask) -> impl Future<Output = Result<Answer, Failure>> + Send;

    /// A match begins.
    fn started(&self, _start: &Arc<MatchStart>) {}

    /// Something happened in a match.
    fn event(&self, _event: &Event) {}

    /// Everything about a match again: forget what the events said.
    fn resync(&self, _resync: &Resync) {}

    /// A match is over.
    fn ended(&self, _played: &Played) {}
}

impl<F, A> Handler for F
where
    F: Fn(Ask) -> A + Send + Sync + 'static,
    A: Future<Output = Result<Answer, Failure>> + Send,
{
    fn turn(&self, ask: Ask) -> impl Future<Output = Result<Answer, Failure>> + Send {
        self(ask)
    }
}
