//! Trial matches that test an agent.

use std::time::Duration;

use ludex_env::GameRef;
use ludex_protocol::record::EndReason;
use ludex_referee::schedule::{Planned, Seeds};

use super::participant::Participant;
use super::run_match::HostOptions;
use super::series::Series;

/// Plays one match of the agent against itself, and one match per seat against `random`. `limit` is the time per move
/// ([`HostOptions::limit`]).
///
/// # Errors
/// Returns the failure of the first match in which the agent was at fault.
pub fn check(player: Participant, game: &GameRef, limit: Option<Duration>) -> Result<(), Unfit> {
    let random = Participant::new("random", game).map_err(|e| Unfit { why: e.to_string(), own: false })?;
    let seats = game.spec().players as usize;
    let alone = (0..seats).map(|seat| (0..seats).map(|s| usize::from(s != seat)).collect());
    let tables: Vec<Vec<usize>> = [vec![0; seats]].into_iter().chain(alone).collect();
    let plan = tables.into_iter().zip(0..).map(|(seats, pair)| Planned { pair, turn: 0, seats }).collect();
    let series = Series { game: game.clone(), players: vec![player, random], plan, seeds: Seeds::Open(0) };
    for (k, planned) in series.plan.iter().enumerate() {
        let played = series.play_asking(k, HostOptions { limit, ..HostOptions::default() });
        let Some(why) = played.failure else { continue };
        let seat = played.record.footer.at_fault.unwrap_or_default();
        let against = if k == 0 { "itself" } else { "random" };
        let (seats, events) = (planned.seats.len(), played.record.events.len());
        let why = format!("{why} (on seat {seat} of {seats} against {against}, after {events} events)");
        return Err(Unfit { why, own: played.record.footer.reason != Some(EndReason::InfraError) });
    }
    Ok(())
}

/// Failed trial match of an agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Unfit {
    pub why: String,
    /// True if the agent itself failed; false if a program or an endpoint used by the agent failed.
    pub own: bool,
}
