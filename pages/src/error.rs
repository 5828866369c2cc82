//! Errors, with links to related pages.
#![allow(missing_docs, reason = "the other names are self-explanatory")]

use serde::Serialize;

/// Error page, displayed instead of the requested page.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "error", rename_all = "snake_case")]
pub enum ErrorPage {
    /// Failure of the server.
    Failed,
    /// Match that is hidden until its season ends.
    InSeason {
        /// Id of the match.
        id: String,
    },
    /// Match of a run that has not ended.
    InOpenRun {
        /// Id of the match.
        id: String,
    },
    /// Address with invalid game parameters.
    Refused { why: String },
    /// Address of an item that does not exist.
    Missing {
        /// Kind of the item, such as `match`.
        what: String,
        /// Name of the item.
        id: String,
        /// Address of the page that lists all items of this kind.
        list: String,
        nearest: Option<String>,
    },
}
