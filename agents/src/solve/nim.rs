//! Nim, solved by the theory of Bouton, *Nim, a game with a complete mathematical theory* (1901).
//!
//! A player who leaves piles whose xor is zero wins. In misère play, once no pile has more than one object, a player
//! who leaves an odd number of piles wins.

use ludex_env::{Action, GameRef, MoveRequest};
use ludex_games::nim::View;
use serde_json::Value;

use super::solution::{Solution, SolutionResult};
use crate::error::AgentError;
use crate::typed_access::view;

pub(super) const GAME: &str = "nim";

pub(super) fn solution(game: &GameRef) -> SolutionResult {
    let is_misere = game.spec().params.get("is_misere") == Some(&Value::Bool(true));
    Ok(Box::new(Nim { is_misere }))
}

struct Nim {
    is_misere: bool,
}

/// Properties of the piles that determine the winner.
#[derive(Clone, Copy, Default)]
struct Sum {
    xor: u8,
    /// Number of piles with one object.
    single: u32,
    large: u32,
}

impl Sum {
    fn with(mut self, size: u8) -> Sum {
        self.xor ^= size;
        self.single += u32::from(size == 1);
        self.large += u32::from(size > 1);
        self
    }

    fn without(mut self, size: u8) -> Sum {
        self.xor ^= size;
        self.single -= u32::from(size == 1);
        self.large -= u32::from(size > 1);
        self
    }
}

impl Nim {
    /// Returns true if the player to move loses.
    fn is_losing(&self, sum: Sum) -> bool {
        if self.is_misere && sum.large == 0 { sum.single % 2 == 1 } else { sum.xor == 0 }
    }

    /// Returns the number of legal moves and the number of winning moves.
    fn chances(&self, piles: &[u8], sum: Sum) -> (u32, u32) {
        let mut chances = (0, 0);
        for &size in piles {
            let rest = sum.without(size);
            for left in 0..size {
                chances.0 += 1;
                chances.1 += u32::from(self.is_losing(rest.with(left)));
            }
        }
        chances
    }
}

impl Solution for Nim {
    /// Returns the winning moves. In a lost position, returns the moves after which the smallest share of the
    /// opponent's replies wins.
    fn best(&self, ask: &MoveRequest<'_>) -> Result<Vec<Action>, AgentError> {
        let mut piles = view::<View>(ask)?.piles;
        let n = piles.len().max(1);
        let sum = piles.iter().fold(Sum::default(), |sum, &size| sum.with(size));
        // Ids are (objects taken - 1) * piles + pile.
        let after = |piles: &[u8], a: Action| {
            let (pile, taken) = (a as usize % n, a as usize / n + 1);
            (pile, piles[pile].saturating_sub(taken as u8))
        };
        let wins = |&a: &Action| {
            let (pile, left) = after(&piles, a);
            self.is_losing(sum.without(piles[pile]).with(left))
        };
        let winning: Vec<Action> = ask.legal.iter().copied().filter(wins).collect();
        if !winning.is_empty() {
            return Ok(winning);
        }
        let (mut best, mut least) = (Vec::new(), (0, 1));
        for &a in ask.legal {
            let (pile, left) = after(&piles, a);
            let before = std::mem::replace(&mut piles[pile], left);
            let (moves, wins) = self.chances(&piles, sum.without(before).with(left));
            piles[pile] = before;
            // Compares shares by cross products. A move that ends the game has lost, so it counts as a certain winning
            // reply.
            let (wins, moves) = if moves == 0 { (1, 1) } else { (wins, moves) };
            let order =
                if best.is_empty() { std::cmp::Ordering::Less } else { (wins * least.1).cmp(&(least.0 * moves)) };
            if order.is_lt() {
                (best, least) = (Vec::new(), (wins, moves));
            }
            if order.is_le() {
                best.push(a);
            }
        }
        Ok(best)
    }
}
