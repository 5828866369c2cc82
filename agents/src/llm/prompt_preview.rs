//! Preview of the prompt in a position that a list of moves leads to.

use std::collections::VecDeque;

use ludex_env::{
    Action, AgentKey, Draw, DynState, EventView, GameRef, MoveRequest, Mover, ObservedMove, Outcomes, ParsedMove, Seat,
    Stream, ToMove, Viewer,
};
use ludex_protocol::call::ChatMessage;
use ludex_protocol::{ErrorCode, Move, Refusal};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::render;
use crate::spec::AgentSpec;

/// Position, and the seat whose prompt is rendered.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PositionQuery {
    /// Moves so far, as in a snapshot: pairs of a mover and a move. The mover is a seat, -1 for chance, or -2 for a
    /// joint move. The move is an action id, an outcome, a list with an id for each seat, or `{"document": document}`.
    #[serde(default)]
    pub h: Vec<(i32, Value)>,
    /// Seat whose prompt is rendered; if absent, the first seat to move.
    #[serde(default)]
    pub seat: Option<Seat>,
}

/// Prompt of a language model in a position.
#[derive(Clone, Debug, Serialize)]
pub struct Prompt {
    pub seat: Seat,
    /// Messages of the first model call.
    pub messages: Vec<ChatMessage>,
    /// Legal action ids, ascending.
    pub legal: Vec<Action>,
    /// Texts of the legal actions, in the order of `legal`.
    pub names: Vec<String>,
}

/// Renders the prompt of the agent `spec` in a position, without calling the endpoint.
///
/// # Errors
/// An illegal move, a seat that is not to move, a spec of another agent, or a game that the agent does not support.
pub fn prompt(spec: &AgentSpec, game: &GameRef, question: &PositionQuery) -> Result<Prompt, Refusal> {
    let wrong = |path: &str, why: String| Refusal::new(ErrorCode::BadField, why).path(path);
    let end = observe(game, &question.h, None).map_err(|e| wrong("h", e.message))?.state;
    let acting = end.turn().seats();
    let seat = match question.seat {
        Some(seat) if acting.has(seat) => seat,
        Some(seat) => return Err(wrong("seat", format!("seat {seat} is not to move"))),
        None => acting.iter().next().ok_or_else(|| wrong("h", "no seat is to move".into()))?,
    };
    let ObservedState { state, past, turn } =
        observe(game, &question.h, Some(seat)).map_err(|e| wrong("h", e.message))?;
    let legal = state.legal_list(seat);
    let key = [0; 32];
    let ask = MoveRequest::on_state(&*state, seat, turn, &legal, AgentKey::Own(&key)).with_history(&past);
    let messages = render(spec, game, &ask).map_err(|e| wrong("agent", e.message))?;
    let view = state.view(Viewer::Seat(seat));
    let names = legal.iter().map(|&a| view.action_text(seat, a)).collect();
    Ok(Prompt { seat, messages, legal, names })
}

/// Path to a position: given moves, then random moves.
#[derive(Clone, Debug, Default)]
pub struct Way {
    /// Moves in order: action texts, other notations of the game, or documents as JSON. A joint move has one entry for
    /// each acting seat, in seat order.
    pub moves: Vec<String>,
    /// Number of random moves after the given moves.
    pub random: u32,
    /// Seed of the chance outcomes and random moves.
    pub seed: u64,
}

/// Maximum number of legal moves listed in an error.
const SHOWN: usize = 20;

/// Resolves a path to the moves of a [`PositionQuery`]. Chance outcomes are those of episode 0 with the path's seed.
///
/// # Errors
/// An illegal move, or a game that ends before the end of the path.
pub fn resolve_path(game: &GameRef, way: &Way) -> Result<Vec<(i32, Value)>, Refusal> {
    let wrong = |why: String| Refusal::new(ErrorCode::BadField, why).path("after");
    let (mut state, mut draw) = (game.start(), Draw::new(game.id(), way.seed, 0));
    let (mut outcomes, mut rng) = (Outcomes::new(), Stream::from_text(&format!("ludex.v1:way:{}", way.seed)));
    let mut given: VecDeque<&String> = way.moves.iter().collect();
    let (mut h, mut random) = (Vec::new(), way.random);
    let played = |heard: &ParsedMove| match heard {
        ParsedMove::Action(a) => Value::from(*a),
        ParsedMove::Document(document) => serde_json::json!({ "document": document }),
    };
    loop {
        let turn = state.turn();
        if turn == ToMove::Chance {
            state.chance(&mut outcomes);
            let a = draw.pick(&outcomes).ok_or_else(|| wrong("the chance node has no outcomes".into()))?;
            state.play_chance(a).map_err(|e| wrong(e.message))?;
            h.push((-1, Value::from(a)));
            continue;
        }
        let (left, seats) = (given.len(), turn.seats());
        if seats.is_empty() {
            return Err(wrong("the game ends before all moves are played".into()));
        }
        if left == 0 && random == 0 {
            return Ok(h);
        }
        let mut joint: Vec<Option<ParsedMove>> = vec![None; game.spec().players as usize];
        for seat in seats.iter() {
            joint[seat] = Some(match given.pop_front() {
                Some(text) => {
                    let document =
                        text.trim_start().starts_with('{').then(|| serde_json::from_str(text).ok()).flatten();
                    let mv = document.map_or_else(|| Move::Text(text.clone()), Move::Document);
                    let at = way.moves.len() - given.len();
                    let known =
                        |e: Refusal| wrong(format!("move {at}, {text:?}: {}{}", e.message, some(&*state, seat)));
                    state.parse_move(seat, &mv).map_err(known)?
                }
                None if random > 0 => ParsedMove::Action(state.random_action(seat, &mut rng)),
                None => {
                    let n = seats.len();
                    return Err(wrong(format!("too few moves: expected one for each of the {n} seats to move")));
                }
            });
        }
        if left == 0 {
            random -= 1;
        }
        match turn {
            ToMove::Seat(seat) => {
                let heard = joint[seat].take().ok_or_else(|| wrong("expected a move, got none".into()))?;
                h.push((seat as i32, played(&heard)));
                match &heard {
                    ParsedMove::Action(a) => state.play(seat, *a),
                    ParsedMove::Document(document) => state.play_document(seat, document),
                }
            }
            ToMove::Simultaneous(_) => {
                let all: Vec<Value> = joint.iter().map(|heard| heard.as_ref().map_or(Value::Null, played)).collect();
                h.push((-2, all.into()));
                state.play_joint(&joint)
            }
            // No seat acts at chance nodes and ends, as checked above.
            ToMove::Chance | ToMove::Over => Ok(()),
        }
        .map_err(|e| wrong(e.message))?;
    }
}

/// Formats some of a seat's legal moves as the end of an error.
fn some(state: &dyn DynState, seat: Seat) -> String {
    let (legal, view) = (state.legal_list(seat), state.view(Viewer::Seat(seat)));
    let names: Vec<String> = legal.iter().take(SHOWN).map(|&a| view.action_text(seat, a)).collect();
    match legal.len() - names.len() {
        _ if names.is_empty() => String::new(),
        0 => format!("; legal moves: {}", names.join(", ")),
        more => format!("; legal moves: {} and {more} more", names.join(", ")),
    }
}

/// Position that a list of moves leads to, as one seat observed it.
pub struct ObservedState {
    pub state: Box<dyn DynState>,
    /// Moves and outcomes that the seat observed; empty without a seat.
    pub past: Vec<ObservedMove>,
    /// Number of turns that the seat had.
    pub turn: u32,
}

/// Plays the moves of a [`PositionQuery`], or of a snapshot, as `seat` observes them.
///
/// # Errors
/// An illegal move, with its index.
pub fn observe(game: &GameRef, moves: &[(i32, Value)], seat: Option<Seat>) -> Result<ObservedState, Refusal> {
    let mut state = game.start();
    let (mut past, mut turns) = (Vec::new(), 0);
    for (at, (who, what)) in moves.iter().enumerate() {
        let refuse = |why: String| Refusal::new(ErrorCode::BadField, format!("move {at}: {why}"));
        let id = |v: &Value| {
            v.as_u64()
                .and_then(|a| Action::try_from(a).ok())
                .ok_or_else(|| refuse(format!("expected an action id, got {v}")))
        };
        let heard = |by: Seat, what: &Value| {
            let given = match what.get("document").or_else(|| what.get("said")) {
                Some(document) => Move::Document(document.clone()),
                None => Move::Id(id(what)?.into()),
            };
            state.parse_move(by, &given).map_err(|e| refuse(e.message))
        };
        let mut saw = |by: Mover, heard: &ParsedMove| {
            let seen = seat.map(|seat| match (by, heard) {
                (_, ParsedMove::Action(a)) => state.seen(Viewer::Seat(seat), by, *a),
                (Mover::Seat(by), ParsedMove::Document(document)) => {
                    state.observe_document(Viewer::Seat(seat), by, document)
                }
                (Mover::Chance, ParsedMove::Document(_)) => EventView::default(),
            });
            let EventView { action, text } = seen.unwrap_or_default();
            past.extend(text.map(|text| ObservedMove { by, action, text, reveals: Vec::new() }));
        };
        match (*who, state.turn()) {
            (-1, ToMove::Chance) => {
                let a = id(what)?;
                saw(Mover::Chance, &ParsedMove::Action(a));
                state.play_chance(a).map_err(|e| refuse(e.message))?;
            }
            (-2, ToMove::Simultaneous(seats)) => {
                let list = what.as_array().ok_or_else(|| refuse("expected a list for a joint move".into()))?;
                let mut joint = vec![None; game.spec().players as usize];
                for seat in seats.iter() {
                    joint[seat] = Some(heard(seat, list.get(seat).unwrap_or(&Value::Null))?);
                }
                for (by, heard) in joint.iter().enumerate() {
                    heard.iter().for_each(|heard| saw(Mover::Seat(by), heard));
                }
                turns += u32::from(seat.is_some_and(|seat| seats.has(seat)));
                state.play_joint(&joint).map_err(|e| refuse(e.message))?;
            }
            (who, ToMove::Seat(by)) if who == by as i32 => {
                turns += u32::from(seat == Some(by));
                let heard = heard(by, what)?;
                saw(Mover::Seat(by), &heard);
                let played = match &heard {
                    ParsedMove::Action(a) => state.play(by, *a),
                    ParsedMove::Document(document) => state.play_document(by, document),
                };
                played.map_err(|e| refuse(e.message))?;
            }
            _ => return Err(refuse(format!("mover {who} is not to move"))),
        }
    }
    Ok(ObservedState { state, past, turn: turns })
}
