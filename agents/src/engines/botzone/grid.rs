//! Tic-tac-toe, gomoku and reversi. A move is one point `{"x", "y"}` from 0; x counts to the right and y down.

use serde_json::{Value, json};

use ludex_env::{Action, MoveRequest};
use ludex_games::reversi::PASS;

use super::codec::{Codec, TurnLog, in_turn, legal, moves, numbers};
use crate::error::AgentError;

/// Fields of a message.
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

/// Gomoku has no simplified form on Botzone.
pub(super) const GOMOKU: Codec = Codec {
    game: "gomoku(preset=botzone)",
    free: &[],
    simple: None,
    idle: None,
    fallback: None,
    talk: |ask| talk(ask, 15, None),
    read: |ask, response| read(ask, 15, None, response),
};

/// A pass is the point (-1, -1). Botzone also requests it where our rules pass automatically.
pub(super) const REVERSI: Codec = Codec {
    game: "reversi",
    free: &["auto_pass"],
    simple: Some(&FIELDS),
    idle: None,
    fallback: None,
    talk: |ask| talk(ask, 8, Some(PASS)),
    read: |ask, response| read(ask, 8, Some(PASS), response),
};

/// Returns the message of the id `y * size + x`; any id beyond the board is a pass or no move.
fn message(size: Action, a: Action) -> Value {
    if a < size * size { json!({ "x": a % size, "y": a / size }) } else { json!({ "x": -1, "y": -1 }) }
}

/// Returns all messages on a board of `size` lines; seat 0 moves first.
fn talk(ask: &MoveRequest<'_>, size: Action, pass: Option<Action>) -> Result<TurnLog, AgentError> {
    let moves = moves(ask, 0, pass)?;
    let messages: Vec<Value> = moves.iter().map(|&a| message(size, a)).collect();
    Ok(in_turn(ask, 0, &moves, &messages, message(size, Action::MAX)))
}

/// Returns the legal action of a response.
fn read(ask: &MoveRequest<'_>, size: Action, pass: Option<Action>, response: &Value) -> Option<Action> {
    let [x, y] = numbers(response, FIELDS)?;
    if x == -1 {
        return legal(ask, pass);
    }
    let on = |n: i64| Action::try_from(n).ok().filter(|&n| n < size);
    legal(ask, Some(on(y)? * size + on(x)?))
}
