//! The ways in which tiles make sets and a pair.

use arrayvec::ArrayVec;

use super::hand::{MELDS, Meld, MeldKind};
use super::tiles::{Counts, KINDS, Tile, family, rank, suited};

/// A chow or pung; a kong is a pung here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Set {
    pub chow: bool,
    /// The kind, of a chow the lowest one.
    pub tile: Tile,
}

impl Set {
    pub fn suit(self) -> usize {
        family(self.tile)
    }

    pub fn rank(self) -> usize {
        rank(self.tile)
    }

    pub fn has(self, tile: Tile) -> bool {
        let most = if self.chow { 2 } else { 0 };
        (self.tile..=self.tile + most).contains(&tile)
    }
}

impl From<Meld> for Set {
    fn from(meld: Meld) -> Set {
        match meld.kind {
            MeldKind::Chi => Set { chow: true, tile: meld.tile.saturating_sub(1) },
            _ => Set { chow: false, tile: meld.tile },
        }
    }
}

/// Sets and a pair: those laid down first, then the standing ones.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub sets: ArrayVec<Set, MELDS>,
    pub pair: Tile,
}

/// Gives every way to make `sets` sets and a pair of `tiles` to `found`; melds come first.
pub(super) fn readings(tiles: &Counts, melds: &[Set], sets: usize, mut found: impl FnMut(&Reading)) {
    let mut left = *tiles;
    for pair in 0..KINDS {
        if left[pair] >= 2 {
            left[pair] -= 2;
            let mut reading = Reading { sets: melds.iter().copied().collect(), pair: pair as Tile };
            divide(&mut left, 0, sets, &mut reading, &mut found);
            left[pair] += 2;
        }
    }
}

/// Whether a chow can begin with the kind.
fn begins_chow(tiles: &Counts, k: usize) -> bool {
    suited(k as Tile) && rank(k as Tile) < 7 && tiles[k + 1] > 0 && tiles[k + 2] > 0
}

fn divide(left: &mut Counts, from: usize, sets: usize, reading: &mut Reading, found: &mut impl FnMut(&Reading)) {
    let Some(k) = (from..KINDS).find(|&k| left[k] > 0) else {
        if sets == 0 {
            found(reading);
        }
        return;
    };
    if sets == 0 || reading.sets.is_full() {
        return;
    }
    if left[k] >= 3 {
        left[k] -= 3;
        reading.sets.push(Set { chow: false, tile: k as Tile });
        divide(left, k, sets - 1, reading, found);
        reading.sets.pop();
        left[k] += 3;
    }
    if begins_chow(left, k) {
        (k..k + 3).for_each(|k| left[k] -= 1);
        reading.sets.push(Set { chow: true, tile: k as Tile });
        divide(left, k, sets - 1, reading, found);
        reading.sets.pop();
        (k..k + 3).for_each(|k| left[k] += 1);
    }
}
