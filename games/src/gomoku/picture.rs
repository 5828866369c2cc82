//! Pictures of a position.

use ludex_env::game::Game as _;
use ludex_env::picture::{Board, Picture, square_name};

use super::{Gomoku, MARKS, NAMES, View};
use crate::board::{self, LETTERS};

pub(super) fn name(size: usize, square: [usize; 2]) -> String {
    square_name(LETTERS, size, square)
}

pub(super) fn picture(game: &Gomoku, view: &View) -> Picture {
    let size = game.params.size as usize;
    let grid = Board::new(size, size, false);
    let mut sketch = grid.sketch();
    let stars: &[[usize; 2]] = if size == 15 { &[[3, 3], [11, 3], [7, 7], [3, 11], [11, 11]] } else { &[] };
    grid.points(&mut sketch, stars);
    grid.names(&mut sketch, &LETTERS[..size]);
    let stones = board::placed(&view.board, [size, size], MARKS);
    grid.stones(&mut sketch, &stones);
    grid.cells(&mut sketch, |square| name(size, square));
    let status = board::status(game, view, view.to_move.as_deref(), NAMES);
    let desc = board::described(NAMES, &stones, |square| name(size, square));
    grid.finish(sketch, Gomoku::INFO.title, &status, &desc)
}
