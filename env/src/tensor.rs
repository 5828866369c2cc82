//! Helpers for observation arrays.

use ludex_protocol::spec::{Dtype, Part, TensorSpec};

/// Returns the spec of a `u8` array of ones and zeros: `planes` names the entries of the first axis, and `rest`
/// contains the lengths of the other axes.
pub fn planes(planes: &[&str], rest: &[u32]) -> TensorSpec {
    let parts = planes.iter().enumerate().map(|(i, name)| Part { name: (*name).into(), at: i as u32, len: 1 });
    let s = std::iter::once(planes.len() as u32).chain(rest.iter().copied()).collect();
    TensorSpec { d: Dtype::U1, s, low: 0.0, high: 1.0, parts: parts.collect() }
}

/// Returns the spec of a flat `u8` array of named ranges with values up to `high`.
pub fn stretches(parts: &[(&str, u32)], high: f64) -> TensorSpec {
    let mut at = 0;
    let parts: Vec<Part> = parts
        .iter()
        .map(|&(name, len)| {
            at += len;
            Part { name: name.into(), at: at - len, len }
        })
        .collect();
    TensorSpec { d: Dtype::U1, s: vec![at], low: 0.0, high, parts }
}

/// Sets cell `at` to one and all others to zero; without a valid `at`, sets all cells to zero.
#[inline]
pub fn one_hot<T: From<u8> + Clone>(out: &mut [T], at: Option<usize>) {
    // A single loop: most ranges are so short that a call to fill memory takes longer.
    let at = at.unwrap_or(out.len());
    out.iter_mut().enumerate().for_each(|(k, cell)| *cell = T::from(u8::from(k == at)));
}

/// Sets the cells of `range` to one and all others to zero.
///
/// # Panics
/// Panics if the range ends beyond `out`.
pub fn ones(out: &mut [u8], range: std::ops::Range<usize>) {
    out.fill(0);
    out[range].fill(1);
}

/// Returns `k` modulo `n` for `k` below `2 * n`, without a division; used to rotate seats.
#[inline]
pub const fn wrap(k: usize, n: usize) -> usize {
    if k < n { k } else { k - n }
}

/// Eight bytes of ones and zeros for every byte value, bit 0 first.
static SPREAD: [[u8; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut k = 0;
    while k < 8 * 256 {
        table[k / 8][k % 8] = ((k / 8) >> (k % 8) & 1) as u8;
        k += 1;
    }
    table
};

/// Spreads the low eight bits of `b` over eight bytes of ones and zeros, bit 0 first.
#[inline]
pub fn spread(b: u64) -> [u8; 8] {
    SPREAD[usize::from(b as u8)]
}

/// Writes bit k of `bits` into cell k of `out`, as ones and zeros; `out` has at most 64 cells.
#[inline]
pub fn put_bits(out: &mut [u8], bits: u64) {
    let mut left = bits;
    let (words, rest) = out.as_chunks_mut::<8>();
    for word in words {
        *word = spread(left);
        left >>= 8;
    }
    rest.iter_mut().zip(spread(left)).for_each(|(cell, bit)| *cell = bit);
}

/// Writes bit `i` of `words` (64 per word, bit 0 first) into byte `i` of `out`, as ones and zeros. Leaves bytes beyond
/// the last word unchanged.
#[inline]
pub fn spread_bits(words: &[u64], out: &mut [u8]) {
    out.chunks_mut(64).zip(words).for_each(|(cells, &word)| put_bits(cells, word));
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_bit_is_spread_to_a_byte() {
        for b in 0..256u64 {
            let want: Vec<u8> = (0..8).map(|i| (b >> i & 1) as u8).collect();
            assert_eq!(super::spread(b).to_vec(), want, "{b}");
        }
    }

    #[test]
    fn bits_are_written_to_outputs_of_every_length() {
        let bits = 0x9e37_79b9_7f4a_7c15;
        for n in 0..=64 {
            let mut out = vec![0xa5; n];
            super::put_bits(&mut out, bits);
            let want: Vec<u8> = (0..n).map(|k| (bits >> k & 1) as u8).collect();
            assert_eq!(out, want, "{n} cells");
        }
    }

    #[test]
    fn spreading_bits_leaves_bytes_beyond_last_word_unchanged() {
        let words = [0x8000_0000_0000_0005, 0b1_0110];
        for len in 0..=128 {
            let mut out = vec![7; len];
            super::spread_bits(&words, &mut out);
            let want: Vec<u8> = (0..len).map(|i| (words[i / 64] >> (i % 64) & 1) as u8).collect();
            assert_eq!(out, want, "{len}");
        }
    }
}
