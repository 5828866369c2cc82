//! Mean score of each agent against each opponent, as a payoff matrix.

use ndarray::Array2;

use super::PlayedGame;
use super::table::crosstable;

/// Returns `payoffs[[k, l]]`: the mean score of `agents[k]` against `agents[l]`, and 1/2 if `k == l`. `None` if two of
/// the agents never met, or with fewer than two agents.
///
/// # Panics
/// If a player's index in `games` exceeds the largest index in `agents`.
pub fn payoffs(agents: &[usize], games: &[PlayedGame]) -> Option<Array2<f64>> {
    let (n, table) = (agents.len(), crosstable(agents.iter().max()? + 1, games));
    let cell = |(a, b): (&usize, &usize)| if a == b { Some(0.5) } else { Some(table[*a][*b].score()?.value) };
    let cells: Option<Vec<f64>> = agents.iter().flat_map(|a| agents.iter().map(move |b| (a, b))).map(cell).collect();
    Array2::from_shape_vec((n, n), cells?).ok().filter(|_| n > 1)
}
