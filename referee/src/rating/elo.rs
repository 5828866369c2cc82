//! Sequential Elo: familiar, but dependent on the order of the games, so it is not the rating to quote.

use super::PlayedGame;
use super::history::RatingHistory;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elo {
    /// Rating of a player before the first game.
    pub start: f64,
    /// Largest rating change per game.
    pub k: f64,
}

impl Default for Elo {
    fn default() -> Self {
        Elo { start: 1500.0, k: 32.0 }
    }
}

/// Returns the expected score of a player rated `ra` against an opponent rated `rb`: `1 / (1 + 10^((rb - ra) / 400))`
/// (A. Elo, *The Rating of Chessplayers*, 1978).
pub fn expected(ra: f64, rb: f64) -> f64 {
    1.0 / (1.0 + 10f64.powf((rb - ra) / 400.0))
}

/// Returns the rating of each of `players` after all games, in Elo points.
///
/// In a game of `n` seats every pair of seats counts as a game with K divided by `n - 1`; all pairs use the ratings
/// before the game.
///
/// # Panics
/// If a game names a player outside `0..players`.
pub fn elo(players: usize, games: &[PlayedGame], settings: Elo) -> Vec<f64> {
    elo_courses(players, games, settings).0
}

/// Returns the ratings of [`elo`] and each player's rating history, with one value per game.
///
/// # Panics
/// If a game names a player outside `0..players`.
pub fn elo_courses(players: usize, games: &[PlayedGame], settings: Elo) -> (Vec<f64>, Vec<RatingHistory>) {
    let mut courses = vec![RatingHistory::default(); players];
    let mut ratings = vec![settings.start; players];
    for game in games {
        let k = settings.k / (game.seats.len().max(2) - 1) as f64;
        let before = ratings.clone();
        for duel in game.duels() {
            let change = k * (duel.score - expected(before[duel.a], before[duel.b]));
            ratings[duel.a] += change;
            ratings[duel.b] -= change;
        }
        for (seat, &player) in game.seats.iter().enumerate() {
            // A player on several seats has played one game.
            if !game.seats[..seat].contains(&player) {
                courses[player].push(ratings[player]);
            }
        }
    }
    (ratings, courses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn win_against_an_equal_opponent_gains_half_of_k() {
        assert_eq!(elo(2, &[PlayedGame::two(0, 1, 1.0)], Elo::default()), [1516.0, 1484.0]);
        assert_eq!(elo(2, &[PlayedGame::two(0, 1, 0.5)], Elo { start: 1000.0, k: 10.0 }), [1000.0, 1000.0]);
    }

    #[test]
    fn elo_depends_on_order_and_conserves_points() {
        let games = [PlayedGame::two(0, 1, 1.0), PlayedGame::two(1, 0, 1.0)];
        let r = elo(2, &games, Elo::default());
        // After 1516/1484 the second player's expectation is 1 / (1 + 10^(32/400)) = 0.454078.
        assert!((r[1] - (1484.0 + 32.0 * (1.0 - 0.454_078))).abs() < 1e-3, "{r:?}");
        assert!((r[0] + r[1] - 3000.0).abs() < 1e-9);
        let (same, courses) = elo_courses(2, &games, Elo::default());
        assert_eq!((same, courses[0].points()), (r.clone(), vec![(1, 1516.0), (2, r[0])]));
    }

    #[test]
    fn three_player_game_divides_k_among_pairs_of_seats() {
        let game = PlayedGame { seats: vec![0, 1, 2], scores: vec![3.0, 2.0, 1.0], ..PlayedGame::default() };
        assert_eq!(elo(3, &[game], Elo::default()), [1516.0, 1500.0, 1484.0]);
    }
}
