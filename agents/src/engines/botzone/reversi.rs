//! Reversi: a pass is a point of -1, and is asked for also where our rules pass by themselves.

use ludex_env::games::reversi::PASS;

use super::codec::Codec;
use super::grid;

pub(super) const CODEC: Codec = Codec {
    game: "reversi",
    free: &["auto_pass"],
    simple: &grid::FIELDS,
    fallback: None,
    talk: |ask| grid::talk(ask, 8, Some(PASS)),
    read: |ask, response| grid::read(ask, 8, Some(PASS), response),
};
