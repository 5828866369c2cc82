//! Scoring of the final board.

use super::board::{ALL, SIDE, cells, flood, grow4};
use super::document::Tie;
use super::position::{BoardState, Winner};
use super::rules::{Rules, ScoreTerm};

/// Returns the points of both seats.
pub(super) fn points(rules: &Rules, s: &BoardState) -> [i32; 2] {
    let mut out = [0; 2];
    for counting in &rules.scores {
        for (seat, sum) in out.iter_mut().enumerate() {
            *sum += count(counting, s, seat);
        }
    }
    out
}

fn count(counting: &ScoreTerm, s: &BoardState, seat: usize) -> i32 {
    let own = s.pieces[seat];
    let sum = |set: u32| cells(set & own).map(|c| s.number(c).map_or(0, i32::from)).sum::<i32>();
    match counting {
        ScoreTerm::Piece(pts) => own.count_ones() as i32 * pts,
        ScoreTerm::Value(pts) => sum(ALL) * pts,
        ScoreTerm::Territory(pts) => territory(s, seat) * pts,
        ScoreTerm::Group(pts) => largest(own) * pts,
        ScoreTerm::Capture(pts) => i32::from(s.captured[seat]) * pts,
        ScoreTerm::Line(rows, pts) => rows.iter().filter(|row| row.set & own == row.set).count() as i32 * pts,
        ScoreTerm::Compare { rows, pts } => {
            let other =
                |set: u32| cells(set & s.pieces[1 - seat]).map(|c| s.number(c).map_or(0, i32::from)).sum::<i32>();
            (0..SIDE).filter(|&k| sum(rows[seat][k]) > other(rows[1 - seat][k])).count() as i32 * pts
        }
    }
}

/// Returns the number of empty cells in regions that touch pieces of `seat` and none of the opponent.
fn territory(s: &BoardState, seat: usize) -> i32 {
    let mut left = ALL & !(s.pieces[0] | s.pieces[1]);
    let mut sum = 0;
    while left != 0 {
        let region = flood(left & left.wrapping_neg(), left);
        left &= !region;
        let touched = grow4(region);
        if touched & s.pieces[seat] != 0 && touched & s.pieces[1 - seat] == 0 {
            sum += region.count_ones();
        }
    }
    sum as i32
}

/// Returns the size of the largest orthogonally connected group in a set.
fn largest(mut left: u32) -> i32 {
    let mut most = 0;
    while left != 0 {
        let group = flood(left & left.wrapping_neg(), left);
        left &= !group;
        most = most.max(group.count_ones());
    }
    most as i32
}

/// Returns the winner by points, after the tie-break.
pub(super) fn winner(rules: &Rules, s: &BoardState) -> Winner {
    let [a, b] = points(rules, s);
    match a.cmp(&b) {
        std::cmp::Ordering::Greater => Winner::Seat(0),
        std::cmp::Ordering::Less => Winner::Seat(1),
        std::cmp::Ordering::Equal => tie(rules, s),
    }
}

/// Returns the winner by the document's tie-break.
pub(super) fn tie(rules: &Rules, s: &BoardState) -> Winner {
    let first = usize::from(s.first);
    match rules.document.tie {
        Tie::Draw => Winner::Draw,
        Tie::First => Winner::Seat(first as u8),
        Tie::Second => Winner::Seat(1 - first as u8),
        Tie::FewerPieces => match s.pieces[0].count_ones().cmp(&s.pieces[1].count_ones()) {
            std::cmp::Ordering::Less => Winner::Seat(0),
            std::cmp::Ordering::Greater => Winner::Seat(1),
            std::cmp::Ordering::Equal => Winner::Draw,
        },
    }
}
