//! The first draws of many episodes, computed together.
//!
//! An episode of a small card game needs two or three draws, each from a separate block. Computing the blocks one by
//! one leaves the processor idle. This module therefore computes 16 blocks of ChaCha8 in parallel, one block per vector
//! lane (RFC 8439, 2.1 to 2.3, with 8 rounds and a 64-bit counter).

use fearless_simd::{Level, Simd, SimdBase as _, dispatch, u32x16};

use super::{AHEAD, Key};

/// Number of blocks computed together.
const LANES: usize = 16;
/// Number of episodes whose draws are computed together.
pub(crate) const TOGETHER: usize = LANES / AHEAD;

/// Words 0 to 3 of every block: "expand 32-byte k".
const SIGMA: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];
/// Computes the first draws of the episodes with these keys, in the order of `keys` and in groups of [`TOGETHER`].
/// Leaves the entries of an incomplete last group unchanged.
pub(crate) fn first_draws(keys: &[Key], out: &mut [[u64; AHEAD]]) {
    let groups = keys.as_chunks().0.iter().zip(out.as_chunks_mut().0);
    dispatch!(Level::new(), simd => {
        for (keys, out) in groups {
            *out = together(simd, keys);
        }
    });
}

/// Computes one group; lane `AHEAD * e + k` computes draw `k` of episode `e`. Inlined so that the code is compiled for
/// each instruction set.
#[inline(always)]
fn together<S: Simd>(simd: S, keys: &[Key; TOGETHER]) -> [[u64; AHEAD]; TOGETHER] {
    let mut words = [[0; LANES]; 16];
    for w in 0..4 {
        words[w].fill(SIGMA[w]);
    }
    for (e, key) in keys.iter().enumerate() {
        for (w, bytes) in key.as_chunks().0.iter().enumerate() {
            words[4 + w][AHEAD * e..AHEAD * (e + 1)].fill(u32::from_le_bytes(*bytes));
        }
        for k in 0..AHEAD {
            words[12][AHEAD * e + k] = k as u32;
        }
    }
    let mut x = [u32x16::splat(simd, 0); 16];
    for w in 0..16 {
        x[w] = u32x16::from_slice(simd, &words[w]);
    }
    for _ in 0..4 {
        // Unrolled, because words with constant indices stay in registers.
        quarter(&mut x, 0, 4, 8, 12);
        quarter(&mut x, 1, 5, 9, 13);
        quarter(&mut x, 2, 6, 10, 14);
        quarter(&mut x, 3, 7, 11, 15);
        quarter(&mut x, 0, 5, 10, 15);
        quarter(&mut x, 1, 6, 11, 12);
        quarter(&mut x, 2, 7, 8, 13);
        quarter(&mut x, 3, 4, 9, 14);
    }
    let (low, high) = (x[0] + SIGMA[0], x[1] + SIGMA[1]);
    let mut out = [[0; AHEAD]; TOGETHER];
    for lane in 0..LANES {
        out[lane / AHEAD][lane % AHEAD] = u64::from(low[lane]) | u64::from(high[lane]) << 32;
    }
    out
}

#[inline(always)]
fn quarter<S: Simd>(x: &mut [u32x16<S>; 16], a: usize, b: usize, c: usize, d: usize) {
    mix(x, a, b, d, 16);
    mix(x, c, d, b, 12);
    mix(x, a, b, d, 8);
    mix(x, c, d, b, 7);
}

/// Adds word `from` to word `to`, XORs the sum into word `turned`, and rotates word `turned` left by `by` bits.
#[inline(always)]
fn mix<S: Simd>(x: &mut [u32x16<S>; 16], to: usize, from: usize, turned: usize, by: u32) {
    x[to] += x[from];
    let mixed = x[turned] ^ x[to];
    x[turned] = (mixed << by) | (mixed >> (32 - by));
}

#[cfg(test)]
mod tests {
    use super::super::{block, episode_key};
    use super::*;

    #[test]
    fn first_draws_equal_first_blocks() {
        let keys: Vec<Key> = (0..24).map(|seed| episode_key("chance", "leduc_poker", seed, seed % 3)).collect();
        let mut out = vec![[0; AHEAD]; keys.len()];
        first_draws(&keys, &mut out);
        for (key, draws) in keys.iter().zip(out) {
            assert_eq!(draws, [0, 1, 2, 3].map(|k| block(key, k)));
        }
    }
}
