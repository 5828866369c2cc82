//! Prompts for clients that call language models, and the reader of their answers.

use std::sync::Arc;

use ludex_agents::llm::Prompter;
use ludex_env::draw::Key;
use ludex_env::recording::submitted_move;
use ludex_env::{Action, AgentKey, DynState, MoveRequest, ObservedMove, PriorAttempt, Seat};
use ludex_protocol::Move;
use ludex_protocol::call::ChatMessage;
use ludex_protocol::error::{ErrorCode, Refusal};
use ludex_protocol::message::{ReadAnswer, Verdict};
use ludex_protocol::record::{Notes, RecordEvent, RefusedMove};

use super::interface::MatchSetup;
use super::seat_history::SeatHistory;

/// Key of requests for prompts and answers, which do not depend on it.
const KEY: Key = [0; 32];

/// Field of the notes that has a model's answer.
const ANSWER: &str = "answer";

/// Turn of a match, as a prompt describes it.
pub(super) struct PromptedTurn<'m> {
    pub(super) setup: &'m MatchSetup,
    /// Position of the turn.
    pub(super) state: &'m dyn DynState,
    /// Events before the turn.
    pub(super) events: &'m [RecordEvent],
    pub(super) seat: Seat,
    pub(super) turn: u32,
    /// Refused attempts of the turn.
    pub(super) tries: &'m [RefusedMove],
}

impl PromptedTurn<'_> {
    /// Returns the messages of the prompt.
    ///
    /// # Errors
    /// `internal` if the prompt cannot be rendered.
    pub(super) fn messages(&self) -> Result<Vec<ChatMessage>, Refusal> {
        self.with_request(|prompter, request| prompter.messages(request).map_err(|e| failed(&e.message)))
    }

    /// Reads an answer as the next attempt of the turn: the move, or the input that the rules refuse.
    ///
    /// # Errors
    /// `internal` if the prompts of the seat cannot be prepared.
    pub(super) fn read(&self, answer: &str) -> Result<Move, Refusal> {
        self.with_request(|prompter, request| Ok(prompter.read(request, answer).mv))
    }

    /// Returns the last refused attempt, which is an answer, as read.
    ///
    /// # Errors
    /// `internal` if the prompt cannot be rendered.
    pub(super) fn refused_answer(&self) -> Result<ReadAnswer, Refusal> {
        let words =
            self.with_request(|prompter, request| prompter.refusals(request).map_err(|e| failed(&e.message)))?;
        let last = self.tries.last();
        let is_empty =
            last.and_then(|tried| answer_of(tried.notes.as_ref())).is_some_and(|text| text.trim().is_empty());
        let verdict = match last.map(|tried| tried.code) {
            Some(ErrorCode::Unparsed) if is_empty => Verdict::Empty,
            Some(ErrorCode::Unparsed) => Verdict::Unparsed,
            _ => Verdict::Illegal,
        };
        let issues = last.map(|tried| tried.issues.clone()).filter(|issues| !issues.is_empty());
        Ok(ReadAnswer { verdict, message: Some(words), issues, ..ReadAnswer::default() })
    }

    fn with_request<T>(
        &self,
        run: impl FnOnce(&Prompter, &MoveRequest<'_>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let prompter =
            self.setup.seats[self.seat].prompts.prompter(&self.setup.game).map_err(|e| failed(&e.message))?;
        let legal: Vec<Action> = self.state.legal_list(self.seat);
        let attempts: Vec<PriorAttempt> = self.tries.iter().map(|tried| self.attempt(tried)).collect();
        let past = if prompter.needs_history() { self.past() } else { Arc::default() };
        let request = MoveRequest::on_state(self.state, self.seat, self.turn, &legal, AgentKey::Own(&KEY));
        run(&prompter, &request.with_history(&past).with_attempts(&attempts))
    }

    fn attempt(&self, tried: &RefusedMove) -> PriorAttempt {
        let given = submitted_move(tried);
        let why = given.as_ref().and_then(|mv| self.state.parse_move(self.seat, mv).err());
        PriorAttempt { given, why: why.map_or_else(String::new, |why| why.message), issues: tried.issues.clone() }
    }

    fn past(&self) -> Arc<Vec<ObservedMove>> {
        let mut history = SeatHistory::new(&*self.setup.game);
        history.grow(self.seat, self.events);
        history.past
    }
}

/// Adds an answer to the notes of its move.
pub(super) fn with_answer(notes: Option<Notes>, answer: String) -> Notes {
    let mut notes = notes.unwrap_or_default();
    notes.more.insert(ANSWER.to_owned(), answer.into());
    notes
}

/// Returns the answer in the notes of a move.
pub(super) fn answer_of(notes: Option<&Notes>) -> Option<&str> {
    notes?.more.get(ANSWER)?.as_str()
}

fn failed(why: &str) -> Refusal {
    tracing::error!(error = why, "prompt rendering failed");
    Refusal::new(ErrorCode::Internal, "prompt could not be rendered; see the server log")
}
