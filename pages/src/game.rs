//! The page of a game: rules, levels, ratings, and matches.
#![allow(missing_docs, reason = "the other names are self-explanatory")]

use ludex_protocol::spec::{Anchor, Dynamics, Information};
use serde::Serialize;

use super::match_list::ListedMatch;
use super::ratings::RatingTable;

/// Page of a game.
#[derive(Clone, Debug, Serialize)]
pub struct GamePage {
    /// Id of the game.
    pub id: String,
    /// Display name of the game.
    pub title: String,
    /// Least and greatest number of players.
    pub players: [u32; 2],
    /// Perfect or imperfect information.
    pub information: Information,
    pub dynamics: Dynamics,
    /// Agents of the game's levels.
    pub anchors: Vec<Anchor>,
    /// True if the visitor may see ratings and matches.
    pub open: bool,
    /// Ratings by scale; `None` while the ratings are being computed.
    pub ratings: Option<Vec<RatingTable>>,
    pub live: Vec<ListedMatch>,
    pub recent: Vec<ListedMatch>,
    /// Rules as HTML; see [`rules`](super::text::rules).
    pub rules: String,
}
