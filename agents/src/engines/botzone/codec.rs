//! Mappings between Ludex games and Botzone's messages, with the game parameters that Botzone supports.

use serde_json::Value;

use ludex_env::{Action, GameRef, MoveRequest, Mover, Seat};
use ludex_games::load;

use crate::error::AgentError;

/// Mapping between a Ludex game and a Botzone game.
pub(super) struct Codec {
    /// Game string of the variant that Botzone plays.
    pub game: &'static str,
    /// Names of parameters that may have any value, since no message depends on them.
    pub free: &'static [&'static str],
    /// Message fields in the order of simplified interaction; empty if messages are text, `None` if the game does not
    /// support simplified interaction.
    pub simple: Option<&'static [&'static str]>,
    /// Response in turns without a decision; `None` if Botzone sends requests only to seats with a decision.
    pub idle: Option<&'static str>,
    /// Action that Botzone plays for a failed program; `None` if the failure loses the match.
    pub fallback: Option<Action>,
    /// Function that returns the seat's requests and responses up to the current request.
    pub talk: fn(&MoveRequest<'_>) -> Result<TurnLog, AgentError>,
    /// Function that parses a response as a legal action.
    pub read: fn(&MoveRequest<'_>, &Value) -> Option<Action>,
}

impl Codec {
    pub fn id(&self) -> &'static str {
        self.game.split('(').next().unwrap_or_default()
    }

    /// Describes the first parameter of `game` that differs from the variant that Botzone plays.
    pub fn parameter_mismatch(&self, game: &GameRef) -> Option<String> {
        let (own, asked) = (load(self.game).ok()?, &game.spec().params);
        let own = &own.spec().params;
        let mut names = asked.keys().chain(own.keys()).filter(|n| !self.free.contains(&n.as_str()));
        let name = names.find(|n| asked.get(*n) != own.get(*n))?;
        Some(match asked.get(name) {
            Some(value) => format!("Botzone does not support {name}={value}"),
            None => format!("Botzone has a {name}"),
        })
    }
}

/// Requests and responses of one seat so far, and the current request.
#[derive(Debug)]
pub(super) struct TurnLog {
    pub turns: Vec<PastTurn>,
    /// Request of the current turn.
    pub now: Value,
    /// Action already taken in reply to the current request, if the same response also contains the next action.
    pub again: Option<Action>,
}

#[derive(Debug)]
pub(super) struct PastTurn {
    pub request: Value,
    /// Action that the seat took.
    pub action: Action,
    /// Response that encodes the action.
    pub response: Value,
}

/// Returns the moves of a board game so far, alternating between the seats from `first` on. Botzone sends a request
/// even in a turn that Ludex skips; if `pass` is given, it stands for the move of such a turn.
///
/// # Errors
/// A host that does not store the moves.
pub(super) fn moves(ask: &MoveRequest<'_>, first: Seat, pass: Option<Action>) -> Result<Vec<Action>, AgentError> {
    let Some(past) = ask.past() else {
        let why = "botzone requires the move history, which this host does not store; use matches instead of batches";
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

/// Returns the messages of a game in which each seat receives the opponent's last move. The first request is `start`;
/// `messages` contains the message of each move.
pub(super) fn in_turn(
    ask: &MoveRequest<'_>,
    first: Seat,
    moves: &[Action],
    messages: &[Value],
    start: Value,
) -> TurnLog {
    let request = |ply: usize| ply.checked_sub(1).and_then(|k| messages.get(k)).unwrap_or(&start).clone();
    let own = (usize::from(ask.seat != first)..moves.len()).step_by(2);
    let turn = |ply: usize| PastTurn { request: request(ply), action: moves[ply], response: messages[ply].clone() };
    TurnLog { turns: own.map(turn).collect(), now: request(moves.len()), again: None }
}

/// Returns the values of a message's integer fields; `None` if a field is missing or not an integer.
pub(super) fn numbers<const N: usize>(message: &Value, fields: [&str; N]) -> Option<[i64; N]> {
    let all: Vec<i64> = fields.iter().map_while(|f| message.get(*f)?.as_i64()).collect();
    all.try_into().ok()
}

/// Parses an integer leniently: truncates fractions, and accepts numbers in strings.
pub(super) fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        Value::Number(n) => n.as_i64().or_else(|| n.as_f64().map(|x| x as i64)),
        _ => None,
    }
}

/// Returns the action if it is legal.
pub(super) fn legal(ask: &MoveRequest<'_>, action: Option<Action>) -> Option<Action> {
    action.filter(|a| ask.legal.binary_search(a).is_ok())
}
