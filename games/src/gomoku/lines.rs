//! Geometry of lines, and statistics of the lines that are still open to one side.

use super::points::Points;

/// The four axes of lines, each as one step of (rows, columns).
const AXES: [(i32, i32); 4] = [(0, 1), (1, 0), (1, 1), (1, -1)];

/// Geometry of the lines on a board.
pub(super) struct Lines {
    connect: u32,
    /// True if a line longer than `connect` wins.
    longer: bool,
    /// Difference of the ids of neighbors along each axis.
    steps: [usize; 4],
    /// For each point and axis, the number of further points on the board ahead and behind, each at most `connect`.
    reach: Vec<[[u8; 2]; 4]>,
    /// First points of all lines of `connect` points, by axis.
    begins: [Points; 4],
}

impl Lines {
    /// Creates the geometry of lines of `connect` points on a board of `size` x `size`. If `longer` is true, longer
    /// lines win too.
    pub fn new(size: u32, connect: u32, longer: bool) -> Self {
        let n = size as i32;
        let ahead = |r: i32, c: i32, (dr, dc): (i32, i32)| {
            let on = |k: &i32| (0..n).contains(&(r + dr * k)) && (0..n).contains(&(c + dc * k));
            (1..=connect as i32).take_while(on).count() as u8
        };
        let points = (0..n).flat_map(|r| (0..n).map(move |c| (r, c)));
        let reach: Vec<[[u8; 2]; 4]> =
            points.map(|(r, c)| AXES.map(|(dr, dc)| [ahead(r, c, (dr, dc)), ahead(r, c, (-dr, -dc))])).collect();
        let begins = std::array::from_fn(|axis| {
            let mut set = Points::default();
            let fits = |at: &usize| u32::from(reach[*at][axis][0]) >= connect - 1;
            (0..reach.len()).filter(fits).for_each(|at| set.put(at));
            set
        });
        Lines { connect, longer, steps: AXES.map(|(dr, dc)| (dr * n + dc) as usize), reach, begins }
    }

    /// Returns true if the stone of `side` at `at` is part of a winning line.
    #[inline]
    pub fn won_at(&self, side: &Points, at: usize) -> bool {
        let Some(reach) = self.reach.get(at) else { return false };
        reach.iter().zip(self.steps).any(|(&[ahead, behind], step)| {
            let mut length = 1;
            let mut next = at;
            for _ in 0..ahead {
                next += step;
                if !side.has(next) {
                    break;
                }
                length += 1;
            }
            next = at;
            for _ in 0..behind {
                next -= step;
                if !side.has(next) {
                    break;
                }
                length += 1;
            }
            if self.longer { length >= self.connect } else { length == self.connect }
        })
    }

    /// Removes the points at which a stone of `side` does not win. If longer lines are ignored, a stone that makes a
    /// line too long does not win.
    pub fn keep_winning(&self, side: &Points, points: &mut Points) {
        if self.longer {
            return;
        }
        let mut kept = Points::default();
        for point in points.iter() {
            let mut with = *side;
            with.put(point);
            if self.won_at(&with, point) {
                kept.put(point);
            }
        }
        *points = kept;
    }

    /// Calls `each(step, starts)` for every axis. `step` is the difference between the ids of neighboring points of the
    /// axis. `starts[j]` is the set of starting points of the lines with exactly `j + 1` stones of `side` and none of
    /// `other`.
    fn each_axis(&self, side: &Points, other: &Points, mut each: impl FnMut(usize, &[Points])) {
        let length = self.connect as usize;
        // `at_least[j]`: starting points of the lines that hold more than j stones of this side.
        let mut at_least = [Points::default(); super::MOST as usize];
        for (&step, &begins) in self.steps.iter().zip(&self.begins) {
            at_least.fill(Points::default());
            let mut free = begins;
            for k in 0..length {
                let stones = side.down(k * step);
                for j in (1..=k).rev() {
                    at_least[j] = at_least[j] | at_least[j - 1] & stones;
                }
                at_least[0] = at_least[0] | stones;
                free = free & !other.down(k * step);
            }
            for j in 0..length {
                let more = if j + 1 < length { at_least[j + 1] } else { Points::default() };
                at_least[j] = at_least[j] & !more & free;
            }
            each(step, &at_least[..length]);
        }
    }

    /// Returns the line statistics of `side`.
    pub fn shape(&self, side: &Points, other: &Points) -> Shape {
        let length = self.connect as usize;
        let taken = *side | *other;
        let mut shape = Shape::default();
        let points_of = |begins: Points, step: usize| {
            let all = (0..length).fold(Points::default(), |all, k| all | begins.up(k * step));
            all & !taken
        };
        self.each_axis(side, other, |step, exactly| {
            let mut worth = 1.0;
            for lines in exactly {
                shape.worth += lines.len() as f64 * worth;
                worth *= 8.0;
            }
            let with = |stones: usize| if stones == 0 { Points::default() } else { exactly[stones - 1] };
            let (one_short, two_short) = (with(length - 1), with(length.saturating_sub(2)));
            if !one_short.is_empty() {
                shape.wins = shape.wins | points_of(one_short, step);
            }
            if !two_short.is_empty() {
                shape.threats = shape.threats | points_of(two_short, step);
                // Pairs of lines that start at neighboring points, with an empty point at both outer ends of the pair.
                let ends = !taken & !taken.down(length * step);
                let pairs = two_short & two_short.down(step) & ends;
                let inner = (1..length).fold(Points::default(), |all, k| all | pairs.up(k * step));
                shape.opening = shape.opening | inner & !taken;
            }
        });
        shape
    }

    /// For each line that is open to `side`, adds the value of the line to the scores of all its points. The value is
    /// `weight` for one stone, and is multiplied by six for each further stone.
    pub fn add_scores(&self, side: &Points, other: &Points, weight: u32, scores: &mut [u32]) {
        let length = self.connect as usize;
        self.each_axis(side, other, |step, exactly| {
            let mut worth = weight;
            for lines in exactly {
                for begin in lines.iter() {
                    for k in 0..length {
                        let score = &mut scores[begin + k * step];
                        *score = score.saturating_add(worth);
                    }
                }
                worth = worth.saturating_mul(6);
            }
        });
    }
}

/// Line statistics of one side.
#[derive(Default)]
pub(super) struct Shape {
    /// Sum of the values of the lines that hold stones of this side only. The value of a line is 1 for one stone, and
    /// is multiplied by eight for each further stone.
    pub worth: f64,
    /// Points at which a stone completes a line.
    pub wins: Points,
    /// Points at which a stone creates a line that needs only one more stone.
    pub threats: Points,
    /// Points at which a stone creates a line that can be completed at both ends.
    pub opening: Points,
}
