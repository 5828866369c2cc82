//! Marks that metrics use, teams of seats, and queries about the rules.

use ludex_protocol::error::Issue;
use ludex_protocol::record::RefusedMove;
use serde_json::Value;

use super::{Game, Marks, ParsedMove, Seat};

/// Marks that metrics use, teams of seats, and queries about the rules.
pub trait GameMarks: Game {
    /// Emits the marks of one step from `before` to `after`, in which the seats played `joint`. Called only for steps
    /// of records. Every mark must be declared in [`GameInfo::marks`](super::GameInfo::marks). Default: none.
    fn marks(&self, _before: &Self::State, _joint: &[Option<ParsedMove>], _after: &Self::State, _out: &mut Marks) {}
    /// Emits marks for the refused attempts `_tries` of `seat` in state `s`; `_tries` is usually empty. The conditions
    /// of [`marks`](GameMarks::marks) apply. Default: none.
    fn refusal_marks(&self, _s: &Self::State, _seat: Seat, _tries: &[RefusedMove], _out: &mut Marks) {}
    /// Returns the team number of each seat in a finished episode. Seats of one team cooperate and are not compared
    /// with each other. `None`: every seat is its own team. Default: `None`.
    fn teams(&self, _s: &Self::State) -> Option<Vec<usize>> {
        None
    }
    /// Answers a query of `ludex analyze` about the rules, such as the winner of a showdown. The game's page documents
    /// the queries. Default: refuses every query.
    ///
    /// # Errors
    /// Fails with an issue that contains the path of the invalid value in the query.
    fn analyze(&self, _question: &Value) -> Result<Value, Issue> {
        let message = format!("{} does not support queries about its rules", Self::INFO.id);
        Err(Issue { message, ..Issue::default() })
    }
}
