//! Mean score of each agent against each other agent, as a payoff matrix.

use super::PlayedGame;
use super::table::crosstable;

/// Returns `payoffs[k][l]`: the mean score of `agents[k]` against `agents[l]`, 1/2 against itself. `None` if two of
/// them never met, or with fewer than two agents.
///
/// # Panics
/// If a game names a player above all `agents`.
pub fn payoffs(agents: &[usize], games: &[PlayedGame]) -> Option<Vec<Vec<f64>>> {
    let table = crosstable(agents.iter().max()? + 1, games);
    let cell = |a: usize, b: usize| if a == b { Some(0.5) } else { Some(table[a][b].score()?.value) };
    let rows = agents.iter().map(|&a| agents.iter().map(|&b| cell(a, b)).collect());
    rows.collect::<Option<Vec<Vec<f64>>>>().filter(|_| agents.len() > 1)
}
