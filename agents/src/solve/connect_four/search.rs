//! Alpha-beta over whole games, with null windows, a transposition table and moves ordered by the threats that they make.
//!
//! Scores are Pons's: 0 for a draw; for a win, the number of stones that the winner has left after it, plus one; negative for
//! a loss. So quicker wins and later losses score more, and a score's sign is the game's result.

use super::board::{CELLS, COLUMNS, Position, column};

/// Slots of the table: a prime, so that keys spread.
const SMALL: usize = 1_048_573;

/// The centre first.
const ORDER: [u32; COLUMNS as usize] = [3, 2, 4, 1, 5, 0, 6];

/// With fewer stones than this, a position and its mirror image are one; later making the mirror image costs more than it saves.
const MIRRORED: u32 = 12;

/// A search and what it has found out, which is true of every position: one search may answer about many.
pub struct Search {
    /// Key of the position above 8 bits of bound: 1 to `RANGE` an upper bound, above a lower one; 0 is empty.
    table: Vec<u64>,
    nodes: u64,
    most: u64,
}

const WORST: i32 = -(CELLS as i32) / 2 + 3;
const BEST: i32 = (CELLS as i32 + 1) / 2 - 3;
const RANGE: i32 = BEST - WORST + 1;

impl Search {
    /// With a table for single moves, giving up after `most` nodes.
    pub fn new(most: u64) -> Search {
        Search::sized(SMALL, most)
    }

    /// With this many slots.
    pub fn sized(slots: usize, most: u64) -> Search {
        Search { table: vec![0; slots], nodes: 0, most }
    }

    /// The exact score; `None` if the search gave up.
    pub fn score(&mut self, p: Position) -> Option<i32> {
        let stones = |left: u32| (left as i32) / 2;
        if p.wins() != 0 {
            return Some(stones(CELLS + 1 - p.ply));
        }
        let (mut low, mut high) = (-stones(CELLS - p.ply), stones(CELLS + 1 - p.ply));
        while low < high {
            // From the middle on, but first near 0: results are easier to tell than distances.
            let mut middle = low + (high - low) / 2;
            if middle <= 0 && low / 2 < middle {
                middle = low / 2;
            } else if middle >= 0 && high / 2 > middle {
                middle = high / 2;
            }
            let found = self.within(p, middle, middle + 1)?;
            if found <= middle {
                high = found;
            } else {
                low = found;
            }
        }
        Some(low)
    }

    /// Whether the side that is not to move, which cannot be beaten at once, has at least `score`; `None` if the search gave up.
    pub fn holds(&mut self, p: Position, score: i32) -> Option<bool> {
        Some(self.within(p, -score, 1 - score)? <= -score)
    }

    /// The score of a position without a win in one, if it lies between `alpha` and `beta`; else a bound beyond them.
    fn within(&mut self, p: Position, mut alpha: i32, mut beta: i32) -> Option<i32> {
        self.nodes += 1;
        if self.nodes > self.most {
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
            let found = -self.within(p.after(cell), -beta, -alpha)?;
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

/// The moves of `cells`, most threats first, of equals the most central; and how many.
pub(super) fn ordered(p: Position, cells: u64) -> ([u64; COLUMNS as usize], usize) {
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

/// The first move, by the search's own order, that wins, or else draws; `Some(None)` where all lose.
pub(super) fn first(p: Position, search: &mut Search) -> Option<Option<u64>> {
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
