//! Connect Four on the standard board, played from an opening book and then by a search to the end of the game.

use std::sync::Arc;

use ludex_env::{Action, GameRef, MoveRequest};
use ludex_games::connect_four::View;

use super::solution::{Solution, SolutionResult};
use crate::agent::Agent;
use crate::error::AgentError;
use crate::search::alphabeta;
use crate::spec::AgentSpec;
use crate::typed_access::view;

mod board;
pub mod book;
mod search;
#[cfg(test)]
mod tests;

use board::BitBoard;
use search::{Search, first, ordered};

pub(super) const GAME: &str = "connect_four";

/// Maximum number of positions searched per move, which takes about half a second. Harder positions occur only in the
/// opening, which the book covers.
const MOST_NODES: u64 = 5_000_000;
/// Positions with at least this number of stones are solved for fast wins and slow losses. With fewer stones, only the
/// result counts.
const EXACT: u32 = 14;
/// Search depth of `alphabeta`, the fallback for early lost positions and for positions that are not solved within the
/// limit.
const DEPTH: &str = "8";

pub(super) fn solution(game: &GameRef) -> SolutionResult {
    let params = &game.spec().params;
    let usual = [("rows", board::ROWS), ("columns", board::COLUMNS), ("x_in_row", 4)];
    if usual.iter().any(|&(name, size)| params.get(name).is_none_or(|given| *given != size)) {
        return Err((
            "it is solved only for the standard board",
            "it plays rows=6, columns=7, x_in_row=4; alphabeta and mcts play other boards",
        ));
    }
    let fallback = AgentSpec::of(alphabeta::ENTRY, vec![("depth", DEPTH.to_owned())], "")
        .and_then(|spec| (alphabeta::ENTRY.build)(&spec, game))
        .map_err(|_| ("alphabeta does not play it", "it plays variants that alphabeta supports"))?;
    Ok(Box::new(ConnectFour { fallback }))
}

struct ConnectFour {
    fallback: Arc<dyn Agent>,
}

impl Solution for ConnectFour {
    fn best(&self, ask: &MoveRequest<'_>) -> Result<Vec<Action>, AgentError> {
        let p = BitBoard::from_rows(&view::<View>(ask)?.board);
        let mut search = Search::new(MOST_NODES);
        search.budget = ask.budget();
        let cells = book::find(p).or_else(|| best(p, &mut search)).unwrap_or(0);
        let moves: Vec<Action> = ask.legal.iter().copied().filter(|&a| p.cell(a) & cells != 0).collect();
        if !moves.is_empty() {
            return Ok(moves);
        }
        let action = self.fallback.act(ask)?.action();
        Ok(action.map_or_else(|| ask.legal.to_vec(), |a| vec![a]))
    }
}

/// Returns the cells of the best moves; `None` if the search reached its limit or an early position is lost.
fn best(p: BitBoard, search: &mut Search) -> Option<u64> {
    if p.wins() != 0 {
        return Some(p.wins());
    }
    if p.safe() == 0 {
        // The other side can win with its next move, so at least one threat is parried.
        return Some(if p.blocking_cells() == 0 { p.open() } else { p.blocking_cells() });
    }
    if p.ply < EXACT {
        return first(p, search)?;
    }
    let score = search.score(p)?;
    let (moves, count) = ordered(p, p.safe());
    let mut cells = 0;
    for &cell in &moves[..count] {
        if search.holds(p.after(cell), score)? {
            cells |= cell;
        }
    }
    Some(cells)
}
