//! Provenance of rows.

use ludex_env::Seat;
use ludex_protocol::record::Outcome;
use schemars::JsonSchema;
use serde::Serialize;

use super::splits::Split;

/// Source of a prompt and a reply that a model was sent and gave.
pub(super) const SENT: &str = "sent";
/// Source of a prompt and a reply that a client reports.
pub(super) const REPORTED: &str = "reported";
/// Source of a prompt, and of the reply if there is one, that were written from the record.
pub(super) const WRITTEN: &str = "written";

/// Provenance of a row.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct RowMetadata {
    /// name of the run
    pub(super) run: String,
    /// name of the match
    pub(super) episode: String,
    /// digest of the match's record, hex
    pub(super) digest: String,
    /// index of the seat's own turn, from 0
    pub(super) decision: u32,
    /// number of moves in the match before this decision
    pub(super) ply: u32,
    /// index of the seat, from 0
    pub(super) seat: Seat,
    /// agent on the seat
    pub(super) agent: String,
    /// game with its parameters
    pub(super) game: String,
    /// version of the rules
    pub(super) rules: u32,
    /// hash of the game's spec
    pub(super) hash: String,
    /// seed of the match, decimal
    pub(super) seed: String,
    /// outcome for the agent: win, loss, draw, none
    #[schemars(with = "Option<String>")]
    pub(super) outcome: Option<Outcome>,
    /// the agent's return in the match, in the game's points
    pub(super) r#return: f64,
    /// source of prompt and reply: sent (the calls of a model in the run), reported (by a client), or written (from the record)
    pub(super) source: &'static str,
    /// JSON: settings of a written prompt
    pub(super) prompt: Option<String>,
    /// version of the wording of the prompt
    pub(super) wording: u32,
    /// split of the row, a function of its seed
    #[serde(skip)]
    #[schemars(skip)]
    pub(super) split: Split,
    /// rule and moves of the pair
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub(super) pair: Option<PairNotes>,
}

impl RowMetadata {
    pub(super) fn with_pair(self, pair: PairNotes) -> RowMetadata {
        RowMetadata { pair: Some(pair), ..self }
    }
}

/// Reason why one reply is better than the other.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(super) struct PairNotes {
    /// rule of the pair: missed_win, missed_block (the mark of the worse move), search, or refused
    pub(super) rule: &'static str,
    /// better move, in the game's notation
    pub(super) chosen: Option<String>,
    /// worse move, in the game's notation; absent for a refused reply
    pub(super) rejected: Option<String>,
    /// mean return of the search after the better move
    pub(super) chosen_value: Option<f64>,
    /// mean return of the search after the worse move
    pub(super) rejected_value: Option<f64>,
}
