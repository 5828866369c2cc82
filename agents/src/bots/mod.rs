//! Bots of single games: one file per game, named after it.

use crate::roster::Entry;

/// The entries of all bots, game by game.
pub(crate) const BOTS: &[&[Entry]] = &[];
