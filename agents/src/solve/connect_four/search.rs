//! Alpha-beta search to the end of the game, with null windows, a transposition table and move ordering by threats.
//!
//! Scores follow Pons: 0 for a draw, positive for a win, negative for a loss. The score of a win is the number of
//! stones that the winner has left, plus one. Faster wins and slower losses therefore have greater scores.

use ludex_env::Budget;

use super::board::{BitBoard, CELLS, COLUMNS, column};

const NODES_PER_PAUSE: u64 = 1 << 14;

/// Default number of table slots: a prime, which spreads the keys.
const SMALL: usize = 1_048_573;

/// Order of columns, center first.
const ORDER: [u32; COLUMNS as usize] = [3, 2, 4, 1, 5, 0, 6];

/// Number of stones below which mirror images share a table entry. In later positions, mirroring costs more than it
/// saves.
const MIRRORED: u32 = 12;

/// Search with its transposition table. Table entries remain valid, so one search may be used for many positions.
pub struct Search<'a> {
    /// Slots: the position's key, shifted left by 8 bits, plus a bound. Bounds from 1 to `RANGE` are upper bounds,
    /// greater values are lower bounds, and 0 marks an empty slot.
    table: Vec<u64>,
    nodes: u64,
    most: u64,
    /// Budget at which the search pauses, and which may stop it.
    pub budget: Budget<'a>,
}

const WORST: i32 = -(CELLS as i32) / 2 + 3;
const BEST: i32 = (CELLS as i32 + 1) / 2 - 3;
const RANGE: i32 = BEST - WORST + 1;

impl<'a> Search<'a> {
    /// Creates a search for one move, which stops after `most` nodes.
    pub fn new(most: u64) -> Self {
        Search::sized(SMALL, most)
    }

    /// Creates a search with `slots` table slots, which stops after `most` nodes.
    pub fn sized(slots: usize, most: u64) -> Self {
        Search { table: vec![0; slots], nodes: 0, most, budget: Budget::default() }
    }

    /// Returns the exact score of a position; `None` if the search reached its node limit.
    pub fn score(&mut self, p: BitBoard) -> Option<i32> {
        let stones = |left: u32| (left as i32) / 2;
        if p.wins() != 0 {
            return Some(stones(CELLS + 1 - p.ply));
        }
        let (mut low, mut high) = (-stones(CELLS - p.ply), stones(CELLS + 1 - p.ply));
        while low < high {
            // Bisects, but tests bounds near 0 first: which side wins is easier to prove than how fast.
            let mut middle = low + (high - low) / 2;
            if middle <= 0 && low / 2 < middle {
                middle = low / 2;
            } else if middle >= 0 && high / 2 > middle {
                middle = high / 2;
            }
            let found = self.alpha_beta(p, middle, middle + 1)?;
            if found <= middle {
                high = found;
            } else {
                low = found;
            }
        }
        Some(low)
    }

    /// Returns true if the score of the side that just moved is at least `score`; `None` if the search reached its node
    /// limit. The side to move must not be able to win immediately.
    pub fn holds(&mut self, p: BitBoard, score: i32) -> Option<bool> {
        Some(self.alpha_beta(p, -score, 1 - score)? <= -score)
    }

    /// Returns the score of a position if it lies between `alpha` and `beta`, otherwise a bound; `None` at the node
    /// limit. The side to move must not be able to win immediately.
    fn alpha_beta(&mut self, p: BitBoard, mut alpha: i32, mut beta: i32) -> Option<i32> {
        self.nodes += 1;
        if self.nodes > self.most || self.nodes.is_multiple_of(NODES_PER_PAUSE) && self.budget.pause().is_err() {
            return None;
        }
        let safe = p.safe();
        if safe == 0 {
            return Some(-((CELLS - p.ply) as i32) / 2);
        }
        if p.ply + 2 >= CELLS {
            return Some(0);
        }
        let lowest = -((CELLS - 2 - p.ply) as i32) / 2;
        if alpha < lowest {
            alpha = lowest;
            if alpha >= beta {
                return Some(alpha);
            }
        }
        let mut highest = ((CELLS - 1 - p.ply) as i32) / 2;
        let key = if p.ply < MIRRORED { p.key().min(p.mirrored().key()) } else { p.key() };
        let slot = (key % self.table.len() as u64) as usize;
        if self.table[slot] >> 8 == key {
            match (self.table[slot] & 0xff) as i32 {
                bound if bound > RANGE => {
                    let least = bound - RANGE + WORST - 1;
                    if alpha < least {
                        alpha = least;
                        if alpha >= beta {
                            return Some(alpha);
                        }
                    }
                }
                bound if bound > 0 => highest = bound + WORST - 1,
                _ => {}
            }
        }
        if beta > highest {
            beta = highest;
            if alpha >= beta {
                return Some(beta);
            }
        }
        let (moves, count) = ordered(p, safe);
        for &cell in &moves[..count] {
            let found = -self.alpha_beta(p.after(cell), -beta, -alpha)?;
            if found >= beta {
                self.table[slot] = key << 8 | (found + RANGE - WORST + 1) as u64;
                return Some(found);
            }
            alpha = alpha.max(found);
        }
        self.table[slot] = key << 8 | (alpha - WORST + 1) as u64;
        Some(alpha)
    }
}

/// Returns the moves of `cells` and their number. Moves that create more threats come first, then more central moves.
pub(super) fn ordered(p: BitBoard, cells: u64) -> ([u64; COLUMNS as usize], usize) {
    let (mut moves, mut threats, mut count) = ([0; COLUMNS as usize], [0; COLUMNS as usize], 0);
    for c in ORDER {
        let cell = cells & p.cell(c);
        if cell == 0 {
            continue;
        }
        let worth = p.threats(cell);
        let mut at = count;
        while at > 0 && threats[at - 1] < worth {
            (moves[at], threats[at]) = (moves[at - 1], threats[at - 1]);
            at -= 1;
        }
        (moves[at], threats[at]) = (cell, worth);
        count += 1;
    }
    debug_assert!(moves[..count].iter().all(|&m| column(m) < COLUMNS));
    (moves, count)
}

/// Returns the first move in search order that wins, otherwise the first that draws. Returns `Some(None)` if all moves
/// lose, and `None` if the search reached its node limit.
pub(super) fn first(p: BitBoard, search: &mut Search) -> Option<Option<u64>> {
    let (moves, count) = ordered(p, p.safe());
    for score in [1, 0] {
        for &cell in &moves[..count] {
            if search.holds(p.after(cell), score)? {
                return Some(Some(cell));
            }
        }
    }
    Some(None)
}
