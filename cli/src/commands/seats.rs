//! Seat names, and the option `--seat` of commands that play locally.

use anyhow::Context as _;
use ludex_env::GameRef;
use ludex_play::local::Participant;

/// Parses `--seat` options into one agent text per seat. The options give all seats in order, or some seats by name as
/// in `white=human`.
pub(super) fn parse(game: &GameRef, given: &[String]) -> anyhow::Result<Vec<Option<String>>> {
    let spec = game.spec();
    let seats = spec.players as usize;
    let mut named = vec![None; seats];
    let by_name: Vec<Option<(usize, &str)>> = given.iter().map(|text| split(&spec.seats, text)).collect();
    if by_name.iter().all(Option::is_none) {
        if given.is_empty() || given.len() == seats {
            named.iter_mut().zip(given).for_each(|(seat, text)| *seat = Some(text.clone()));
            return Ok(named);
        }
        let (names, first) = (spec.seats.join(", "), spec.seats.first().map(String::as_str).unwrap_or_default());
        anyhow::bail!(
            "expected --seat for each of the {seats} seats of {} ({names}), got {}; e.g. --seat human --seat \"mcts sims=100\", \
             or some by name, e.g. --seat {first}=human",
            spec.game,
            given.len()
        );
    }
    for (found, text) in by_name.into_iter().zip(given) {
        let (seat, agent) = found
            .with_context(|| format!("--seat: expected SEAT=AGENT, got {text:?}; seats: {}", spec.seats.join(", ")))?;
        let earlier = named[seat].replace(agent.to_owned());
        anyhow::ensure!(earlier.is_none(), "--seat: duplicate {}", spec.seats[seat]);
    }
    Ok(named)
}

/// Splits `white=human` into seat and agent. Specs do not start with an argument `NAME=VALUE`, so the split is
/// unambiguous.
fn split<'a>(seats: &[String], text: &'a str) -> Option<(usize, &'a str)> {
    let (name, agent) = text.split_once('=')?;
    Some((position(seats, name)?, agent.trim()))
}

/// Returns the index of the seat named `name`.
pub(super) fn position(seats: &[String], name: &str) -> Option<usize> {
    seats.iter().position(|seat| seat.eq_ignore_ascii_case(name.trim()))
}

/// Builds the agents of all seats from their texts.
pub(super) fn players(game: &GameRef, texts: &[String]) -> anyhow::Result<Vec<Participant>> {
    let player = |text: &String| Participant::new(text, game).with_context(|| format!("--seat {text:?}"));
    texts.iter().map(player).collect()
}

/// Parses `--seat` options, which must give an agent for every seat.
pub(super) fn parse_all(game: &GameRef, given: &[String]) -> anyhow::Result<Vec<String>> {
    let named = parse(game, given)?;
    let spec = game.spec();
    let free: Vec<&str> =
        named.iter().zip(&spec.seats).filter(|(agent, _)| agent.is_none()).map(|(_, seat)| seat.as_str()).collect();
    anyhow::ensure!(
        free.is_empty(),
        "--seat: expected an agent for {} of {}, e.g. --seat random --seat \"mcts sims=100\"",
        free.join(", "),
        spec.game
    );
    Ok(named.into_iter().flatten().collect())
}
