//! Tic-tac-toe, gomoku and reversi. A move is one point `{"x", "y"}`; x counts to the right and y down, both from 0.

use serde_json::{Value, json};

use ludex_env::{Action, MoveRequest};
use ludex_games::reversi::PASS;

use super::codec::{Codec, TurnLog, in_turn, legal, moves, numbers};
use crate::error::AgentError;

/// Names of the fields of a message.
pub(super) const FIELDS: [&str; 2] = ["x", "y"];

pub(super) const TIC_TAC_TOE: Codec = Codec {
    game: "tic_tac_toe",
    free: &[],
    simple: Some(&FIELDS),
    idle: None,
    fallback: None,
    talk: |ask| talk(ask, 3, None),
    read: |ask, response| read(ask, 3, None, response),
};

/// Codec of gomoku, which has no simplified interaction on Botzone.
pub(super) const GOMOKU: Codec = Codec {
    game: "gomoku(preset=botzone)",
    free: &[],
    simple: None,
    idle: None,
    fallback: None,
    talk: |ask| talk(ask, 15, None),
    read: |ask, response| read(ask, 15, None, response),
};

/// Codec of reversi. A pass is the point (-1, -1). Botzone also requests passes that Ludex plays automatically.
pub(super) const REVERSI: Codec = Codec {
    game: "reversi",
    free: &["auto_pass"],
    simple: Some(&FIELDS),
    idle: None,
    fallback: None,
    talk: |ask| talk(ask, 8, Some(PASS)),
    read: |ask, response| read(ask, 8, Some(PASS), response),
};

/// Returns the message of the action id `y * size + x`; for any id beyond the board, the message of a pass.
fn message(size: Action, a: Action) -> Value {
    if a < size * size { json!({ "x": a % size, "y": a / size }) } else { json!({ "x": -1, "y": -1 }) }
}

/// Returns all messages of the seat for a board of `size` by `size` points; seat 0 moves first.
fn talk(ask: &MoveRequest<'_>, size: Action, pass: Option<Action>) -> Result<TurnLog, AgentError> {
    let moves = moves(ask, 0, pass)?;
    let messages: Vec<Value> = moves.iter().map(|&a| message(size, a)).collect();
    Ok(in_turn(ask, 0, &moves, &messages, message(size, Action::MAX)))
}

/// Parses a response as a legal action.
fn read(ask: &MoveRequest<'_>, size: Action, pass: Option<Action>, response: &Value) -> Option<Action> {
    let [x, y] = numbers(response, FIELDS)?;
    if x == -1 {
        return legal(ask, pass);
    }
    let on = |n: i64| Action::try_from(n).ok().filter(|&n| n < size);
    legal(ask, Some(on(y)? * size + on(x)?))
}
