//! Go: coordinates count from 1, and (1, 1) is the top left; a pass is (-1, -1). Botzone's board is 8x8; other sizes
//! use the same messages.

use serde_json::{Value, json};

use ludex_env::{Action, MoveRequest};
use ludex_games::go::View;

use super::codec::{Codec, TurnLog, in_turn, legal, moves, numbers};
use super::grid::FIELDS;
use crate::error::AgentError;
use crate::typed_access::view;

pub(super) const CODEC: Codec = Codec {
    game: "go(preset=botzone)",
    free: &["board_size", "komi", "superko", "max_game_length"],
    simple: None,
    idle: None,
    fallback: None,
    talk,
    read,
};

fn size(ask: &MoveRequest<'_>) -> Result<Action, AgentError> {
    Ok(view::<View>(ask)?.board.len() as Action)
}

/// Returns the message of an action id. Row 0 of Ludex is the bottom row; row 1 of Botzone is the top row.
fn message(size: Action, a: Action) -> Value {
    if a < size * size { json!({ "x": a % size + 1, "y": size - a / size }) } else { json!({ "x": -1, "y": -1 }) }
}

fn talk(ask: &MoveRequest<'_>) -> Result<TurnLog, AgentError> {
    let (moves, size) = (moves(ask, 0, None)?, size(ask)?);
    let messages: Vec<Value> = moves.iter().map(|&a| message(size, a)).collect();
    Ok(in_turn(ask, 0, &moves, &messages, json!({ "x": -2, "y": -2 })))
}

fn read(ask: &MoveRequest<'_>, response: &Value) -> Option<Action> {
    let (point, size) = (numbers(response, FIELDS)?, size(ask).ok()?);
    if point == [-1, -1] {
        return legal(ask, Some(size * size));
    }
    let [x, y] = point.map(|n| Action::try_from(n).ok().filter(|n| (1..=size).contains(n)));
    legal(ask, Some((size - y?) * size + x? - 1))
}
