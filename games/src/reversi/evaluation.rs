//! Static evaluation: corners and adjacent squares, mobility, and frontier discs.

use super::lines::moves;

const CORNERS: u64 = 1 | 1 << 7 | 1 << 56 | 1 << 63;
const LEFT: u64 = 0x0101_0101_0101_0101;
const RIGHT: u64 = LEFT << 7;
const TOP: u64 = 0xff;
const BOTTOM: u64 = TOP << 56;
const EDGE: u64 = LEFT | RIGHT | TOP | BOTTOM;
/// Squares diagonally adjacent to the corners.
pub(super) const X_SQUARES: u64 = 1 << 9 | 1 << 14 | 1 << 49 | 1 << 54;
/// Edge squares adjacent to the corners.
const C_SQUARES: u64 = 1 << 1 | 1 << 6 | 1 << 8 | 1 << 15 | 1 << 48 | 1 << 55 | 1 << 57 | 1 << 62;
/// Upper bound on a lead, in points.
const BOUND: i32 = 4_000;
/// Number of empty squares below which the disc count affects the points.
const LATE: i32 = 14;

/// Returns the squares of `set` and all their neighbors.
#[inline]
fn widen(set: u64) -> u64 {
    let row = set | (set & !RIGHT) << 1 | (set & !LEFT) >> 1;
    row | row << 8 | row >> 8
}

fn count(set: u64) -> i32 {
    set.count_ones() as i32
}

/// Returns the stable discs on the edges: unbroken runs of own discs that start in a corner.
fn stable(mine: u64) -> u64 {
    let mut stable = mine & CORNERS;
    let edge = mine & EDGE;
    loop {
        let along = (stable & (TOP | BOTTOM)) << 1 & !LEFT | (stable & (TOP | BOTTOM) & !LEFT) >> 1;
        let across = (stable & (LEFT | RIGHT)) << 8 | (stable & (LEFT | RIGHT)) >> 8;
        let more = stable | edge & (along & (TOP | BOTTOM) | across & (LEFT | RIGHT));
        if more == stable {
            return stable;
        }
        stable = more;
    }
}

/// Returns the points of one side. `early` is the number of empty squares, 60 at the start and 0 at the end.
fn points(mine: u64, theirs: u64, early: i32) -> i32 {
    let empty = !(mine | theirs);
    // Squares next to empty corners.
    let open = widen(empty & CORNERS);
    let mobility = count(moves(mine, theirs)) * (8 + early / 10);
    let frontier = count(mine & widen(empty)) * (2 + early / 20);
    let corners = 60 * count(mine & CORNERS) + 18 * count(stable(mine));
    let gifts = 35 * count(mine & open & X_SQUARES) + 12 * count(mine & open & C_SQUARES);
    let discs = if early < LATE { (LATE - early) * count(mine) / 4 } else { 0 };
    mobility - frontier + corners - gifts + discs
}

/// Returns the lead of `mine` over `theirs`, scaled into (-1, 1).
pub(super) fn lead(mine: u64, theirs: u64) -> f64 {
    let early = count(!(mine | theirs));
    let lead = points(mine, theirs, early) - points(theirs, mine, early);
    f64::from(lead.clamp(1 - BOUND, BOUND - 1)) / f64::from(BOUND)
}

/// Returns the penalty of a move to `square`, given the discs of both sides after the move. Mobility and corner
/// captures of the opponent increase the penalty; taking a corner decreases it.
pub(super) fn unpromising(square: u64, mine: u64, theirs: u64) -> i32 {
    let corner = if square & CORNERS != 0 { -20 } else { 0 };
    let offered = if square & X_SQUARES & widen(!(mine | theirs) & CORNERS) != 0 { 8 } else { 0 };
    let replies = moves(theirs, mine);
    count(replies) + 4 * count(replies & CORNERS) + corner + offered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edge_discs_connected_to_corner_are_stable() {
        assert_eq!(stable(0b0111), 0b0111);
        assert_eq!(stable(0b1110), 0);
        assert_eq!(stable(TOP | RIGHT), TOP | RIGHT);
        // The run goes from a8 to a6, because a5 has no disc. b7 is not on the edge.
        assert_eq!(stable(1 << 56 | 1 << 48 | 1 << 40 | 1 << 24 | 1 << 49), 1 << 56 | 1 << 48 | 1 << 40);
        // A run does not continue from h1 to a2.
        assert_eq!(stable(1 << 7 | 1 << 8), 1 << 7);
    }

    #[test]
    fn evaluation_has_opposite_values_for_opposing_sides() {
        let mut rng = ludex_env::draw::Stream::from_text("reversi");
        for _ in 0..1_000 {
            let (a, b) = (rng.bits(), rng.bits());
            let (mine, theirs) = (a & !b, b & !a);
            let value = lead(mine, theirs);
            assert_eq!(value, -lead(theirs, mine));
            assert!(value.abs() < 1.0);
        }
    }
}
