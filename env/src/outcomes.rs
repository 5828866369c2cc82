//! Action ids and weighted chance outcomes.

use smallvec::SmallVec;

/// Id of an action or chance outcome, in `0..n`.
pub type Action = u32;

/// Chance outcomes with integer weights; probability = weight / sum.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    items: SmallVec<[(Action, u64); 16]>,
    sum: u64,
}

impl Outcomes {
    /// Creates an empty list of outcomes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes all outcomes but keeps the capacity.
    #[inline]
    pub fn clear(&mut self) {
        self.items.clear();
        self.sum = 0;
    }

    /// Adds an outcome; ignores weight 0. The sum of weights must stay below 2^64.
    #[inline]
    pub fn put(&mut self, a: Action, weight: u64) {
        if weight > 0 {
            self.items.push((a, weight));
            self.sum += weight;
        }
    }

    /// Adds outcomes of weight 1.
    #[inline]
    pub fn uniform(&mut self, ids: impl IntoIterator<Item = Action>) {
        let before = self.items.len();
        self.items.extend(ids.into_iter().map(|a| (a, 1)));
        self.sum += (self.items.len() - before) as u64;
    }

    /// Returns the sum of the weights.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Returns the outcomes and weights, in order.
    pub fn items(&self) -> &[(Action, u64)] {
        &self.items
    }

    /// Iterates over the outcomes and their probabilities, in order.
    pub fn probabilities(&self) -> impl Iterator<Item = (Action, f64)> + '_ {
        self.items.iter().map(|&(a, w)| (a, w as f64 / self.sum as f64))
    }

    /// Returns the first outcome whose cumulative weight exceeds `r`.
    #[inline]
    pub fn at(&self, r: u64) -> Option<Action> {
        if self.sum == self.items.len() as u64 {
            // Every weight is 1.
            return self.items.get(r as usize).map(|item| item.0);
        }
        let mut run = 0;
        self.items.iter().find_map(|&(a, w)| {
            run += w;
            (run > r).then_some(a)
        })
    }
}
