//! Matches of a run as metric input. Agents are assigned to seats by the plan, never by name.

use std::collections::HashMap;

use ludex_referee::VerifiedRecord;
use ludex_referee::result::GameResult;
use ludex_referee::rows::{MetricMatch, ResultTable, RowAgent, RowPart, Rows};
use ludex_referee::suite::plan::{MatchKey, Plan, PlannedPart};

use super::plan_progress::PlanProgress;

/// Returns the matches that the plan requires, in plan order. Invalid matches are included and marked as invalid.
pub fn observed<'g>(run: &str, plan: &Plan, walk: &PlanProgress, games: &'g [VerifiedRecord]) -> Rows<'g> {
    Rows::new(table(run, plan, walk, games))
}

/// Returns the matches of [`observed`] as a table, to which other runs can be added ([`join`]).
pub fn table<'g>(run: &str, plan: &Plan, walk: &PlanProgress, games: &'g [impl AsRef<GameResult>]) -> ResultTable<'g> {
    let agents = plan.agents.iter().map(|agent| RowAgent { name: agent.name.clone(), candidate: agent.candidate });
    let parts = plan.parts.iter().map(|PlannedPart { part, game, .. }| RowPart {
        drawn: part.drawn,
        contest: part.stop.is_some(),
        only_a: part.itself,
        ..RowPart::of_game(&part.id, game)
    });
    let cycles: Vec<HashMap<String, u64>> = plan.parts.iter().map(|part| part.cycles()).collect();
    let levels: Vec<HashMap<Vec<usize>, Option<u32>>> =
        plan.parts.iter().map(|part| part.pairings().into_iter().collect()).collect();
    let mut table = ResultTable { agents: agents.collect(), parts: parts.collect(), ..ResultTable::default() };
    for game in games.iter().map(AsRef::as_ref) {
        let Some(planned) = walk.of_episode(run, &game.episode) else { continue };
        let Some(place) = MatchKey::parse(&planned.key) else { continue };
        let part = &plan.parts[planned.part];
        table.matches.push(MetricMatch {
            cycle: cycles[planned.part].get(&planned.key).copied().unwrap_or(0),
            level: levels[planned.part].get(&place.pairing).copied().flatten(),
            sides: part.sides(place.turn).to_vec(),
            valid: !planned.replayed,
            ..MetricMatch::of(game, planned.part, planned.seats.clone())
        });
    }
    table
}

/// Joins matches of several runs of one suite. Candidates with equal names become one agent, and so do opponents.
pub fn join<'g>(tables: impl IntoIterator<Item = ResultTable<'g>>) -> ResultTable<'g> {
    let mut out = ResultTable::default();
    for table in tables {
        let place = |agent: &RowAgent| match out.agents.iter().position(|known| known == agent) {
            Some(at) => at,
            None => {
                out.agents.push(agent.clone());
                out.agents.len() - 1
            }
        };
        let agents: Vec<usize> = table.agents.iter().map(place).collect();
        let part = |part: &RowPart| match out.parts.iter().position(|known| known.id == part.id) {
            Some(at) => at,
            None => {
                out.parts.push(part.clone());
                out.parts.len() - 1
            }
        };
        let parts: Vec<usize> = table.parts.iter().map(part).collect();
        // Each run has its own plan. The matches of a run come after the matches of all earlier runs.
        let before = out.matches.iter().map(|game| game.order + 1).max().unwrap_or(0);
        out.matches.extend(table.matches.into_iter().map(|mut game| {
            game.part = parts[game.part];
            game.players.iter_mut().for_each(|player| *player = agents[*player]);
            game.order += before;
            game
        }));
        out.fixed.extend(table.fixed.into_iter().map(|(agent, rating)| (agents[agent], rating)));
    }
    out
}
