//! Tic-tac-toe, solved by enumerating all 5,478 positions.

use std::collections::HashMap;
use std::sync::LazyLock;

use ludex_env::{Action, DynState, GameRef, MoveRequest, ToMove};

use super::solution::{Solution, SolutionResult};
use crate::error::AgentError;

pub(super) const GAME: &str = "tic_tac_toe";

/// Values of positions for the side to move, by the game's hash, which is unique per position. Wins are positive,
/// losses are negative, and a draw is 0. Faster wins and losses have greater absolute values.
type Table = HashMap<u64, i8>;

/// Absolute value of a position in which the game has been won.
const WON: i8 = 10;

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table::new();
    if let Ok(game) = ludex_games::load(GAME) {
        value(&*game.start(), &mut table);
    }
    table
});

pub(super) fn solution(_game: &GameRef) -> SolutionResult {
    Ok(Box::new(TicTacToe))
}

struct TicTacToe;

impl Solution for TicTacToe {
    fn best(&self, ask: &MoveRequest<'_>) -> Result<Vec<Action>, AgentError> {
        let state = ask.view().world(&mut ask.stream());
        let mut best = (i8::MIN, Vec::new());
        let mut next = state.boxed();
        for &a in ask.legal {
            next.copy_from(&*state);
            next.play_unchecked(a);
            let value = next.hash().and_then(|hash| TABLE.get(&hash));
            let value = -value.ok_or_else(|| AgentError::failed("solver: expected a position of tic_tac_toe"))?;
            if value > best.0 {
                best = (value, Vec::new());
            }
            if value == best.0 {
                best.1.push(a);
            }
        }
        Ok(best.1)
    }
}

/// Returns the value of a position for the side to move. Stores the values of this position and all following positions
/// in `table`.
fn value(state: &dyn DynState, table: &mut Table) -> i8 {
    let hash = state.hash().unwrap_or(0);
    if let Some(&known) = table.get(&hash) {
        return known;
    }
    let found = match state.turn() {
        ToMove::Seat(seat) => {
            let after = state.legal_list(seat).into_iter().map(|a| {
                let mut next = state.boxed();
                next.play_unchecked(a);
                let value = -value(&*next, table);
                value - value.signum()
            });
            after.max().unwrap_or(0)
        }
        // Only the last mover can have won.
        _ if state.returns().iter().any(|&r| r != 0.0) => -WON,
        _ => 0,
    };
    table.insert(hash, found);
    found
}
