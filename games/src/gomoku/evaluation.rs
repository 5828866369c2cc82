//! Static evaluation for the side to move, and candidate moves for search.

use ludex_env::game::Action;

use super::lines::Shape;
use super::points::Points;
use super::{Gomoku, State};

/// Maximum number of candidate moves if no threat forces a move.
const WIDTH: usize = 20;
/// Maximum number of candidate moves that search tries in sorted order.
const FRONT: usize = 8;
/// Weight of the mover's lines relative to the opponent's lines.
const TEMPO: f64 = 1.5;
/// Lead in line values that yields half of the maximum score: a few open threes.
const LEAD: f64 = 400.0;

impl Gomoku {
    /// Returns the line statistics of the side to move and of its opponent.
    fn shapes(&self, s: &State) -> [Shape; 2] {
        let mover = usize::from(s.ply & 1);
        let (mine, theirs) = (&s.stones[mover], &s.stones[1 - mover]);
        let mut shapes = [self.lines.shape(mine, theirs), self.lines.shape(theirs, mine)];
        for (shape, side) in shapes.iter_mut().zip([mine, theirs]) {
            self.lines.keep_winning(side, &mut shape.wins);
        }
        shapes
    }

    /// Evaluates an unfinished position for the side to move. The mover wins if it can complete a line now. It loses if
    /// it cannot block all lines that the opponent can complete. It wins later if the opponent has no such line and the
    /// mover can create a line that is open at both ends. Otherwise the values of the open lines are compared.
    pub(super) fn guess(&self, s: &State) -> f64 {
        let [mine, theirs] = self.shapes(s);
        let threats = theirs.wins.len();
        if !mine.wins.is_empty() {
            0.99
        } else if threats > 1 {
            -0.98
        } else if threats == 0 && !mine.opening.is_empty() {
            0.97
        } else {
            let lead = TEMPO * mine.worth - theirs.worth;
            0.9 * lead / (lead.abs() + LEAD)
        }
    }

    /// Returns the points at which the mover wins, or else the points that it must block; `None` without either.
    fn forced(mine: &Shape, theirs: &Shape) -> Option<Points> {
        [mine.wins, theirs.wins].into_iter().find(|points| !points.is_empty())
    }

    /// Lists candidates by line score: winning points, else points that block a win, else points that create or stop an
    /// open line, else points near stones. Returns the number of candidates that search tries in this order.
    pub(super) fn candidates(&self, s: &State, out: &mut Vec<Action>) -> usize {
        let [mine, theirs] = self.shapes(s);
        let stones = s.stones[0] | s.stones[1];
        let choice = if let Some(points) = Self::forced(&mine, &theirs) {
            points
        } else if !mine.opening.is_empty() {
            mine.opening | mine.threats
        } else if !theirs.opening.is_empty() {
            mine.threats | theirs.threats
        } else {
            self.near(stones) & self.empty(s)
        };
        let mover = usize::from(s.ply & 1);
        let mut scores = [0; super::points::ROOM];
        // Own lines count a little more than the opponent's.
        self.lines.add_scores(&s.stones[mover], &s.stones[1 - mover], 5, &mut scores);
        self.lines.add_scores(&s.stones[1 - mover], &s.stones[mover], 4, &mut scores);
        let from = out.len();
        out.extend(choice.iter().map(|point| point as Action));
        out[from..].sort_by_key(|&a| std::cmp::Reverse(scores[a as usize]));
        out.truncate(from + WIDTH);
        (out.len() - from).min(FRONT)
    }

    /// Returns the points around the stones, or around the center of an empty board. Returns all points if no point
    /// around the stones is free.
    fn near(&self, stones: Points) -> Points {
        let size = self.params.size as usize;
        let stones = if stones.is_empty() {
            let mut middle = Points::default();
            middle.put(size / 2 * size + size / 2);
            middle
        } else {
            stones
        };
        let mut near = Points::default();
        for point in stones.iter() {
            near = near | self.around[point];
        }
        let free = near & !stones;
        // If the stones have no free point around them, all points are candidates.
        if (free & self.board).is_empty() { self.board } else { near }
    }

    /// Lists winning points or forced blocks; without these, lists the mover's threats and returns true, because
    /// the mover may decline them.
    pub(super) fn forcing(&self, s: &State, out: &mut Vec<Action>) -> bool {
        let [mine, theirs] = self.shapes(s);
        let forced = Self::forced(&mine, &theirs);
        // A line that can be completed at both ends wins, so no further search is needed.
        let quiet = if mine.opening.is_empty() { mine.threats } else { Points::default() };
        out.extend(forced.unwrap_or(quiet).iter().map(|point| point as Action));
        forced.is_none()
    }
}

/// Returns, for each point of a board of `size` x `size`, the points at most two rows and two columns away.
pub(super) fn around(size: u32) -> Vec<Points> {
    let n = size as usize;
    let close = |a: usize, b: usize| a.abs_diff(b) <= 2;
    let set = |at: usize| {
        let mut set = Points::default();
        (0..n * n).filter(|&p| close(p / n, at / n) && close(p % n, at % n)).for_each(|p| set.put(p));
        set
    };
    (0..n * n).map(set).collect()
}
