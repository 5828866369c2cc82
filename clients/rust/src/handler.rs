//! Move requests to agents, and the replies of agents.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ludex_protocol::Move;
use ludex_protocol::message::{
    Act, ActRefused, Enrolled, Legal, MatchEnd, MatchEvent, MatchStart, Progress, Resync, SeatView,
};
use ludex_protocol::record::Notes;
use serde_json::Value;

/// The error of a handler that could not return a move.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A request for a move, with all data that the server sent for the turn.
#[derive(Clone, Debug)]
pub struct TurnRequest {
    /// Start of the match: game, parameters, the agent's own seat, the other agents, clock.
    pub start: Arc<MatchStart>,
    /// Number of this turn among the turns of the agent's seat, from 0.
    pub turn: u32,
    /// Number of moves that were refused in this turn.
    pub attempt: u32,
    /// Legal actions of the seat.
    pub legal: Legal,
    /// Text of each legal action, in the order of `legal`. Present if the client requested the view `texts`.
    pub names: Option<Vec<String>>,
    /// View of the position for the agent's seat.
    pub view: SeatView,
    /// Phase of the game, in games with several phases.
    pub phase: Option<String>,
    /// Key in the spec's `document_schemas`: names the schema of the documents that this turn accepts. Absent: documents
    /// are not accepted.
    pub schema: Option<String>,
    /// Duration of the turn after which the seat loses on time; absent without a clock.
    pub budget: Option<Duration>,
    /// Time banks of all seats, in milliseconds.
    pub bank_ms: Vec<u64>,
    /// Time at which the turn arrived.
    pub since: Instant,
    /// Refusal of the previous attempt in this turn, if any.
    pub refusal: Option<Box<ActRefused>>,
}

impl TurnRequest {
    /// Returns the agent's own seat.
    pub fn seat(&self) -> u32 {
        self.start.seat.unwrap_or(0)
    }

    /// Returns the instant at which the seat loses on time: arrival of the turn plus its budget. `None`: no clock.
    pub fn deadline(&self) -> Option<Instant> {
        self.since.checked_add(self.budget?)
    }

    /// Returns the text of the legal action `id`.
    pub fn name(&self, id: u32) -> Option<&str> {
        let at = self.legal.iter().take_while(|&legal| legal <= id).zip(0..).find(|&(legal, _)| legal == id)?.1;
        self.names.as_ref()?.get::<usize>(at).map(String::as_str)
    }
}

/// A move with notes.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnReply {
    /// Move to play; without a move and an answer, the reply resigns the match.
    pub mv: Option<Move>,
    /// Answer of a language model, from which the server reads the move; replaces `mv`.
    pub answer: Option<String>,
    /// Notes for the record. The other seats receive the note `say`.
    pub notes: Option<Notes>,
}

impl TurnReply {
    /// Creates a reply that plays a legal action by id.
    pub fn action(id: impl Into<i64>) -> Self {
        TurnReply { mv: Some(Move::Id(id.into())), ..TurnReply::resign() }
    }

    /// Creates a reply that plays a move given as text, in any notation of the game.
    pub fn text(text: impl Into<String>) -> Self {
        TurnReply { mv: Some(Move::Text(text.into())), ..TurnReply::resign() }
    }

    /// Creates a reply that plays a document.
    pub fn document(document: Value) -> Self {
        TurnReply { mv: Some(Move::Document(document)), ..TurnReply::resign() }
    }

    /// Creates a reply with the answer of a language model as it wrote it. The server reads the move as it does for its
    /// own models.
    pub fn answer(answer: impl Into<String>) -> Self {
        TurnReply { answer: Some(answer.into()), ..TurnReply::resign() }
    }

    /// Creates a reply that resigns the match.
    pub fn resign() -> Self {
        TurnReply { mv: None, answer: None, notes: None }
    }

    /// Adds notes for the record.
    pub fn with_notes(mut self, notes: Notes) -> Self {
        self.notes = Some(notes);
        self
    }

    /// Returns the `act` message for this reply; `None` if the reply resigns.
    pub(crate) fn into_act(self, (match_id, seat): &(String, u32), (turn, attempt): (u32, u32)) -> Option<Act> {
        let mut act = Act { match_id: match_id.clone(), seat: Some(*seat), turn, attempt, ..Act::default() };
        act.notes = self.notes;
        act.answer = self.answer;
        if act.answer.is_some() {
            return Some(act);
        }
        match self.mv? {
            Move::Id(id) => act.action = Some(id),
            Move::Text(text) => act.text = Some(text),
            Move::Document(document) => act.document = Some(document),
        }
        Some(act)
    }
}

/// The start and the end of a finished match, for one seat of the agent.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchResult {
    /// Start of the match.
    pub start: Arc<MatchStart>,
    /// End of the match; absent if the server lost the match before sending the end.
    pub end: Option<Box<MatchEnd>>,
}

impl MatchResult {
    /// Returns the return (total score) of the agent's seat.
    pub fn own_return(&self) -> Option<f64> {
        self.end.as_ref()?.returns.get(self.start.seat? as usize).copied()
    }
}

/// An agent that plays matches. A closure from [`TurnRequest`] to a future of a [`TurnReply`] is a handler. To also
/// receive other events, implement this trait.
///
/// Each turn is handled in its own task, so turns of different matches may be handled concurrently. Run long
/// computations on a separate thread (`tokio::task::spawn_blocking`).
pub trait Handler: Send + Sync + 'static {
    /// Returns the move for a turn. If the move is refused, this method is called again for the turn, with the refusal.
    ///
    /// # Errors
    /// Return an error if the agent cannot play. The player then resigns all its matches, and
    /// [`Player::run`](crate::Player::run) fails.
    fn turn(&self, request: TurnRequest) -> impl Future<Output = Result<TurnReply, Failure>> + Send;

    /// Handles the start of a match.
    fn started(&self, _start: &Arc<MatchStart>) {}

    /// Handles an event of a match, such as a move.
    fn event(&self, _event: &MatchEvent) {}

    /// Handles the complete state of a match, which replaces all earlier events of the match.
    fn resync(&self, _resync: &Resync) {}

    /// Handles the end of a match.
    fn ended(&self, _played: &MatchResult) {}

    /// Handles the progress of a run, which is reported after each match.
    fn progress(&self, _progress: &Progress) {}

    /// Handles the reply to the enrollment in a run, which names the parts that the run leaves out.
    fn enrolled(&self, _enrolled: &Enrolled) {}
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

/// Object-safe form of [`Handler`], so that the player is compiled once and not per handler type.
pub(crate) trait DynHandler: Send + Sync {
    fn turn(&self, request: TurnRequest) -> Pin<Box<dyn Future<Output = Result<TurnReply, Failure>> + Send + '_>>;
    fn started(&self, start: &Arc<MatchStart>);
    fn event(&self, event: &MatchEvent);
    fn resync(&self, resync: &Resync);
    fn ended(&self, played: &MatchResult);
    fn progress(&self, progress: &Progress);
    fn enrolled(&self, enrolled: &Enrolled);
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

    fn enrolled(&self, enrolled: &Enrolled) {
        Handler::enrolled(self, enrolled);
    }
}

impl fmt::Debug for dyn DynHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handler")
    }
}
