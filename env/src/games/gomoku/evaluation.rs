//! What a position is worth to who is to move, and where it is decided.

use super::lines::Shape;
use super::points::Points;
use super::{Gomoku, State};
use crate::game::Action;

/// How many moves search looks at where nothing forces one.
const WIDTH: usize = 20;
/// How many of those keep their order in search.
const FRONT: usize = 8;
/// The share by which the lines of who is to move count more.
const TEMPO: f64 = 1.5;
/// The lead in lines that is worth half of what leads can be worth: a few open threes.
const LEAD: f64 = 400.0;

impl Gomoku {
    /// The shapes of the seat to move and of the other.
    fn shapes(&self, s: &State) -> [Shape; 2] {
        let mover = usize::from(s.ply & 1);
        let (mine, theirs) = (&s.stones[mover], &s.stones[1 - mover]);
        let mut shapes = [self.lines.shape(mine, theirs), self.lines.shape(theirs, mine)];
        for (shape, side) in shapes.iter_mut().zip([mine, theirs]) {
            self.lines.keep_winning(side, &mut shape.wins);
        }
        shapes
    }

    /// The value for the seat to move, which is not over. A line that it fills at once wins, one of the other side's that
    /// it cannot close loses, and what opens a line at both ends wins later; else lines that one side alone can still
    /// fill are compared.
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

    /// What wins at once or must be closed at once, if anything does.
    fn forced(mine: &Shape, theirs: &Shape) -> Option<Points> {
        [mine.wins, theirs.wins].into_iter().find(|points| !points.is_empty())
    }

    /// Wins, else answers to threats, else the points near stones that matter most to the lines of both sides; and how
    /// many of them keep their order.
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
        // What one builds counts a little more than what one takes from the other.
        self.lines.add_scores(&s.stones[mover], &s.stones[1 - mover], 5, &mut scores);
        self.lines.add_scores(&s.stones[1 - mover], &s.stones[mover], 4, &mut scores);
        let from = out.len();
        out.extend(choice.iter().map(|point| point as Action));
        out[from..].sort_by_key(|&a| std::cmp::Reverse(scores[a as usize]));
        out.truncate(from + WIDTH);
        (out.len() - from).min(FRONT)
    }

    /// The points around stones, or around the middle of an empty board.
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
        // A board whose stones have no free point around them.
        if (free & self.board).is_empty() { self.board } else { near }
    }

    /// Wins, answers to threats, and where nothing is forced one's own threats; and whether they may be left be.
    pub(super) fn forcing(&self, s: &State, out: &mut Vec<Action>) -> bool {
        let [mine, theirs] = self.shapes(s);
        let forced = Self::forced(&mine, &theirs);
        // With an opening it is won: no need to look.
        let quiet = if mine.opening.is_empty() { mine.threats } else { Points::default() };
        out.extend(forced.unwrap_or(quiet).iter().map(|point| point as Action));
        forced.is_none()
    }
}

/// By point of a board of `size` x `size`: the points at most two rows and columns away.
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
