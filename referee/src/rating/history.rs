//! History of a rating, thinned to a bounded number of values.

/// Maximum number of stored values.
const MOST: usize = 128;

/// Rating history that stores evenly spaced values and the latest value.
#[derive(Clone, Debug, PartialEq)]
pub struct RatingHistory {
    count: u64,
    /// Spacing of the stored values: every `every`-th value is stored.
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

    /// Returns the stored values as (position from 1, value), ascending. The latest value is always included.
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
    fn thinned_history_retains_the_last_value() {
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
