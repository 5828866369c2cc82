//! Ratings from game results. Quote the anchored rating, which rates all games in one batch; Elo, Glicko-2 and
//! TrueSkill are sequential.
//!
//! This module does not depend on games or records: a [`PlayedGame`] holds the player and the score of each seat.
//! `docs/ratings.md` explains the formulas, and which rating to quote.

pub mod alpha;
pub mod anchored;
pub mod elo;
pub mod glicko;
pub mod history;
mod linear;
pub mod nash;
pub mod payoffs;
pub mod progress;
pub mod table;
pub mod trueskill;

/// Result of one game. Lists of results are in the order of play.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlayedGame {
    /// Player index of each seat, from 0.
    pub seats: Vec<usize>,
    /// Score of each seat. Only comparisons matter: the seat with the higher score wins, and equal scores are a draw.
    pub scores: Vec<f64>,
    /// Team of each seat; empty without teams.
    pub teams: Vec<usize>,
    /// Seat that forfeited. With three or more seats, the remaining seats are then not compared with each other,
    /// because their game was not finished.
    pub forfeit: Option<usize>,
    /// Block number. Games of one block (the same seed, seats swapped) are resampled together.
    pub pair: Option<usize>,
}

/// Comparison of two seats of one game.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Duel {
    pub a: usize,
    pub b: usize,
    /// Score of `a`: 1 for a win, 1/2 for a draw, 0 for a loss.
    pub score: f64,
}

impl PlayedGame {
    /// Creates the result of a two-player game.
    pub fn two(a: usize, b: usize, score_of_a: f64) -> Self {
        PlayedGame { seats: vec![a, b], scores: vec![score_of_a, 1.0 - score_of_a], ..PlayedGame::default() }
    }

    /// Returns every comparison of two seats: one comparison in a two-player game, and `n (n - 1) / 2` in a
    /// free-for-all of `n` seats.
    ///
    /// Seats of one team and seats of one player are not compared. A seat without a score counts as 0.
    pub fn duels(&self) -> Vec<Duel> {
        // Adding 0 turns -0 into 0, so that -0 and 0 compare as a draw.
        let score = |seat: usize| self.scores.get(seat).copied().unwrap_or(0.0) + 0.0;
        let mut out = Vec::new();
        for (i, &a) in self.seats.iter().enumerate() {
            for (j, &b) in self.seats.iter().enumerate().skip(i + 1) {
                let allied = self.teams.get(i).is_some_and(|t| self.teams.get(j) == Some(t));
                let unplayed = self.forfeit.is_some_and(|f| f != i && f != j);
                if a == b || allied || unplayed {
                    continue;
                }
                let score = match score(i).total_cmp(&score(j)) {
                    _ if self.forfeit == Some(i) => 0.0,
                    _ if self.forfeit == Some(j) => 1.0,
                    std::cmp::Ordering::Greater => 1.0,
                    std::cmp::Ordering::Equal => 0.5,
                    std::cmp::Ordering::Less => 0.0,
                };
                out.push(Duel { a, b, score });
            }
        }
        out
    }
}

/// Returns the lead and the mean return of the first side. The lead is the mean return per seat of the first side minus
/// the mean return per seat of the second side. `seating[k]` is true if seat `k` belongs to the first side.
pub fn gain(seating: &[bool], returns: &[f64]) -> [f64; 2] {
    let mean = |who: bool| {
        let own = seating.iter().zip(returns).filter(|(first, _)| **first == who).map(|(_, r)| r);
        own.clone().sum::<f64>() / own.count().max(1) as f64
    };
    [mean(true) - mean(false), mean(true)]
}

/// Converts a lead in returns to points: 1 for a positive lead (win), 1/2 for zero (draw), 0 for a negative lead
/// (loss). A lead of at most 1e-9 in absolute value counts as zero, to absorb rounding errors.
pub fn points(gain: f64) -> f64 {
    match gain {
        g if g > 1e-9 => 1.0,
        g if g < -1e-9 => 0.0,
        _ => 0.5,
    }
}

/// Returns the number of players in the games, which is the largest player index plus 1.
pub fn players(games: &[PlayedGame]) -> usize {
    games.iter().flat_map(|g| &g.seats).map(|&p| p + 1).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_for_all_compares_every_pair_of_seats() {
        let game = PlayedGame { seats: vec![4, 5, 6], scores: vec![2.0, 7.0, 2.0], ..PlayedGame::default() };
        let duels: Vec<_> = game.duels().iter().map(|d| (d.a, d.b, d.score)).collect();
        assert_eq!(duels, [(4, 5, 0.0), (4, 6, 0.5), (5, 6, 1.0)]);
    }

    #[test]
    fn negative_zero_ties_with_zero() {
        let game = PlayedGame { seats: vec![0, 1], scores: vec![0.0, -0.0], ..PlayedGame::default() };
        assert_eq!(game.duels(), [Duel { a: 0, b: 1, score: 0.5 }]);
    }

    #[test]
    fn seats_of_the_same_team_or_player_are_not_compared() {
        let game = PlayedGame {
            seats: vec![0, 1, 0],
            scores: vec![1.0, 1.0, -1.0],
            teams: vec![0, 0, 1],
            ..PlayedGame::default()
        };
        assert_eq!(game.duels(), [Duel { a: 1, b: 0, score: 1.0 }]);
    }

    #[test]
    fn forfeit_is_a_loss_to_each_opponent() {
        // The offender has the highest score here, but the forfeit decides.
        let game =
            PlayedGame { seats: vec![0, 1, 2], scores: vec![9.0, 5.0, 1.0], forfeit: Some(0), ..PlayedGame::default() };
        assert_eq!(game.duels(), [Duel { a: 0, b: 1, score: 0.0 }, Duel { a: 0, b: 2, score: 0.0 }]);
    }
}
