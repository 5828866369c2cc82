//! Move requests to an agent in a match, and the agent's replies.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ludex_protocol::Move;
use ludex_protocol::message::{Act, ActRefused, Legal, MatchEnd, MatchEvent, MatchStart, Progress, Resync, SeatView};
use ludex_protocol::record::Notes;
use serde_json::Value;

/// The reason why a handler could not return a move.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A request for a move, with everything that the server sent about the turn.
#[derive(Clone, Debug)]
pub struct TurnRequest {
    /// Start of the match: game, parameters, own seat, the other agents, clock.
    pub start: Arc<MatchStart>,
    /// Number of this turn among the seat's own turns, from 0.
    pub turn: u32,
    /// Number of refused moves in this turn.
    pub attempt: u32,
    /// Legal actions of the seat.
    pub legal: Legal,
    /// The text of each legal action, in the same order (view `texts`).
    pub names: Option<Vec<String>>,
    /// View of the seat.
    pub view: SeatView,
    /// The phase, in games that have several.
    pub phase: Option<String>,
    /// Key of the spec's `proposals` that a document of this turn must fit; absent: no documents are accepted.
    pub schema: Option<String>,
    /// Time after which the seat loses, from the start of the turn; absent: no clock.
    pub budget: Option<Duration>,
    /// Time bank of every seat, in milliseconds.
    pub bank_ms: Vec<u64>,
    /// Arrival of the turn.
    pub since: Instant,
    /// Refusal of the last attempt of this turn.
    pub refusal: Option<Box<ActRefused>>,
}

impl TurnRequest {
    /// Returns the agent's own seat.
    pub fn seat(&self) -> u32 {
        self.start.seat.unwrap_or(0)
    }

    /// Returns the time at which the seat loses, measured on the client's side.
    pub fn deadline(&self) -> Option<Instant> {
        self.since.checked_add(self.budget?)
    }

    /// Returns the text of a legal action.
    pub fn name(&self, id: u32) -> Option<&str> {
        let at = self.legal.iter().take_while(|&legal| legal <= id).zip(0..).find(|&(legal, _)| legal == id)?.1;
        self.names.as_ref()?.get::<usize>(at).map(String::as_str)
    }
}

/// A move and its notes.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnReply {
    /// The move; `None` resigns the match.
    pub mv: Option<Move>,
    /// Notes for the record; the other seats receive `say`.
    pub notes: Option<Notes>,
}

impl TurnReply {
    /// Creates a reply with a legal action.
    pub fn action(id: impl Into<i64>) -> Self {
        TurnReply { mv: Some(Move::Id(id.into())), notes: None }
    }

    /// Creates a reply with a move in any notation of the game.
    pub fn text(text: impl Into<String>) -> Self {
        TurnReply { mv: Some(Move::Text(text.into())), notes: None }
    }

    /// Creates a reply with a document.
    pub fn proposal(document: Value) -> Self {
        TurnReply { mv: Some(Move::Document(document)), notes: None }
    }

    /// Creates a reply that resigns the match.
    pub fn resign() -> Self {
        TurnReply { mv: None, notes: None }
    }

    /// Adds notes for the record.
    pub fn with_notes(mut self, notes: Notes) -> Self {
        self.notes = Some(notes);
        self
    }

    /// Returns the message of this reply; `None` resigns.
    pub(crate) fn into_act(self, match_id: &str, (turn, attempt): (u32, u32)) -> Option<Act> {
        let mut act = Act { match_id: match_id.to_owned(), turn, attempt, notes: self.notes, ..Act::default() };
        match self.mv? {
            Move::Id(id) => act.action = Some(id),
            Move::Text(text) => act.text = Some(text),
            Move::Document(document) => act.proposal = Some(document),
        }
        Some(act)
    }
}

/// Start and end of a finished match.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchResult {
    /// Start of the match.
    pub start: Arc<MatchStart>,
    /// End of the match; absent if the server forgot the match before it could report the end.
    pub end: Option<Box<MatchEnd>>,
}

impl MatchResult {
    /// Returns the return of the agent's seat.
    pub fn own_return(&self) -> Option<f64> {
        self.end.as_ref()?.returns.get(self.start.seat? as usize).copied()
    }
}

/// An agent that plays matches. A closure from [`TurnRequest`] to a future of a [`TurnReply`] is a handler. Implement the
/// trait to receive the other events too.
///
/// Each turn is handled in its own task, and turns of different matches at the same time. Move long computations to a
/// thread (`tokio::task::spawn_blocking`).
pub trait Handler: Send + Sync + 'static {
    /// Returns the move for a turn. If the move is refused, the same turn is requested again, with the reason.
    ///
    /// # Errors
    /// Any failure that prevents the agent from playing: the player resigns all its matches, and
    /// [`Player::run`](crate::Player::run) fails.
    fn turn(&self, request: TurnRequest) -> impl Future<Output = Result<TurnReply, Failure>> + Send;

    /// Called when a match starts.
    fn started(&self, _start: &Arc<MatchStart>) {}

    /// Called when something happened in a match.
    fn event(&self, _event: &MatchEvent) {}

    /// Called with the complete state of a match, which replaces all earlier events.
    fn resync(&self, _resync: &Resync) {}

    /// Called when a match has ended.
    fn ended(&self, _played: &MatchResult) {}

    /// Called when a match of a run is done.
    fn progress(&self, _progress: &Progress) {}
}

impl<F, A> Handler for F
where
    F: Fn(TurnRequest) -> A + Send + Sync + 'static,
    A: Future<Output = Result<TurnReply, Failure>> + Send,
{
    fn turn(&self, request: TurnRequest) -> impl Future<Output = Result<TurnReply, Failure>> + Send {
        self(request)
    }
}

/// A [`Handler`] of any type, so that the player is compiled once and not per handler.
pub(crate) trait DynHandler: Send + Sync {
    fn turn(&self, request: TurnRequest) -> Pin<Box<dyn Future<Output = Result<TurnReply, Failure>> + Send + '_>>;
    fn started(&self, start: &Arc<MatchStart>);
    fn event(&self, event: &MatchEvent);
    fn resync(&self, resync: &Resync);
    fn ended(&self, played: &MatchResult);
    fn progress(&self, progress: &Progress);
}

impl<H: Handler> DynHandler for H {
    fn turn(&self, request: TurnRequest) -> Pin<Box<dyn Future<Output = Result<TurnReply, Failure>> + Send + '_>> {
        Box::pin(Handler::turn(self, request))
    }

    fn started(&self, start: &Arc<MatchStart>) {
        Handler::started(self, start);
    }

    fn event(&self, event: &MatchEvent) {
        Handler::event(self, event);
    }

    fn resync(&self, resync: &Resync) {
        Handler::resync(self, resync);
    }

    fn ended(&self, played: &MatchResult) {
        Handler::ended(self, played);
    }

    fn progress(&self, progress: &Progress) {
        Handler::progress(self, progress);
    }
}

impl fmt::Debug for dyn DynHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handler")
    }
}
