//! What a game's moves are in Botzone's messages, and which parameters a game must have for them.

use serde_json::Value;

use ludex_env::{Action, GameRef, MoveRequest, Mover, Seat, load};

use crate::error::AgentError;

/// How one game of Botzone maps to a game of ours.
pub(super) struct Codec {
    /// The string that loads Botzone's version of the game here.
    pub game: &'static str,
    /// Parameters that may have any value, because no message depends on them.
    pub free: &'static [&'static str],
    /// The fields of a message in the order in which simplified interaction has them, none where messages are text; `None` where the
    /// game has no such form.
    pub simple: Option<&'static [&'static str]>,
    /// The response where nothing is to be decided: Botzone asks all seats at every step of this game. `None` where it does not.
    pub idle: Option<&'static str>,
    /// What Botzone plays for a program that fails; `None` where that loses the match.
    pub fallback: Option<Action>,
    /// All messages of the asked seat so far.
    pub talk: fn(&MoveRequest<'_>) -> Result<Talk, AgentError>,
    /// The legal action that a response means.
    pub read: fn(&MoveRequest<'_>, &Value) -> Option<Action>,
}

impl Codec {
    pub fn id(&self) -> &'static str {
        self.game.split('(').next().unwrap_or_default()
    }

    /// What is wrong with the first parameter of `game` that differs from Botzone's.
    pub fn amiss(&self, game: &GameRef) -> Option<String> {
        let (own, asked) = (load(self.game).ok()?, &game.spec().params);
        let own = &own.spec().params;
        let mut names = asked.keys().chain(own.keys()).filter(|n| !self.free.contains(&n.as_str()));
        let name = names.find(|n| asked.get(*n) != own.get(*n))?;
        Some(match asked.get(name) {
            Some(value) => format!("Botzone does not have {name}={value}"),
            None => format!("Botzone has a {name}"),
        })
    }
}

/// What was asked of one seat and answered in a match so far, and what is asked now.
#[derive(Debug)]
pub(super) struct Talk {
    /// The turns that are over.
    pub turns: Vec<Turn>,
    /// The request of this turn.
    pub now: Value,
    /// The action that the seat has taken in answer to this very request, if its response says what follows it too.
    pub again: Option<Action>,
}

/// One turn that is over.
#[derive(Debug)]
pub(super) struct Turn {
    pub request: Value,
    /// What the seat did.
    pub action: Action,
    /// The same as a response.
    pub response: Value,
}

/// The moves of a board game so far, one after the other from `first` on. A seat that was passed over without being asked is
/// taken to have played `pass`, where there is such an action: Botzone asks it.
///
/// # Errors
/// The host does not keep the moves.
pub(super) fn moves(ask: &MoveRequest<'_>, first: Seat, pass: Option<Action>) -> Result<Vec<Action>, AgentError> {
    let Some(past) = ask.past() else {
        let why = "botzone needs all moves of the match, and this host keeps none: it plays matches, not batches";
        return Err(AgentError::failed(why));
    };
    let mut all = Vec::new();
    let due = |all: &Vec<Action>| (all.len() + first) % 2;
    for one in past {
        let (Mover::Seat(seat), Some(action)) = (one.by, one.action) else { continue };
        if due(&all) != seat {
            all.extend(pass);
        }
        all.push(action);
    }
    if due(&all) != ask.seat {
        all.extend(pass);
    }
    if due(&all) != ask.seat {
        let why = format!("botzone: {} moves do not lead to a turn of seat {}", all.len(), ask.seat);
        return Err(AgentError::failed(why));
    }
    Ok(all)
}

/// The messages of a game in which each side hears the other's last move, `start` at first. `messages` are those of `moves`.
pub(super) fn in_turn(ask: &MoveRequest<'_>, first: Seat, moves: &[Action], messages: &[Value], start: Value) -> Talk {
    let request = |ply: usize| ply.checked_sub(1).and_then(|k| messages.get(k)).unwrap_or(&start).clone();
    let own = (usize::from(ask.seat != first)..moves.len()).step_by(2);
    let turn = |ply: usize| Turn { request: request(ply), action: moves[ply], response: messages[ply].clone() };
    Talk { turns: own.map(turn).collect(), now: request(moves.len()), again: None }
}

/// The whole numbers of a message's fields.
pub(super) fn numbers<const N: usize>(message: &Value, fields: [&str; N]) -> Option<[i64; N]> {
    let all: Vec<i64> = fields.iter().map_while(|f| message.get(*f)?.as_i64()).collect();
    all.try_into().ok()
}

/// A whole number as lenient judges read it: fractions are cut, and digits may be text.
pub(super) fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        Value::Number(n) => n.as_i64().or_else(|| n.as_f64().map(|x| x as i64)),
        _ => None,
    }
}

/// The action, if it is legal.
pub(super) fn legal(ask: &MoveRequest<'_>, action: Option<Action>) -> Option<Action> {
    action.filter(|a| ask.legal.binary_search(a).is_ok())
}
