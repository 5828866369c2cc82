//! Refusals of invalid specs and of games that an agent does not support.

use ludex_protocol::error::{did_you_mean, nearest, truncate_text};
use ludex_protocol::{ErrorCode, Refusal};

/// Creates a refusal of a spec, with only a message.
pub(crate) fn bad_spec(message: impl Into<String>) -> Refusal {
    Refusal::new(ErrorCode::UnknownAgent, message)
}

/// Creates a refusal for a game that the agent does not support. `why` is the reason; `fits` names supported games or
/// an agent that supports this game.
pub fn does_not_play(agent: &str, game: &str, why: &str, fits: &str) -> Refusal {
    let message = format!("{agent} does not play {game}: {why}; {fits}");
    bad_spec(message).got(truncate_text(agent)).allowed(vec![fits])
}

/// Creates a refusal for a name that is not in `known`. `what` describes what is named, such as `agent` or
/// `argument of mcts`.
pub(crate) fn unknown(what: &str, got: &str, known: Vec<&str>) -> Refusal {
    let refusal = bad_spec(format!("there is no {what} {got:?}{}", did_you_mean(got, &known)));
    let refusal = refusal.got(truncate_text(got)).allowed(known.as_slice());
    match nearest(got, known.iter().copied()) {
        Some(near) => refusal.nearest(near),
        None => refusal,
    }
}

/// Creates a refusal for a value that the argument `name` does not accept.
pub(crate) fn bad_value(name: &str, got: &str, allowed: &str) -> Refusal {
    let message = format!("{name}={got} is not accepted; allowed: {allowed}");
    bad_spec(message).path(name).got(truncate_text(got)).allowed(vec![allowed])
}
