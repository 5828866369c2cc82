//! Enclosed runs on a 64-bit board. Each direction is computed for all squares simultaneously.

/// All files except the two outermost. Discs on these two are never enclosed along a row or a diagonal. The mask also
/// keeps runs from wrapping around the edge.
const INNER: u64 = 0x7e7e_7e7e_7e7e_7e7e;

/// Shifts bits by one step along a direction: up by `BY` bits, or down for a negative `BY`.
#[inline(always)]
const fn step<const BY: i32>(bits: u64) -> u64 {
    if BY > 0 { bits << BY } else { bits >> -BY }
}

/// Returns the runs of `through` that start next to `from` in one direction. Runs have at most six squares: the first
/// two squares are added one by one, the other four in pairs.
#[inline(always)]
fn runs<const BY: i32, const TWICE: i32>(from: u64, through: u64) -> u64 {
    let mut run = through & step::<BY>(from);
    run |= through & step::<BY>(run);
    let pairs = through & step::<BY>(through);
    run |= pairs & step::<TWICE>(run);
    run | pairs & step::<TWICE>(run)
}

/// Returns the empty squares on which a disc of `mine` would flip some of `theirs`.
#[inline]
pub(super) fn moves(mine: u64, theirs: u64) -> u64 {
    let inner = theirs & INNER;
    let ends = step::<1>(runs::<1, 2>(mine, inner))
        | step::<-1>(runs::<-1, -2>(mine, inner))
        | step::<8>(runs::<8, 16>(mine, theirs))
        | step::<-8>(runs::<-8, -16>(mine, theirs))
        | step::<7>(runs::<7, 14>(mine, inner))
        | step::<-7>(runs::<-7, -14>(mine, inner))
        | step::<9>(runs::<9, 18>(mine, inner))
        | step::<-9>(runs::<-9, -18>(mine, inner));
    ends & !(mine | theirs)
}

/// Returns the run next to `square` in one direction if it ends at a disc of `mine`, otherwise 0.
#[inline(always)]
fn enclosed<const BY: i32, const TWICE: i32>(mine: u64, through: u64, square: u64) -> u64 {
    let run = runs::<BY, TWICE>(square, through);
    if step::<BY>(run) & mine == 0 { 0 } else { run }
}

/// Returns the discs of `theirs` that a disc of `mine` on `square` (one bit) flips.
#[inline]
pub(super) fn flips(mine: u64, theirs: u64, square: u64) -> u64 {
    let inner = theirs & INNER;
    enclosed::<1, 2>(mine, inner, square)
        | enclosed::<-1, -2>(mine, inner, square)
        | enclosed::<8, 16>(mine, theirs, square)
        | enclosed::<-8, -16>(mine, theirs, square)
        | enclosed::<7, 14>(mine, inner, square)
        | enclosed::<-7, -14>(mine, inner, square)
        | enclosed::<9, 18>(mine, inner, square)
        | enclosed::<-9, -18>(mine, inner, square)
}
