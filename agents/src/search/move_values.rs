//! Estimated values of all legal moves in a position, by the search of `mcts`.
//!
//! No result is backed up as proven, so the search spends all its simulations, and each value is a mean of simulated
//! returns. The values depend on the position as its seat sees it, the number of simulations and the request's key alone.

use ludex_env::{Action, GameRef, MoveRequest};
use ludex_protocol::Refusal;

use super::mcts::Mcts;

/// Estimate of the value of a move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MoveValue {
    pub action: Action,
    /// Mean return of the seat in the simulations that begin with the move, from the position on.
    pub mean: f64,
    /// Number of these simulations.
    pub visits: u64,
}

/// Estimates of the values of all legal moves in a position.
#[derive(Clone, Debug, PartialEq)]
pub struct MoveValues {
    /// Estimates in the order of the legal actions.
    pub moves: Vec<MoveValue>,
    /// Difference between the greatest and the least simulated return.
    pub spread: f64,
}

impl MoveValues {
    /// Returns the estimate of a move; `None` for a move that is illegal.
    pub fn of(&self, action: Action) -> Option<&MoveValue> {
        self.moves.iter().find(|found| found.action == action)
    }

    /// Returns the move with the most simulations, the first in a tie; `None` without moves.
    pub fn best(&self) -> Option<&MoveValue> {
        self.moves.iter().reduce(|best, other| if other.visits > best.visits { other } else { best })
    }

    /// Returns true if `better` is worth more than `worse` by more than two standard errors of the difference. The error
    /// of a mean is the greatest possible one: half the [`spread`](Self::spread) by the root of the simulations.
    pub fn is_better(&self, better: &MoveValue, worse: &MoveValue) -> bool {
        if better.visits == 0 || worse.visits == 0 {
            return false;
        }
        let variance = 1.0 / better.visits as f64 + 1.0 / worse.visits as f64;
        better.mean - worse.mean > self.spread * variance.sqrt()
    }
}

/// Search that estimates the values of all legal moves.
pub struct MoveValueSearch(Mcts);

impl MoveValueSearch {
    /// Prepares the search of a game, with this number of simulations per position.
    ///
    /// # Errors
    /// A number of simulations that `mcts` refuses.
    pub fn new(game: &GameRef, sims: u64) -> Result<Self, Refusal> {
        Mcts::estimator(game, sims).map(MoveValueSearch)
    }

    /// Estimates the value of each legal move of a request.
    pub fn values(&self, ask: &MoveRequest<'_>) -> MoveValues {
        let (means, spread) = self.0.root_means(ask);
        let moves = ask.legal.iter().zip(means);
        MoveValues {
            moves: moves.map(|(&action, (mean, visits))| MoveValue { action, mean, visits }).collect(),
            spread,
        }
    }
}

#[cfg(test)]
mod tests {
    use ludex_env::AgentKey;

    use super::*;

    fn values(game: &str, moves: &[Action], sims: u64) -> MoveValues {
        let game = ludex_games::load(game).unwrap();
        let mut state = game.start();
        for &a in moves {
            let seat = state.turn().seat().unwrap();
            state.play(seat, a).unwrap();
        }
        let seat = state.turn().seat().unwrap();
        let legal = state.legal_list(seat);
        let ask = MoveRequest::on_state(&*state, seat, 0, &legal, AgentKey::Own(&[0; 32]));
        MoveValueSearch::new(&game, sims).unwrap().values(&ask)
    }

    #[test]
    fn winning_move_is_better_than_losing_moves() {
        // x has the first two cells of the top row.
        let found = values("tic_tac_toe", &[0, 3, 1, 4], 1000);
        let best = *found.best().unwrap();
        assert_eq!((best.action, best.mean), (2, 1.0));
        assert!(found.moves.iter().map(|mv| mv.visits).sum::<u64>() > 900);
        // After these moves, o wins at once.
        for losing in [6, 7, 8].map(|a| found.of(a).unwrap()) {
            assert!(found.is_better(&best, losing) && !found.is_better(losing, &best), "{found:?}");
        }
        assert_eq!(found, values("tic_tac_toe", &[0, 3, 1, 4], 1000));
    }

    #[test]
    fn equal_moves_are_not_ranked() {
        // By symmetry, all corners are equal.
        let found = values("tic_tac_toe", &[4], 2000);
        for [a, b] in [[0, 2], [2, 0], [6, 8], [8, 6]] {
            assert!(!found.is_better(found.of(a).unwrap(), found.of(b).unwrap()), "{found:?}");
        }
        let few = MoveValues { spread: 2.0, moves: Vec::new() };
        let [good, bad] = [0.9, -0.9].map(|mean| MoveValue { action: 0, mean, visits: 2 });
        assert!(!few.is_better(&good, &bad));
        let [good, bad] = [good, bad].map(|mv| MoveValue { visits: 20, ..mv });
        assert!(few.is_better(&good, &bad) && !few.is_better(&bad, &good) && few.best().is_none());
    }
}
