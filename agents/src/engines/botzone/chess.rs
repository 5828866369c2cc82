//! Chess: square names, and a letter or `*` for the promotion. White moves first and is seat 1 in both systems.

use serde_json::{Value, json};

use ludex_env::{Action, MoveRequest};
use ludex_games::chess::View;

use super::codec::{Codec, TurnLog, in_turn, moves};
use crate::error::AgentError;
use crate::typed_access::view;

const WHITE: usize = 1;

pub(super) const CODEC: Codec = Codec {
    game: "chess(preset=botzone)",
    free: &["draw_after", "repetition", "insufficient_material", "max_plies"],
    simple: None,
    idle: None,
    fallback: None,
    talk,
    read,
};

fn message(uci: &str) -> Value {
    let part = |from: usize, to: usize| uci.get(from..to).unwrap_or("-1");
    let promotion = uci.get(4..).filter(|p| !p.is_empty()).unwrap_or("*");
    json!({ "source": part(0, 2), "target": part(2, 4), "promotion": promotion })
}

fn talk(ask: &MoveRequest<'_>) -> Result<TurnLog, AgentError> {
    let (moves, seen) = (moves(ask, WHITE, None)?, view::<View>(ask)?);
    if moves.len() != seen.moves.len() {
        let why = format!("botzone: expected {} moves, got {}", moves.len(), seen.moves.len());
        return Err(AgentError::failed(why));
    }
    let messages: Vec<Value> = seen.moves.iter().map(|uci| message(uci)).collect();
    Ok(in_turn(ask, WHITE, &moves, &messages, message("")))
}

fn read(ask: &MoveRequest<'_>, response: &Value) -> Option<Action> {
    let text = |field: &str| response.get(field)?.as_str();
    let square = |s: &&str| matches!(s.as_bytes(), [b'a'..=b'h', b'1'..=b'8']);
    let (source, target) = (text("source").filter(square)?, text("target").filter(square)?);
    let promotion = match text("promotion").unwrap_or("*") {
        "*" => "",
        piece @ ("q" | "r" | "b" | "n") => piece,
        _ => return None,
    };
    ask.view().parse(ask.seat, ask.legal, &format!("{source}{target}{promotion}"))
}
