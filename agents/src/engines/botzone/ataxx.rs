//! Ataxx: (x0, y0) is the source and (x1, y1) the target. x counts to the right and y down, both from 0.

use serde_json::{Value, json};

use ludex_env::{Action, MoveRequest};

use super::codec::{Codec, TurnLog, in_turn, moves, numbers};
use crate::error::AgentError;

const FIELDS: [&str; 4] = ["x0", "y0", "x1", "y1"];
const SIZE: i64 = 7;

pub(super) const CODEC: Codec = Codec {
    game: "ataxx(preset=botzone)",
    free: &["max_plies", "repetition"],
    simple: Some(&FIELDS),
    idle: None,
    fallback: None,
    talk,
    read,
};

/// Column and row, counted from the top left.
type Cell = [i64; 2];

/// Returns the Chebyshev distance between two cells.
fn distance(a: Cell, b: Cell) -> i64 {
    (a[0] - b[0]).abs().max((a[1] - b[1]).abs())
}

/// Returns the name of a cell, such as `a7` for the top left; `None` outside the board.
fn name([x, y]: Cell) -> Option<String> {
    let on = |n: i64| (0..SIZE).contains(&n);
    (on(x) && on(y)).then(|| format!("{}{}", char::from(b'a' + x as u8), SIZE - y))
}

fn cell(name: &[u8]) -> Option<Cell> {
    let &[column, row] = name else { return None };
    Some([i64::from(column) - i64::from(b'a'), SIZE - (i64::from(row) - i64::from(b'0'))])
}

/// Returns all messages of the seat. The id of a clone move does not contain the source, so any adjacent piece is
/// reported as the source.
fn talk(ask: &MoveRequest<'_>) -> Result<TurnLog, AgentError> {
    let (moves, view) = (moves(ask, 0, None)?, ask.view());
    let mut pieces: [Vec<Cell>; 2] = [vec![[0, 0], [6, 6]], vec![[6, 0], [0, 6]]];
    let mut messages = Vec::new();
    for (ply, &a) in moves.iter().enumerate() {
        let (me, text) = (ply % 2, view.action_text(ply % 2, a));
        let (from, to) = text.as_bytes().split_at(text.len().saturating_sub(2));
        let to = cell(to).unwrap_or([-1; 2]);
        let from = cell(from).or_else(|| pieces[me].iter().copied().filter(|&c| distance(c, to) == 1).min());
        let from = from.unwrap_or([-1; 2]);
        messages.push(json!({ "x0": from[0], "y0": from[1], "x1": to[0], "y1": to[1] }));
        if distance(from, to) == 2 {
            pieces[me].retain(|&c| c != from);
        }
        let (flipped, rest) = pieces[1 - me].iter().partition(|&&c| distance(c, to) == 1);
        pieces[1 - me] = rest;
        pieces[me].extend::<Vec<Cell>>(flipped);
        pieces[me].push(to);
    }
    let none = json!({ "x0": -1, "y0": -1, "x1": -1, "y1": -1 });
    Ok(in_turn(ask, 0, &moves, &messages, none))
}

fn read(ask: &MoveRequest<'_>, response: &Value) -> Option<Action> {
    let [x0, y0, x1, y1] = numbers(response, FIELDS)?;
    let text = name([x0, y0])? + &name([x1, y1])?;
    ask.view().parse(ask.seat, ask.legal, &text)
}
