//! Win, draw and loss tables, with Wilson score intervals.

use std::borrow::Borrow;

use serde::Serialize;

use super::PlayedGame;

/// Two-sided 95 % quantile of the normal distribution.
pub const Z95: f64 = 1.959_963_984_540_054;

/// Estimate with a 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    pub value: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
}

/// Counts of wins, draws and losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    pub wins: u64,
    pub draws: u64,
    pub losses: u64,
}

impl Tally {
    /// Counts one comparison: 1 is a win, 1/2 a draw, 0 a loss.
    pub fn add(&mut self, score: f64) {
        match score {
            s if s > 0.5 => self.wins += 1,
            s if s < 0.5 => self.losses += 1,
            _ => self.draws += 1,
        }
    }

    /// Returns the number of comparisons.
    pub fn games(&self) -> u64 {
        self.wins + self.draws + self.losses
    }

    /// Returns the share of points with its Wilson interval, where a draw is half a point; `None` without games.
    ///
    /// The interval treats every game as one trial with probability `value`. The interval is exact without draws, and
    /// too wide with draws, because a draw varies less than a win or a loss.
    pub fn score(&self) -> Option<Interval> {
        wilson(self.wins as f64 + 0.5 * self.draws as f64, self.games() as f64)
    }
}

/// Returns Wilson's score interval (E. B. Wilson, 1927) at 95 % for `hits` of `n`; `None` unless `n` is positive.
///
/// `(p + z^2/2n +- z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n)`, with `p = hits / n` and `z` = [`Z95`]
pub fn wilson(hits: f64, n: f64) -> Option<Interval> {
    if n <= 0.0 {
        return None;
    }
    let (p, z2) = (hits / n, Z95 * Z95);
    let middle = p + z2 / (2.0 * n);
    let half = Z95 * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).max(0.0).sqrt();
    let whole = 1.0 + z2 / n;
    Some(Interval { value: p, low: ((middle - half) / whole).max(0.0), high: ((middle + half) / whole).min(1.0) })
}

/// Results of all pairs: `table[a][b]` holds the results of player `a` against player `b`.
pub type Crosstable = Vec<Vec<Tally>>;

/// Counts all comparisons of seats ([`PlayedGame::duels`]) by pair of players.
///
/// # Panics
/// If a game names a player outside `0..players`.
pub fn crosstable(players: usize, games: impl IntoIterator<Item = impl Borrow<PlayedGame>>) -> Crosstable {
    let mut out = vec![vec![Tally::default(); players]; players];
    for duel in games.into_iter().flat_map(|game| game.borrow().duels()) {
        out[duel.a][duel.b].add(duel.score);
        out[duel.b][duel.a].add(1.0 - duel.score);
    }
    out
}

/// Sums a row of a crosstable: a player's wins, draws and losses against all opponents.
pub fn total(row: &[Tally]) -> Tally {
    row.iter().fold(Tally::default(), |sum, t| Tally {
        wins: sum.wins + t.wins,
        draws: sum.draws + t.draws,
        losses: sum.losses + t.losses,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilson_interval_agrees_with_published_examples() {
        // 81 of 263: Newcombe (1998), table I, method 3; and 0 of 20, 1 of 29 from the same table.
        for (hits, n, low, high) in
            [(81.0, 263.0, 0.2553, 0.3662), (0.0, 20.0, 0.0, 0.1611), (1.0, 29.0, 0.0061, 0.1718)]
        {
            let got = wilson(hits, n).unwrap();
            assert!((got.low - low).abs() < 5e-5 && (got.high - high).abs() < 5e-5, "{hits}/{n}: {got:?}");
        }
        assert_eq!(wilson(0.0, 0.0), None);
    }

    #[test]
    fn crosstable_counts_a_game_for_both_players() {
        let games = [PlayedGame::two(0, 1, 1.0), PlayedGame::two(1, 0, 0.5), PlayedGame::two(2, 0, 1.0)];
        let t = crosstable(3, &games);
        assert_eq!(t[0][1], Tally { wins: 1, draws: 1, losses: 0 });
        assert_eq!(t[1][0], Tally { wins: 0, draws: 1, losses: 1 });
        assert_eq!(total(&t[0]), Tally { wins: 1, draws: 1, losses: 1 });
        assert_eq!(total(&t[0]).score().unwrap().value, 0.5);
    }
}
