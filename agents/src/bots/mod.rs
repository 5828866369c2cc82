//! Bots of single games: one file per game, named after it.

use crate::roster::Entry;

pub mod iterated_prisoners_dilemma;

/// The entries of all bots, game by game.
pub(crate) const BOTS: &[&[Entry]] = &[iterated_prisoners_dilemma::BOTS];
