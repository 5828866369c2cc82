//! The prompt for a position that is given as the moves that lead to it.

use std::collections::VecDeque;

use ludex_env::{
    Action, AgentKey, Draw, DynState, EventView, GameRef, MoveRequest, Mover, ObservedMove, Outcomes, ParsedMove, Seat,
    Stream, ToMove, Viewer,
};
use ludex_protocol::{ErrorCode, Move, Refusal};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::api::ChatMessage;
use super::render;
use crate::spec::AgentSpec;

/// A position, and whose question it is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PositionQuery {
    /// The moves so far as a snapshot has them: who (a seat, -1 for chance, -2 for a joint move) and what (an action id, an
    /// outcome, a list with an id for each seat, or `{"said": document}`).
    #[serde(default)]
    pub h: Vec<(i32, Value)>,
    /// Who is asked; absent: the first seat that acts.
    #[serde(default)]
    pub seat: Option<Seat>,
}

/// What a language model is asked in a position.
#[derive(Clone, Debug, Serialize)]
pub struct Prompt {
    /// Who is asked.
    pub seat: Seat,
    /// The messages of the first call.
    pub messages: Vec<ChatMessage>,
    /// Legal action ids, ascending.
    pub legal: Vec<Action>,
    /// Their names, in the same order.
    pub names: Vec<String>,
}

/// What the agent `spec` would say to its model in a position; nothing is called.
///
/// # Errors
/// A move that cannot be played, a seat that does not act, a spec of another agent, or one that does not fit the game.
pub fn prompt(spec: &AgentSpec, game: &GameRef, question: &PositionQuery) -> Result<Prompt, Refusal> {
    let wrong = |path: &str, why: String| Refusal::new(ErrorCode::BadField, why).path(path);
    let end = played(game, &question.h, None).map_err(|e| wrong("h", e.message))?.0;
    let acting = end.turn().seats();
    let seat = match question.seat {
        Some(seat) if acting.has(seat) => seat,
        Some(seat) => return Err(wrong("seat", format!("seat {seat} does not act here"))),
        None => acting.iter().next().ok_or_else(|| wrong("h", "nobody acts here".into()))?,
    };
    let (state, past, turn) = played(game, &question.h, Some(seat)).map_err(|e| wrong("h", e.message))?;
    let legal = state.legal_list(seat);
    let key = [0; 32];
    let ask = MoveRequest::on_state(&*state, seat, turn, &legal, AgentKey::Own(&key)).with_history(&past);
    let messages = render(spec, game, &ask).map_err(|e| wrong("agent", e.message))?;
    let view = state.view(Viewer::Seat(seat));
    let names = legal.iter().map(|&a| view.action_text(seat, a)).collect();
    Ok(Prompt { seat, messages, legal, names })
}

/// How a position is reached: by moves in their order, as players write them, then by some at random.
#[derive(Clone, Debug, Default)]
pub struct Way {
    /// The moves: names of actions, texts, or documents as JSON. Of a joint move there is one for each seat that acts, in seat
    /// order.
    pub moves: Vec<String>,
    /// How many moves are played at random after these.
    pub random: u32,
    /// What chance draws, and which moves the random ones are.
    pub seed: u64,
}

/// How many legal moves are named beside one that is not legal.
const SHOWN: usize = 20;

/// The moves of a [`Question`] for the position at the end of a way, where a seat is to move. Chance draws as in the episode
/// 0 of the seed.
///
/// # Errors
/// A move that cannot be played, or a game that is over.
pub fn resolve_path(game: &GameRef, way: &Way) -> Result<Vec<(i32, Value)>, Refusal> {
    let wrong = |why: String| Refusal::new(ErrorCode::BadField, why).path("after");
    let (mut state, mut draw) = (game.start(), Draw::new(game.id(), way.seed, 0));
    let (mut outcomes, mut rng) = (Outcomes::new(), Stream::from_text(&format!("ludex.v1:way:{}", way.seed)));
    let mut given: VecDeque<&String> = way.moves.iter().collect();
    let (mut h, mut random) = (Vec::new(), way.random);
    let played = |heard: &ParsedMove| match heard {
        ParsedMove::Action(a) => Value::from(*a),
        ParsedMove::Document(said) => serde_json::json!({ "said": said }),
    };
    loop {
        let turn = state.turn();
        if turn == ToMove::Chance {
            state.chance(&mut outcomes);
            let a = draw.pick(&outcomes).ok_or_else(|| wrong("chance has no outcome".into()))?;
            state.play_chance(a).map_err(|e| wrong(e.message))?;
            h.push((-1, Value::from(a)));
            continue;
        }
        let (left, seats) = (given.len(), turn.seats());
        if seats.is_empty() {
            return Err(wrong("the game is over before that".into()));
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
                None => return Err(wrong(format!("{} seats move at the same time: each needs a move", seats.len()))),
            });
        }
        if left == 0 {
            random -= 1;
        }
        match turn {
            ToMove::Seat(seat) => {
                let heard = joint[seat].take().ok_or_else(|| wrong("a seat has no move".into()))?;
                h.push((seat as i32, played(&heard)));
                match &heard {
                    ParsedMove::Action(a) => state.play(seat, *a),
                    ParsedMove::Document(said) => state.play_said(seat, said),
                }
            }
            ToMove::Simultaneous(_) => {
                let all: Vec<Value> = joint.iter().map(|heard| heard.as_ref().map_or(Value::Null, played)).collect();
                h.push((-2, all.into()));
                state.play_joint(&joint)
            }
            // Nobody acts at these, which was seen above.
            ToMove::Chance | ToMove::Over => Ok(()),
        }
        .map_err(|e| wrong(e.message))?;
    }
}

/// Some of the legal moves of a seat, in the game's words.
fn some(state: &dyn DynState, seat: Seat) -> String {
    let (legal, view) = (state.legal_list(seat), state.view(Viewer::Seat(seat)));
    let names: Vec<String> = legal.iter().take(SHOWN).map(|&a| view.action_text(seat, a)).collect();
    match legal.len() - names.len() {
        _ if names.is_empty() => String::new(),
        0 => format!("; legal moves: {}", names.join(", ")),
        more => format!("; legal moves: {} and {more} more", names.join(", ")),
    }
}

/// A position, what led to it, and a number of turns.
type Played = (Box<dyn DynState>, Vec<ObservedMove>, u32);

/// The position after the moves, what `seat` saw of them, and how many turns it had.
fn played(game: &GameRef, moves: &[(i32, Value)], seat: Option<Seat>) -> Result<Played, Refusal> {
    let mut state = game.start();
    let (mut past, mut turns) = (Vec::new(), 0);
    for (at, (who, what)) in moves.iter().enumerate() {
        let refuse = |why: String| Refusal::new(ErrorCode::BadField, format!("move {at}: {why}"));
        let id = |v: &Value| {
            v.as_u64().and_then(|a| Action::try_from(a).ok()).ok_or_else(|| refuse(format!("{v} is not an action")))
        };
        let heard = |by: Seat, what: &Value| {
            let given = match what.get("said") {
                Some(said) => Move::Document(said.clone()),
                None => Move::Id(id(what)?.into()),
            };
            state.parse_move(by, &given).map_err(|e| refuse(e.message))
        };
        let mut saw = |by: Mover, heard: &ParsedMove| {
            let seen = seat.map(|seat| match (by, heard) {
                (_, ParsedMove::Action(a)) => state.seen(Viewer::Seat(seat), by, *a),
                (Mover::Seat(by), ParsedMove::Document(said)) => state.seen_said(Viewer::Seat(seat), by, said),
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
                let list = what.as_array().ok_or_else(|| refuse("a joint move is a list".into()))?;
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
                    ParsedMove::Document(said) => state.play_said(by, said),
                };
                played.map_err(|e| refuse(e.message))?;
            }
            _ => return Err(refuse(format!("{who} does not act here"))),
        }
    }
    Ok((state, past, turns))
}
