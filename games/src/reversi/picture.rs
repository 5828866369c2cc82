//! Pictures of a position.

use ludex_env::game::Game as _;
use ludex_env::picture::{Board, Paint, Picture};

use super::{MARKS, NAMES, Reversi, View, square_text};
use crate::board;

pub(super) fn picture(game: &Reversi, view: &View) -> Picture {
    let grid = Board::new(8, 8, false).numbered_down();
    let mut sketch = grid.sketch();
    grid.plain(&mut sketch, Paint::Felt, Paint::FeltLine);
    grid.names(&mut sketch, "abcdefgh");
    let name = |[column, row]: [usize; 2]| square_text((row * 8 + column) as u32);
    let stones = board::placed(&view.board, [8, 8], MARKS);
    grid.stones(&mut sketch, &stones);
    grid.cells(&mut sketch, name);
    let [black, white] = view.discs;
    let status = board::status(game, view, view.to_move.as_deref(), NAMES);
    let status = format!("{status}, black {black}, white {white}");
    grid.finish(sketch, Reversi::INFO.title, &status, &board::described(NAMES, &stones, name))
}
