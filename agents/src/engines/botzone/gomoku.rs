//! Gomoku, which has no simplified form.

use super::codec::Codec;
use super::grid;

pub(super) const CODEC: Codec = Codec {
    game: "gomoku(preset=botzone)",
    free: &[],
    simple: &[],
    fallback: None,
    talk: |ask| grid::talk(ask, 15, None),
    read: |ask, response| grid::read(ask, 15, None, response),
};
