//! Lines through a point, and lines that can still be filled.

use super::points::Points;

/// The four directions of a line, as (rows, columns) of one step.
const AXES: [(i32, i32); 4] = [(0, 1), (1, 0), (1, 1), (1, -1)];

/// What a board's lines look like.
pub(super) struct Lines {
    connect: u32,
    /// Whether longer lines count.
    longer: bool,
    /// By axis, how far apart in ids neighbours are.
    steps: [usize; 4],
    /// By point and axis: how many points lie ahead and behind on the board, `connect` at most.
    reach: Vec<[[u8; 2]; 4]>,
    /// By axis: the points at which a line of `connect` begins.
    begins: [Points; 4],
}

impl Lines {
    /// The lines of `connect` on a board of `size` x `size`; `longer` ones count or do not.
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

    /// Whether the stone of `side` at `at` stands in a line that wins.
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

    /// Over the lines of `connect` points without a stone of the other side: 1 for one stone of `side` in it, and eight
    /// times as much for each further one.
    pub fn open(&self, side: &Points, other: &Points) -> f64 {
        let mut sum = 0.0;
        // at_least[j]: the lines, by the point at which they begin, that hold more than j stones of this side.
        let mut at_least = vec![Points::default(); self.connect as usize];
        for (&step, &begins) in self.steps.iter().zip(&self.begins) {
            at_least.fill(Points::default());
            let mut free = begins;
            for k in 0..self.connect as usize {
                let stones = side.down(k * step);
                for j in (1..=k).rev() {
                    at_least[j] = at_least[j] | at_least[j - 1] & stones;
                }
                at_least[0] = at_least[0] | stones;
                free = free & !other.down(k * step);
            }
            let (mut worth, mut less) = (1.0, 0.0);
            for lines in &at_least {
                // With less stones they were counted already.
                sum += (*lines & free).len() as f64 * (worth - less);
                (worth, less) = (worth * 8.0, worth);
            }
        }
        sum
    }
}
