//! Answers of a client that the host keeps and plays again: see [`answer_cache`](crate::runs::answer_cache).

use ludex_env::{DynState, ParsedMove, Seat, Viewer};
use ludex_protocol::Move;
use ludex_protocol::record::Notes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Answers of a client to the questions of earlier matches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KnownAnswers {
    /// Game phases in which the client is asked each question once per run.
    pub phases: Vec<String>,
    pub answers: Vec<KnownAnswer>,
}

/// Answer to a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownAnswer {
    /// Hex SHA-256 of the view, as JSON, and of no refused attempts.
    pub asked: String,
    pub mv: Move,
    /// Notes of the move, which name the episode of the answer.
    pub notes: Notes,
}

impl KnownAnswers {
    /// Returns true if no answers are kept in any phase.
    pub fn is_empty(&self) -> bool {
        self.phases.is_empty()
    }

    /// Returns the move that the client chose when it was asked about the position before, and the notes of the move.
    pub(super) fn recall(&self, state: &dyn DynState, seat: Seat) -> Option<(ParsedMove, &Notes)> {
        let phase = state.phase().filter(|_| !self.answers.is_empty())?;
        self.phases.iter().find(|cached| *cached == phase)?;
        let asked = question_digest(&state.view(Viewer::Seat(seat)).value(), &[]);
        let known = self.answers.iter().find(|known| known.asked == asked)?;
        Some((state.parse_move(seat, &known.mv).ok()?, &known.notes))
    }
}

/// Returns a digest of a move request: the view, and the refused attempts of the turn, each with the reason.
pub(crate) fn question_digest(view: &Value, refused: &[Value]) -> String {
    hex::encode(Sha256::digest(json!([view, refused]).to_string()))
}
