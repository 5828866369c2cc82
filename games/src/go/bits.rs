//! Sets of points on a board of up to `64 * W` points, one bit per point.

use std::ops::{BitAnd, BitOr, BitOrAssign, Not};

use ludex_env::tensor::put_bits;

/// A set of points; point `i` is bit `i % 64` of word `i / 64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bits<const W: usize>([u64; W]);

impl<const W: usize> Bits<W> {
    pub const EMPTY: Self = Bits([0; W]);

    /// Returns the set that contains only `point`. Empty if the point is beyond the capacity.
    #[inline]
    pub fn of(point: usize) -> Self {
        let mut out = Self::EMPTY;
        if let Some(word) = out.0.get_mut(point / 64) {
            *word = 1 << (point % 64);
        }
        out
    }

    #[inline]
    pub fn has(self, point: usize) -> bool {
        self.0.get(point / 64).is_some_and(|word| word >> (point % 64) & 1 == 1)
    }

    #[inline]
    pub fn is_empty(self) -> bool {
        self.0.iter().fold(0, |all, word| all | word) == 0
    }

    #[inline]
    pub fn count(self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Returns true if the set has at least two points.
    #[inline]
    pub fn are_several(self) -> bool {
        let (mut any, mut several) = (0, 0);
        for word in self.0 {
            // There are several points if a second word has points, or if this word has a second point. The subtraction
            // wraps because the word may be 0.
            several |= if any != 0 { word } else { 0 };
            several |= word & word.wrapping_sub(1);
            any |= word;
        }
        several != 0
    }

    /// Returns the lowest point, or `None` if the set is empty.
    #[inline]
    pub fn first(self) -> Option<usize> {
        self.0.iter().position(|&word| word != 0).map(|at| at * 64 + self.0[at].trailing_zeros() as usize)
    }

    /// Returns the `n`-th lowest point, counted from 0.
    #[inline]
    pub fn nth(self, mut n: u32) -> Option<usize> {
        for (at, mut word) in self.0.into_iter().enumerate() {
            let here = word.count_ones();
            if n < here {
                (0..n).for_each(|_| word &= word.wrapping_sub(1));
                return Some(at * 64 + word.trailing_zeros() as usize);
            }
            n -= here;
        }
        None
    }

    /// Iterates over the points in ascending order.
    #[inline]
    pub fn points(self) -> impl Iterator<Item = usize> {
        let mut left = self.0;
        let mut at = 0;
        std::iter::from_fn(move || {
            while at < W && left[at] == 0 {
                at += 1;
            }
            let word = left.get_mut(at)?;
            let point = at * 64 + word.trailing_zeros() as usize;
            *word &= *word - 1;
            Some(point)
        })
    }

    /// Moves every point up by `by`, which is 1 to 63.
    #[inline]
    pub fn up(self, by: u32) -> Self {
        let mut out = [0; W];
        let mut carry = 0;
        for (to, word) in out.iter_mut().zip(self.0) {
            *to = word << by | carry;
            carry = word >> (64 - by);
        }
        Bits(out)
    }

    /// Moves every point down by `by`, which is 1 to 63.
    #[inline]
    pub fn down(self, by: u32) -> Self {
        let mut out = [0; W];
        let mut carry = 0;
        for (to, word) in out.iter_mut().zip(self.0).rev() {
            *to = word >> by | carry;
            carry = word << (64 - by);
        }
        Bits(out)
    }

    /// Writes 1 for each point in the set and 0 for each other cell of `out`; index 0 is point 0.
    #[inline]
    pub fn put(self, out: &mut [u8]) {
        out.chunks_mut(64).zip(self.0).for_each(|(cells, word)| put_bits(cells, word));
    }

    #[inline]
    fn zip(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        Bits(std::array::from_fn(|at| f(self.0[at], other.0[at])))
    }
}

impl<const W: usize> BitAnd for Bits<W> {
    type Output = Self;
    #[inline]
    fn bitand(self, other: Self) -> Self {
        self.zip(other, |a, b| a & b)
    }
}

impl<const W: usize> BitOr for Bits<W> {
    type Output = Self;
    #[inline]
    fn bitor(self, other: Self) -> Self {
        self.zip(other, |a, b| a | b)
    }
}

impl<const W: usize> BitOrAssign for Bits<W> {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl<const W: usize> Not for Bits<W> {
    type Output = Self;
    #[inline]
    fn not(self) -> Self {
        Bits(self.0.map(|word| !word))
    }
}

impl<const W: usize> FromIterator<usize> for Bits<W> {
    fn from_iter<I: IntoIterator<Item = usize>>(points: I) -> Self {
        points.into_iter().fold(Self::EMPTY, |all, point| all | Self::of(point))
    }
}

#[cfg(test)]
mod tests {
    use super::Bits;

    /// Returns sets with points near the boundaries of 64-bit words.
    fn sets() -> Vec<Vec<usize>> {
        let edges = [0, 1, 62, 63, 64, 65, 126, 127, 128, 190, 191];
        let pairs = edges.iter().flat_map(|&a| edges.iter().map(move |&b| vec![a.min(b), a.max(b)]));
        let mut all: Vec<Vec<usize>> = pairs.collect();
        all.iter_mut().for_each(Vec::dedup);
        all.extend([vec![], (0..192).collect(), (0..192).step_by(7).collect()]);
        all
    }

    #[test]
    fn bitset_operations_agree_with_list_implementation() {
        for list in sets() {
            let set: Bits<3> = list.iter().copied().collect();
            assert_eq!(set.points().collect::<Vec<_>>(), list);
            assert_eq!((set.count() as usize, set.first()), (list.len(), list.first().copied()));
            assert_eq!((set.is_empty(), set.are_several()), (list.is_empty(), list.len() > 1));
            assert!((0..=list.len()).all(|n| set.nth(n as u32) == list.get(n).copied()));
            assert!((0..200).all(|i| set.has(i) == list.contains(&i)));
            for by in [1, 9, 19, 63] {
                let up: Vec<usize> = list.iter().map(|i| i + by).filter(|&i| i < 192).collect();
                let down: Vec<usize> = list.iter().filter(|&&i| i >= by).map(|i| i - by).collect();
                assert_eq!(set.up(by as u32).points().collect::<Vec<_>>(), up, "up by {by}");
                assert_eq!(set.down(by as u32).points().collect::<Vec<_>>(), down, "down by {by}");
            }
            for cells in [5, 64, 100, 192] {
                let mut out = vec![7; cells];
                set.put(&mut out);
                assert!(out.iter().enumerate().all(|(i, &cell)| cell == u8::from(list.contains(&i))));
            }
        }
    }
}
