//! Seats by their names, and `--seat` of the commands that play on this machine.

use anyhow::Context as _;
use ludex_env::GameRef;
use ludex_play::local::Participant;

use super::print;

/// Which agent each seat was given: all seats in order, or some by name, as in `white=human`.
pub(super) fn read(game: &GameRef, given: &[String]) -> anyhow::Result<Vec<Option<String>>> {
    let spec = game.spec();
    let seats = spec.players as usize;
    let mut named = vec![None; seats];
    let by_name: Vec<Option<(usize, &str)>> = given.iter().map(|text| split(&spec.seats, text)).collect();
    if by_name.iter().all(Option::is_none) {
        if given.is_empty() || given.len() == seats {
            named.iter_mut().zip(given).for_each(|(seat, text)| *seat = Some(text.clone()));
            return Ok(named);
        }
        let [count, given] = [(seats, "seat", "seats"), (given.len(), "--seat was", "--seat were")]
            .map(|(n, one, many)| print::count(n, one, many));
        let (names, first) = (spec.seats.join(", "), spec.seats.first().map(String::as_str).unwrap_or_default());
        anyhow::bail!(
            "{} has {count} ({names}), and {given} given; name an agent for each, e.g. --seat human --seat \"mcts sims=100\", or \
             some by their seats, e.g. --seat {first}=human",
            spec.game
        );
    }
    for (found, text) in by_name.into_iter().zip(given) {
        let (seat, agent) = found.with_context(|| {
            format!("--seat {text:?} names no seat, but others do; the seats are {}", spec.seats.join(", "))
        })?;
        let before = named[seat].replace(agent.to_owned());
        anyhow::ensure!(before.is_none(), "--seat {}=... is given twice", spec.seats[seat]);
    }
    Ok(named)
}

/// `white=human` as a seat and its agent. Names of arguments never stand first in an agent, so nothing else looks like it.
fn split<'a>(seats: &[String], text: &'a str) -> Option<(usize, &'a str)> {
    let (name, agent) = text.split_once('=')?;
    Some((position(seats, name)?, agent.trim()))
}

/// Which seat has this name.
pub(super) fn position(seats: &[String], name: &str) -> Option<usize> {
    seats.iter().position(|seat| seat.eq_ignore_ascii_case(name.trim()))
}

/// An agent for each seat.
pub(super) fn players(game: &GameRef, texts: &[String]) -> anyhow::Result<Vec<Participant>> {
    let player = |text: &String| Participant::new(text, game).with_context(|| format!("--seat {text:?}"));
    texts.iter().map(player).collect()
}

/// The same for commands that leave no seat free.
pub(super) fn all(game: &GameRef, given: &[String]) -> anyhow::Result<Vec<String>> {
    let named = read(game, given)?;
    let spec = game.spec();
    let free: Vec<&str> =
        named.iter().zip(&spec.seats).filter(|(agent, _)| agent.is_none()).map(|(_, seat)| seat.as_str()).collect();
    anyhow::ensure!(
        free.is_empty(),
        "no agent is given for {}; name an agent for each seat of {}, e.g. --seat random --seat \"mcts sims=100\"",
        free.join(", "),
        spec.game
    );
    Ok(named.into_iter().flatten().collect())
}
