//! TicTacToe.

use super::codec::Codec;
use super::grid;

pub(super) const CODEC: Codec = Codec {
    game: "tic_tac_toe",
    free: &[],
    simple: &grid::FIELDS,
    fallback: None,
    talk: |ask| grid::talk(ask, 3, None),
    read: |ask, response| grid::read(ask, 3, None, response),
};
