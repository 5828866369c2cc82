//! The front page: the games as pictures, the running matches, and how to connect.
#![allow(missing_docs, reason = "the other names are self-explanatory")]

use ludex_protocol::spec::{ChanceMode, Dynamics, Information};
use serde::Serialize;

use super::match_list::ListedMatch;

/// Front page of a server.
#[derive(Clone, Debug, Serialize)]
pub struct HomePage {
    pub games: Vec<GameCard>,
    pub running: Vec<ListedMatch>,
    /// Address that agents connect to, such as `ws://127.0.0.1:7878`.
    pub address: String,
    /// True if the visitor may see matches.
    pub open: bool,
}

/// Game on the front page.
#[derive(Clone, Debug, Serialize)]
pub struct GameCard {
    /// Id of the game.
    pub id: String,
    /// Display name of the game.
    pub title: String,
    /// Least and greatest number of players.
    pub players: [u32; 2],
    pub chance: ChanceMode,
    /// Perfect or imperfect information.
    pub information: Information,
    pub dynamics: Dynamics,
    /// Number of running matches, if any.
    pub live: Option<usize>,
    /// Material of the game, such as cards.
    pub material: Option<&'static str>,
}
