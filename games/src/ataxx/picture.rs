//! Pictures of a position.

use ludex_env::game::Game as _;
use ludex_env::picture::{Board, Paint, Picture, fill};

use super::{Ataxx, MARKS, NAMES, View, name};
use crate::board;

pub(super) fn picture(game: &Ataxx, view: &View) -> Picture {
    let grid = Board::new(7, 7, false);
    let mut sketch = grid.sketch();
    grid.plain(&mut sketch, Paint::Panel, Paint::Edge);
    grid.names(&mut sketch, "abcdefg");
    let at = |[column, row]: [usize; 2]| name(row * 7 + column);
    let stones = board::placed(&view.board, [7, 7], MARKS);
    for &(square, seat) in &stones {
        let paint = [Paint::Red, Paint::Blue][seat & 1];
        grid.disc(&mut sketch, square, fill(paint).edge(Paint::Ink, 1));
    }
    grid.cells(&mut sketch, at);
    let status = board::status(game, view, view.to_move.as_deref(), ["x (red)", "o (blue)"]);
    let count = |seat| stones.iter().filter(|s| s.1 == seat).count();
    let status = format!("{status}, {} : {}", count(0), count(1));
    grid.finish(sketch, Ataxx::INFO.title, &status, &board::described(NAMES, &stones, at))
}
