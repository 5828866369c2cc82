//! What is said about specs that are wrong, and about agents that do not play a game.

use ludex_protocol::error::{did_you_mean, nearest, truncate_text};
use ludex_protocol::{ErrorCode, Refusal};

/// A refusal of a spec that needs no more than its sentence.
pub(crate) fn bad_spec(message: impl Into<String>) -> Refusal {
    Refusal::new(ErrorCode::UnknownAgent, message)
}

/// The agent does not play this game because of `why`; `fits` says what would. For the builders of agents.
pub fn does_not_play(agent: &str, game: &str, why: &str, fits: &str) -> Refusal {
    let message = format!("{agent} does not play {game}: {why}; {fits}");
    bad_spec(message).got(truncate_text(agent)).allowed(vec![fits])
}

/// A name that is not among `known`. `what` says of what kind it is: `agent`, or `argument of mcts`.
pub(crate) fn unknown(what: &str, got: &str, known: Vec<&str>) -> Refusal {
    let refusal = bad_spec(format!("there is no {what} {got:?}{}", did_you_mean(got, &known)));
    let refusal = refusal.got(truncate_text(got)).allowed(known.as_slice());
    match nearest(got, known.iter().copied()) {
        Some(near) => refusal.nearest(near),
        None => refusal,
    }
}

/// A value that the argument `name` does not accept.
pub(crate) fn bad_value(name: &str, got: &str, allowed: &str) -> Refusal {
    let message = format!("{name}={got} is not accepted: {allowed}");
    bad_spec(message).path(name).got(truncate_text(got)).allowed(vec![allowed])
}
