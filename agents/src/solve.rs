//! Agents that analyze whole games.
//!
//! For `solver`, one module per game returns the optimal moves, and this module draws one of them. `cfr`, `mccfr` and
//! the stored policies of `equilibrium` solve games with hidden information over the whole [`tree`] of a game.

use std::sync::Arc;

use ludex_env::{GameRef, MoveRequest};
use ludex_protocol::Refusal;

use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::refusal::does_not_play;
use crate::spec::{AgentEntry, AgentSpec, ArgDef, ArgKind};

pub mod cfr;
pub mod connect_four;
pub mod equilibrium;
pub mod mccfr;
mod nim;
mod pig;
mod solution;
mod tic_tac_toe;
pub mod tree;

use solution::Solution;

pub(crate) const ENTRY: AgentEntry =
    AgentEntry::new("solver", "tic_tac_toe, nim, connect_four, two-player pig: plays the solved game perfectly", build)
        .args(&[
            ArgDef::new("blunder", ArgKind::Number { min: 0.0, max: 1.0 }, "probability of a random move").default("0")
        ]);

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    let id = game.spec().game.as_str();
    let refused = |why: &str, fits: &str| does_not_play(spec.name(), id, why, fits);
    let solution = match id {
        tic_tac_toe::GAME => tic_tac_toe::solution(game),
        nim::GAME => nim::solution(game),
        connect_four::GAME => connect_four::solution(game),
        pig::GAME => pig::solution(game),
        _ => Err(("it has not been solved", "it plays tic_tac_toe, nim, connect_four and pig; try alphabeta or mcts")),
    };
    let solution = solution.map_err(|(why, fits)| refused(why, fits))?;
    Ok(Arc::new(Solver { solution, blunder: spec.number("blunder").unwrap_or(0.0) }))
}

struct Solver {
    solution: Box<dyn Solution>,
    blunder: f64,
}

impl Agent for Solver {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        match ask.legal {
            [] => return Err(AgentError::failed("solver: expected at least one legal action id, got none")),
            [only] => return Ok(MoveReply::id(*only)),
            _ => {}
        }
        let mut rng = ask.stream();
        if rng.unit() < self.blunder {
            return Ok(MoveReply::id(ask.legal[rng.below(ask.legal.len())]));
        }
        let best = self.solution.best(ask)?;
        Ok(MoveReply::id(best[rng.below(best.len())]))
    }
}

#[cfg(test)]
mod tests {
    use ludex_env::{Action, AgentKey, DynState, Seat, ToMove};
    use std::collections::HashMap;

    use super::*;

    /// Returns the solution's best moves in a position.
    fn best(solution: &dyn Solution, state: &dyn DynState, seat: Seat) -> Vec<Action> {
        let legal = state.legal_list(seat);
        solution.best(&MoveRequest::on_state(state, seat, 0, &legal, AgentKey::Own(&[0; 32]))).unwrap()
    }

    /// Returns the lowest return that `seat` can get by playing the solution's moves against any replies.
    fn least(solution: &dyn Solution, state: &dyn DynState, seat: Seat, known: &mut HashMap<u64, f64>) -> f64 {
        let ToMove::Seat(mover) = state.turn() else {
            return state.returns()[seat];
        };
        let hash = state.hash().unwrap();
        if let Some(&found) = known.get(&hash) {
            return found;
        }
        let moves = if mover == seat { best(solution, state, seat) } else { state.legal_list(mover) };
        let after = moves.into_iter().map(|a| {
            let mut next = state.boxed();
            next.play(mover, a).unwrap();
            least(solution, &*next, seat, known)
        });
        let found = after.fold(1.0, f64::min);
        known.insert(hash, found);
        found
    }

    fn least_from(game: &str, seat: Seat) -> f64 {
        let game = ludex_games::load(game).unwrap();
        let solution = match game.id() {
            tic_tac_toe::GAME => tic_tac_toe::solution(&game).unwrap(),
            _ => nim::solution(&game).unwrap(),
        };
        least(&*solution, &*game.start(), seat, &mut HashMap::new())
    }

    #[test]
    fn solver_never_loses_tic_tac_toe() {
        assert_eq!([0, 1].map(|seat| least_from("tic_tac_toe", seat)), [0.0; 2]);
    }

    #[test]
    fn solver_wins_nim_from_winning_seat_against_all_replies() {
        assert_eq!(least_from("nim", 1), 1.0);
        assert_eq!(least_from("nim(is_misere=false)", 1), 1.0);
        for (sizes, is_misere) in (1..5u32.pow(3)).flat_map(|k| [(k, true), (k, false)]) {
            let piles = [sizes % 5, sizes / 5 % 5, sizes / 25];
            let [a, b, c] = piles;
            let game = format!("nim(pile_sizes={a};{b};{c},is_misere={is_misere})");
            // In a game without draws one seat can force a win: in that seat the solver must do so, from any position.
            let won = [0, 1].map(|seat| least_from(&game, seat) == 1.0);
            assert_eq!(won.iter().filter(|&&won| won).count(), 1, "{game}");
        }
    }

    #[test]
    fn solver_minimizes_winning_replies_in_lost_nim_position() {
        let game = ludex_games::load("nim").unwrap();
        let (state, solution) = (game.start(), nim::solution(&game).unwrap());
        let replies = |a| {
            let mut next = state.boxed();
            next.play(0, a).unwrap();
            (best(&*solution, &*next, 1).len(), next.legal_list(1).len())
        };
        let hardest = state.legal_list(0).into_iter().map(replies).max_by_key(|&(wins, moves)| moves * 100 / wins);
        for a in best(&*solution, &*state, 0) {
            assert_eq!(Some(replies(a)), hardest);
        }
    }

    #[test]
    fn blunder_is_drawn_from_all_legal_moves() {
        let game = ludex_games::load("nim(is_misere=false,pile_sizes=1;2)").unwrap();
        let state = game.start();
        let legal = state.legal_list(0);
        let moves = |spec: &str| {
            let agent = crate::build(spec, &game).unwrap();
            let played = |turn| agent.act(&MoveRequest::on_state(&*state, 0, turn, &legal, AgentKey::Own(&[1; 32])));
            (0..400).map(|turn| played(turn).unwrap()).collect::<Vec<_>>()
        };
        // The only winning move leaves two piles of one.
        let win = MoveReply::id(1);
        assert!(moves("solver").iter().all(|mv| *mv == win));
        let wins = moves("solver blunder=0.6").iter().filter(|mv| **mv == win).count();
        assert!((200..280).contains(&wins), "0.4 + 0.6/3 of 400 are 240, not {wins}");
    }
}
