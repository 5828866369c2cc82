//! Pictures of a position.

use ludex_env::game::Game as _;
use ludex_env::picture::{Board, Paint, Picture, TextAnchor, fill, line};

use super::{ConnectFour, MARKS, NAMES, View};
use crate::board;

/// Returns the squares of all complete lines.
fn winning(game: &ConnectFour, stones: &[([usize; 2], usize)]) -> Vec<[usize; 2]> {
    let bit = |[column, row]: [usize; 2]| game.shape.bit(game.params.rows - 1 - row as u32, column as u32);
    let of = |seat: usize| stones.iter().filter(move |stone| stone.1 == seat);
    let all = [0, 1].map(|seat| of(seat).fold(0, |bits, stone| bits | bit(stone.0)));
    let complete = game.lines.iter().filter(|line| all.iter().any(|bits| bits & *line == **line));
    let bits = complete.fold(0, |bits, line| bits | line);
    stones.iter().map(|stone| stone.0).filter(|square| bits & bit(*square) != 0).collect()
}

pub(super) fn picture(game: &ConnectFour, view: &View) -> Picture {
    let [columns, rows] = [game.params.columns as usize, game.params.rows as usize];
    let grid = Board::new(columns, rows, false);
    let mut sketch = grid.sketch();
    let [left, top, width, height] = grid.area();
    sketch.rect(fill(Paint::Frame), [left - 4, top - 4, width + 8, height + 8], 8);
    let stones = board::placed(&view.board, [columns, rows], MARKS);
    for square in grid.squares() {
        grid.disc(&mut sketch, square, fill(Paint::Paper));
    }
    for &(square, seat) in &stones {
        let (inside, rim) = [(Paint::Red, Paint::FaceRed), (Paint::Yellow, Paint::Wood)][seat & 1];
        grid.disc(&mut sketch, square, fill(inside).edge(rim, 3));
    }
    for square in winning(game, &stones) {
        sketch.circle(line(Paint::Ink, 4), grid.middle(square), 8);
    }
    for column in 0..columns {
        let ([x, _], [middle, _]) = (grid.corner([column, 0]), grid.middle([column, 0]));
        sketch.text(Paint::Faint, TextAnchor::Middle, [middle, top + height + 18], 14, &column.to_string());
        sketch.cell(&column.to_string(), [x, top, width / columns as i32, height]);
    }
    let status = board::status(game, view, view.to_move.as_deref(), ["x (red)", "o (yellow)"]);
    let name = |[column, row]: [usize; 2]| format!("column {column} height {}", rows - row);
    grid.finish(sketch, ConnectFour::INFO.title, &status, &board::described(NAMES, &stones, name))
}
