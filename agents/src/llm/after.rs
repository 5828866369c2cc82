//! The prompt for a position that is given as the moves that lead to it.

use ludex_env::{Action, AgentKey, Ask, DynState, GameRef, Heard, Mover, Past, Seat, Seen, Turn, Viewer};
use ludex_protocol::{ErrorCode, Move, Refusal};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::api::Message;
use super::render;
use crate::spec::AgentSpec;

/// A position, and whose question it is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
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
    pub messages: Vec<Message>,
    /// Legal action ids, ascending.
    pub legal: Vec<Action>,
    /// Their names, in the same order.
    pub names: Vec<String>,
}

/// What the agent `spec` would say to its model in a position; nothing is called.
///
/// # Errors
/// A move that cannot be played, a seat that does not act, a spec of another agent, or one that does not fit the game.
pub fn prompt(spec: &AgentSpec, game: &GameRef, question: &Question) -> Result<Prompt, Refusal> {
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
    let ask = Ask::on_state(&*state, seat, turn, &legal, AgentKey::Own(&key)).with_past(&past);
    let messages = render(spec, game, &ask).map_err(|e| wrong("agent", e.message))?;
    let view = state.view(Viewer::Seat(seat));
    let names = legal.iter().map(|&a| view.action_text(seat, a)).collect();
    Ok(Prompt { seat, messages, legal, names })
}

/// A position, what led to it, and a number of turns.
type Played = (Box<dyn DynState>, Vec<Past>, u32);

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
            state.read(by, &given).map_err(|e| refuse(e.message))
        };
        let mut saw = |by: Mover, heard: &Heard| {
            let seen = seat.map(|seat| match (by, heard) {
                (_, Heard::Action(a)) => state.seen(Viewer::Seat(seat), by, *a),
                (Mover::Seat(by), Heard::Said(said)) => state.seen_said(Viewer::Seat(seat), by, said),
                (Mover::Chance, Heard::Said(_)) => Seen::default(),
            });
            let Seen { action, text } = seen.unwrap_or_default();
            past.extend(text.map(|text| Past { by, action, text, reveals: Vec::new() }));
        };
        match (*who, state.turn()) {
            (-1, Turn::Chance) => {
                let a = id(what)?;
                saw(Mover::Chance, &Heard::Action(a));
                state.play_chance(a).map_err(|e| refuse(e.message))?;
            }
            (-2, Turn::Together(seats)) => {
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
            (who, Turn::Seat(by)) if who == by as i32 => {
                turns += u32::from(seat == Some(by));
                let heard = heard(by, what)?;
                saw(Mover::Seat(by), &heard);
                let played = match &heard {
                    Heard::Action(a) => state.play(by, *a),
                    Heard::Said(said) => state.play_said(by, said),
                };
                played.map_err(|e| refuse(e.message))?;
            }
            _ => return Err(refuse(format!("{who} does not act here"))),
        }
    }
    Ok((state, past, turns))
}
