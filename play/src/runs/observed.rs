//! The matches of a run as metrics see them: who sat where by the plan, never by name.

use std::collections::HashMap;

use ludex_referee::Verified;
use ludex_referee::rows::{Match, RowAgent, RowPart, Rows, Table};
use ludex_referee::suite::plan::{Done, Place, Plan, Results};

use super::walk::Walk;

/// The matches of a run that the plan asks for, in its order. Invalid ones are there and do not count.
pub fn observed<'g>(run: &str, plan: &Plan, done: &Results, walk: &Walk, games: &'g [Verified]) -> Rows<'g> {
    let agents = plan.agents.iter().map(|agent| RowAgent { name: agent.name.clone(), candidate: agent.candidate });
    let parts =
        plan.parts.iter().map(|part| RowPart { drawn: part.part.drawn, ..RowPart::of_game(&part.part.id, &part.game) });
    let cycles: Vec<HashMap<String, u64>> = plan.parts.iter().map(|part| part.cycles()).collect();
    let levels: Vec<HashMap<Vec<usize>, Option<u32>>> =
        plan.parts.iter().map(|part| part.pairings().into_iter().collect()).collect();
    let mut table = Table { agents: agents.collect(), parts: parts.collect(), ..Table::default() };
    for game in games {
        let Some(planned) = walk.of_episode(run, &game.record().header.episode) else { continue };
        let Some(place) = Place::parse(&planned.key) else { continue };
        let part = &plan.parts[planned.part];
        table.matches.push(Match {
            cycle: cycles[planned.part].get(&planned.key).copied().unwrap_or(0),
            level: levels[planned.part].get(&place.pairing).copied().flatten(),
            sides: part.sides(place.turn).to_vec(),
            valid: !matches!(done.get(&planned.key), Some(Done::Invalid)),
            ..Match::of(game.result(), planned.part, planned.seats.clone())
        });
    }
    Rows::new(table)
}
