//! Pictures of a position.

use ludex_env::game::Game as _;
use ludex_env::picture::{Board, Picture, square_name};

use super::{Breakthrough, MARKS, View};
use crate::board::{self, LETTERS};

/// Draws the board, rotated by 180 degrees if `turned` (the view of seat 0, whose men start at the top).
pub(super) fn picture(game: &Breakthrough, view: &View, turned: bool) -> Picture {
    let [columns, rows] = [game.columns as usize, game.rows as usize];
    let grid = Board::new(columns, rows, turned);
    let mut sketch = grid.sketch();
    grid.checkered(&mut sketch);
    grid.names(&mut sketch, &LETTERS[..columns]);
    let name = |square| square_name(LETTERS, rows, square);
    let stones = board::placed(&view.board, [columns, rows], MARKS);
    grid.stones(&mut sketch, &stones);
    grid.cells(&mut sketch, name);
    let names = ["black", "white"];
    let to_move = view.to_move.as_deref().map(|side| if side == "b" { "black" } else { "white" });
    let status = board::status(game, view, to_move, names);
    grid.finish(sketch, Breakthrough::INFO.title, &status, &board::described(names, &stones, name))
}
