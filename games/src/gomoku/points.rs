//! Sets of points on a board, one bit per point.

use std::ops::{BitAnd, BitOr, Not};

/// Number of words of a set.
const WORDS: usize = 6;
/// Capacity of a set in points: a board of 19 x 19, with spare bits.
pub(super) const ROOM: usize = WORDS * 64;

/// A set of points; point `i` is bit `i % 64` of word `i / 64`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Points([u64; WORDS]);

impl Points {
    /// Returns the set of the points 0 to `n - 1`.
    pub fn first(n: usize) -> Self {
        let mut all = Points::default();
        (0..n).for_each(|i| all.put(i));
        all
    }

    /// Returns true if `i` is in the set. Always false for points beyond the capacity.
    #[inline]
    pub fn has(&self, i: usize) -> bool {
        self.0.get(i / 64).is_some_and(|w| w >> (i % 64) & 1 == 1)
    }

    /// Inserts `i`. Points beyond the capacity are ignored.
    #[inline]
    pub fn put(&mut self, i: usize) {
        if let Some(word) = self.0.get_mut(i / 64) {
            *word |= 1 << (i % 64);
        }
    }

    /// Returns the number of points in the set.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Iterates over the points in ascending order.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(k, word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(k * 64 + bit)
            })
        })
    }

    /// Returns the `k`-th lowest point, counted from 0.
    #[inline]
    pub fn nth(&self, mut k: usize) -> Option<usize> {
        for (i, &word) in self.0.iter().enumerate() {
            let here = word.count_ones() as usize;
            if k < here {
                let left = (0..k).fold(word, |left, _| left & (left - 1));
                return Some(i * 64 + left.trailing_zeros() as usize);
            }
            k -= here;
        }
        None
    }

    /// Moves every point down by `by`; points below 0 are dropped.
    #[inline]
    pub fn down(&self, by: usize) -> Self {
        let (words, bits) = (by / 64, by % 64);
        let at = |k: usize| self.0.get(k).copied().unwrap_or(0);
        Points(std::array::from_fn(|k| {
            let low = at(k + words) >> bits;
            if bits == 0 { low } else { low | at(k + words + 1) << (64 - bits) }
        }))
    }

    /// Moves every point up by `by`; points beyond the capacity are dropped.
    #[inline]
    pub fn up(&self, by: usize) -> Self {
        let (words, bits) = (by / 64, by % 64);
        let at = |k: Option<usize>| k.map_or(0, |k| self.0[k]);
        Points(std::array::from_fn(|k| {
            let high = at(k.checked_sub(words)) << bits;
            if bits == 0 { high } else { high | at(k.checked_sub(words + 1)) >> (64 - bits) }
        }))
    }

    /// Returns true if the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    /// Returns the set as 64-bit words.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.0
    }
}

impl BitAnd for Points {
    type Output = Self;

    #[inline]
    fn bitand(self, other: Self) -> Self {
        Points(std::array::from_fn(|k| self.0[k] & other.0[k]))
    }
}

impl BitOr for Points {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        Points(std::array::from_fn(|k| self.0[k] | other.0[k]))
    }
}

impl Not for Points {
    type Output = Self;

    #[inline]
    fn not(self) -> Self {
        Points(self.0.map(|w| !w))
    }
}

#[cfg(test)]
mod tests {
    use ludex_env::draw::Stream;

    use super::*;

    #[test]
    fn bitset_operations_agree_with_list_implementation() {
        let mut rng = Stream::from_text("points");
        for _ in 0..50 {
            let mut wanted: Vec<usize> = (0..100).map(|_| rng.below(ROOM)).collect();
            let mut set = Points::default();
            wanted.iter().for_each(|&i| set.put(i));
            wanted.sort_unstable();
            wanted.dedup();
            assert_eq!((set.iter().collect::<Vec<_>>(), set.len()), (wanted.clone(), wanted.len()));
            for k in 0..=wanted.len() {
                assert_eq!(set.nth(k), wanted.get(k).copied());
            }
            assert!((0..ROOM + 9).all(|i| set.has(i) == wanted.contains(&i)));
            for by in [0, 1, 19, 63, 64, 65, 200, ROOM, ROOM + 1] {
                let moved: Vec<usize> = wanted.iter().filter_map(|i| i.checked_sub(by)).collect();
                assert_eq!(set.down(by).iter().collect::<Vec<_>>(), moved, "{by}");
                let moved: Vec<usize> = wanted.iter().map(|i| i + by).filter(|i| *i < ROOM).collect();
                assert_eq!(set.up(by).iter().collect::<Vec<_>>(), moved, "{by}");
            }
        }
        assert_eq!(Points::first(225).iter().collect::<Vec<_>>(), (0..225).collect::<Vec<_>>());
        let mut none = Points::default();
        none.put(ROOM);
        assert_eq!(none, Points::default());
    }
}
