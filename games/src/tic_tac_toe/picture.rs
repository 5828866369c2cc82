//! Pictures of a position.

use ludex_env::game::Game as _;
use ludex_env::picture::{Board, Paint, Picture, line, square_name};

use super::{MARKS, NAMES, TicTacToe, View};
use crate::board;

/// Returns the name of a square, such as `a1` at the lower left.
pub(super) fn name(square: [usize; 2]) -> String {
    square_name("abc", 3, square)
}

pub(super) fn picture(game: &TicTacToe, view: &View) -> Picture {
    let grid = Board::new(3, 3, false);
    let mut sketch = grid.sketch();
    grid.plain(&mut sketch, Paint::Panel, Paint::Edge);
    grid.names(&mut sketch, "abc");
    let stones = board::placed(&view.board, [3, 3], MARKS);
    for &(square, seat) in &stones {
        let [x, y] = grid.middle(square);
        match seat {
            0 => sketch.path(line(Paint::Blue, 5), &format!("M{} {}l22 22m0-22l-22 22", x - 11, y - 11)),
            _ => sketch.circle(line(Paint::Red, 5), [x, y], 12),
        }
    }
    grid.cells(&mut sketch, name);
    let status = board::status(game, view, view.to_move.as_deref(), NAMES);
    grid.finish(sketch, TicTacToe::INFO.title, &status, &board::described(NAMES, &stones, name))
}
