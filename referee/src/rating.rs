//! Ratings from plain results: sequential Elo, TrueSkill, and the batch rating to quote.
//!
//! This module does not know games or records: a [`PlayedGame`] says who sat where and how well each seat did.
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

/// The result of one game. Lists of results are in the order of play.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlayedGame {
    /// The player (an index from 0) on each seat.
    pub seats: Vec<usize>,
    /// How well each seat did; only the order counts, equal scores are a draw.
    pub scores: Vec<f64>,
    /// The team of each seat; empty if there are no teams.
    pub teams: Vec<usize>,
    /// The seat that lost by its own fault. With three or more seats the others are then not compared with each other,
    /// because their game was not finished.
    pub forfeit: Option<usize>,
    /// Games with the same number form a block (the same seed, seats swapped) and are resampled together.
    pub pair: Option<usize>,
}

/// The comparison of two seats of one game.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Duel {
    /// One player.
    pub a: usize,
    /// The other.
    pub b: usize,
    /// What `a` got: 1 for a win, 1/2 for a draw, 0 for a loss.
    pub score: f64,
}

impl PlayedGame {
    /// A game of two.
    pub fn two(a: usize, b: usize, score_of_a: f64) -> Self {
        PlayedGame { seats: vec![a, b], scores: vec![score_of_a, 1.0 - score_of_a], ..PlayedGame::default() }
    }

    /// Every comparison of two seats: one in a game of two, `n (n - 1) / 2` in a free-for-all of `n`.
    ///
    /// Seats of one team and seats of one player are not compared. A seat without a score counts as 0.
    pub fn duels(&self) -> Vec<Duel> {
        // Adding 0 turns -0 into 0, so that both are a draw.
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

/// What the first side of a match got more than the second, by mean return per seat; and the first side's own mean.
/// `seating` says which seats are the first side's.
pub(crate) fn gain(seating: &[bool], returns: &[f64]) -> [f64; 2] {
    let mean = |who: bool| {
        let own = seating.iter().zip(returns).filter(|(first, _)| **first == who).map(|(_, r)| r);
        own.clone().sum::<f64>() / own.count().max(1) as f64
    };
    [mean(true) - mean(false), mean(true)]
}

/// What a gain is worth: 1 for a win, 1/2 for a draw, 0 for a loss. Differences of a billionth are rounding.
pub(crate) fn points(gain: f64) -> f64 {
    match gain {
        g if g > 1e-9 => 1.0,
        g if g < -1e-9 => 0.0,
        _ => 0.5,
    }
}

/// The number of players: one more than the largest index that the games name.
pub fn players(games: &[PlayedGame]) -> usize {
    games.iter().flat_map(|g| &g.seats).map(|&p| p + 1).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_for_all_is_every_pair_of_seats() {
        let game = PlayedGame { seats: vec![4, 5, 6], scores: vec![2.0, 7.0, 2.0], ..PlayedGame::default() };
        let duels: Vec<_> = game.duels().iter().map(|d| (d.a, d.b, d.score)).collect();
        assert_eq!(duels, [(4, 5, 0.0), (4, 6, 0.5), (5, 6, 1.0)]);
    }

    #[test]
    fn nothing_and_minus_nothing_are_a_draw() {
        let game = PlayedGame { seats: vec![0, 1], scores: vec![0.0, -0.0], ..PlayedGame::default() };
        assert_eq!(game.duels(), [Duel { a: 0, b: 1, score: 0.5 }]);
    }

    #[test]
    fn allies_and_mirrors_are_not_compared() {
        let game = PlayedGame {
            seats: vec![0, 1, 0],
            scores: vec![1.0, 1.0, -1.0],
            teams: vec![0, 0, 1],
            ..PlayedGame::default()
        };
        assert_eq!(game.duels(), [Duel { a: 1, b: 0, score: 1.0 }]);
    }

    #[test]
    fn a_forfeit_is_a_loss_against_each_and_says_nothing_of_the_others() {
        // The offender's score is the highest here: the fault decides all the same.
        let game =
            PlayedGame { seats: vec![0, 1, 2], scores: vec![9.0, 5.0, 1.0], forfeit: Some(0), ..PlayedGame::default() };
        assert_eq!(game.duels(), [Duel { a: 0, b: 1, score: 0.0 }, Duel { a: 0, b: 2, score: 0.0 }]);
    }
}
