//! Pictures of a position.

use ludex_env::game::Action;
use ludex_env::picture::{Board, Gesture, Paint, Picture, line, square_name};
use shakmaty::Color;

use super::ids;
use super::view::View;
use crate::picture::chess::{piece, word};

const LETTERS: &str = "abcdefgh";

/// Returns the squares to click for a move.
pub(super) fn gesture(turn: Color, a: Action) -> Option<Gesture> {
    let rank = turn.fold_wb(1, 8);
    match a {
        ids::LONG => Some(Gesture::of([format!("e{rank}"), format!("c{rank}")])),
        ids::SHORT => Some(Gesture::of([format!("e{rank}"), format!("g{rank}")])),
        _ => ids::squares(turn, a).map(|(from, to, _)| Gesture::of([from.to_string(), to.to_string()])),
    }
}

/// Lists the pieces of a FEN as (column, row from the top) and letter.
fn pieces(fen: &str) -> Vec<([usize; 2], char)> {
    let mut out = Vec::new();
    for (row, line) in fen.split(' ').next().unwrap_or_default().split('/').take(8).enumerate() {
        let mut column = 0;
        for c in line.chars() {
            match c.to_digit(10) {
                Some(gap) => column += gap as usize,
                None if column < 8 => {
                    out.push(([column, row], c));
                    column += 1;
                }
                None => break,
            }
        }
    }
    out
}

/// Draws the position, rotated by 180 degrees if `turned` (Black's side).
pub(super) fn picture(view: &View, turned: bool) -> Picture {
    let grid = Board::new(8, 8, turned);
    let mut sketch = grid.sketch();
    grid.checkered(&mut sketch);
    grid.names(&mut sketch, LETTERS);
    let name = |square| square_name(LETTERS, 8, square);
    let pieces = pieces(&view.fen);
    let white_moves = view.fen.split(' ').nth(1) == Some("w");
    for &(square, letter) in &pieces {
        if view.check && letter == if white_moves { 'K' } else { 'k' } {
            sketch.circle(line(Paint::Red, 4), grid.middle(square), 18);
        }
        piece(&mut sketch, grid.corner(square), letter);
    }
    grid.cells(&mut sketch, name);
    let last = view.moves.last().map(String::as_str).unwrap_or_default();
    for square in [last.get(..2), last.get(2..4)].into_iter().flatten() {
        sketch.last(square);
    }
    let check = if view.check { ", in check" } else { "" };
    let status = match (&view.to_move, view.end.as_deref()) {
        (Some(side), _) => format!("{side} to move{check}"),
        (None, Some("checkmate")) => format!("{} wins by checkmate", if white_moves { "black" } else { "white" }),
        (None, end) => format!("a draw: {}", end.unwrap_or("over")),
    };
    let last_text = if last.is_empty() { String::new() } else { format!("; last move {last}") };
    let side = |white: bool| {
        let own = pieces.iter().filter(|p| p.1.is_ascii_uppercase() == white);
        own.map(|&(square, letter)| format!("{} {}", word(letter), name(square))).collect::<Vec<_>>().join(", ")
    };
    let desc = format!("White: {}. Black: {}.", side(true), side(false));
    grid.finish(sketch, "Chess", &format!("{status}{last_text}"), &desc)
}
