//! How a rating changed from game to game, in a few numbers.

/// The most numbers that are kept.
const MOST: usize = 128;

/// A series of which evenly spaced numbers are kept, and the last one.
#[derive(Clone, Debug, PartialEq)]
pub struct RatingHistory {
    count: u64,
    /// Of this number of values, one is kept.
    every: u64,
    kept: Vec<(u64, f64)>,
    last: Option<(u64, f64)>,
}

impl Default for RatingHistory {
    fn default() -> Self {
        RatingHistory { count: 0, every: 1, kept: Vec::new(), last: None }
    }
}

impl RatingHistory {
    /// Adds the next number.
    pub fn push(&mut self, value: f64) {
        self.count += 1;
        self.last = Some((self.count, value));
        if !self.count.is_multiple_of(self.every) {
            return;
        }
        self.kept.push((self.count, value));
        if self.kept.len() == MOST {
            self.every *= 2;
            let every = self.every;
            self.kept.retain(|(at, _)| at.is_multiple_of(every));
        }
    }

    /// The numbers that are kept with their places, from 1, ascending. The last number is always among them.
    pub fn points(&self) -> Vec<(u64, f64)> {
        let mut points = self.kept.clone();
        points.extend(self.last.filter(|last| points.last() != Some(last)));
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_course_is_thinned_evenly_and_keeps_its_end() {
        let course = |n: u64| {
            let mut course = RatingHistory::default();
            (1..=n).for_each(|k| course.push(k as f64));
            course.points()
        };
        assert!(course(0).is_empty());
        assert_eq!(course(3), [(1, 1.0), (2, 2.0), (3, 3.0)]);
        let long = course(100_001);
        assert!(long.len() <= MOST && long.last() == Some(&(100_001, 100_001.0)), "{long:?}");
        let gaps: Vec<u64> = long.windows(2).map(|w| w[1].0 - w[0].0).collect();
        assert!(gaps[..gaps.len() - 1].iter().all(|gap| *gap == gaps[0]), "{gaps:?}");
    }
}
