//! Shanten (number of exchanges until a hand is ready) and useful tiles, for each form of a winning hand.

use super::distance::Groups;
use super::tiles::{Counts, HONORS, KINDS, Kinds, TERMINALS, knitted};

/// A form of a winning hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Four sets and a pair.
    Regular,
    /// Seven pairs; four equal tiles may count as two.
    SevenPairs,
    /// The thirteen terminals and honors, one of them twice.
    ThirteenOrphans,
    /// Fourteen different tiles: honors, and suit tiles of a knitted pattern.
    HonorsKnitted,
    /// The nine tiles of a knitted pattern, a set and a pair.
    KnittedStraight,
}

/// All forms, in display order.
pub const FORMS: [Form; 5] =
    [Form::Regular, Form::SevenPairs, Form::ThirteenOrphans, Form::HonorsKnitted, Form::KnittedStraight];

/// The shanten of a hand, with its useful tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shanten {
    /// Number of exchanges until the hand is ready: 0 for a ready hand, -1 for a complete hand.
    pub number: i8,
    /// Kinds that decrease the shanten, including kinds without copies left.
    pub useful: Kinds,
}

/// The thirteen terminals and honors.
const ORPHANS: Kinds = Kinds(HONORS.0 | TERMINALS.0);

impl Form {
    /// Returns the name of the form in queries and replies.
    pub const fn name(self) -> &'static str {
        match self {
            Form::Regular => "regular",
            Form::SevenPairs => "seven_pairs",
            Form::ThirteenOrphans => "thirteen_orphans",
            Form::HonorsKnitted => "honors_knitted",
            Form::KnittedStraight => "knitted_straight",
        }
    }

    /// Returns true if a hand with `melds` melds can win in this form.
    pub const fn open_to(self, melds: usize) -> bool {
        match self {
            Form::Regular => melds <= 4,
            Form::KnittedStraight => melds <= 1,
            _ => melds == 0,
        }
    }

    /// Returns the number of tiles that `hand` lacks for this form. The form must be possible with `melds` melds.
    pub fn distance(self, hand: &Counts, melds: usize) -> u8 {
        match self {
            Form::Regular => Groups::new(hand).distance(4usize.saturating_sub(melds)),
            Form::SevenPairs => 7u8.saturating_sub(hand.iter().map(|n| n / 2).sum()),
            Form::ThirteenOrphans => {
                let (held, pair) = orphans(hand);
                14 - held - u8::from(pair)
            }
            Form::HonorsKnitted => 14u8.saturating_sub(most_knitted(hand)),
            Form::KnittedStraight => straights(hand, melds).into_iter().min().unwrap_or(u8::MAX),
        }
    }

    /// Returns the shanten and useful tiles of a hand in this form; `None` if `melds` melds rule out the form.
    pub fn of(self, hand: &Counts, melds: usize) -> Option<Shanten> {
        self.open_to(melds).then(|| self.with_useful(hand, melds, self.distance(hand, melds)))
    }

    fn with_useful(self, hand: &Counts, melds: usize, distance: u8) -> Shanten {
        let useful = match self {
            _ if distance == 0 => Kinds(0),
            Form::Regular => {
                let sets = 4usize.saturating_sub(melds);
                Groups::new(hand).useful(sets, distance)
            }
            Form::SevenPairs => Kinds(where_held(hand, |n| n % 2 == 1)),
            Form::ThirteenOrphans => {
                let missing = where_held(hand, |n| n == 0) & ORPHANS.0;
                Kinds(if orphans(hand).1 { missing } else { ORPHANS.0 })
            }
            Form::HonorsKnitted => {
                let (held, most) = (where_held(hand, |n| n > 0), most_knitted(hand));
                Kinds(
                    (0..6)
                        .map(|p| knitted(p).0 | HONORS.0)
                        .filter(|all| (all & held).count_ones() as u8 == most)
                        .fold(0, |useful, all| useful | all & !held),
                )
            }
            Form::KnittedStraight => useful_for_straights(hand, melds, distance),
        };
        Shanten { number: distance as i8 - 1, useful }
    }
}

/// Returns the kinds whose tile count satisfies a predicate, one bit each.
fn where_held(hand: &Counts, fits: impl Fn(u8) -> bool) -> u64 {
    (0..KINDS).fold(0, |bits, k| bits | u64::from(fits(hand[k])) << k)
}

/// Returns the number of orphan kinds in a hand, and true if the hand has more than one tile of an orphan kind.
fn orphans(hand: &Counts) -> (u8, bool) {
    let held = where_held(hand, |n| n > 0) & ORPHANS.0;
    (held.count_ones() as u8, where_held(hand, |n| n > 1) & ORPHANS.0 != 0)
}

/// Returns the number of different honors and tiles of a knitted pattern in a hand: the maximum over all patterns.
fn most_knitted(hand: &Counts) -> u8 {
    let held = where_held(hand, |n| n > 0);
    (0..6).map(|p| ((knitted(p).0 | HONORS.0) & held).count_ones() as u8).max().unwrap_or(0)
}

/// Removes one tile of each kind of a pattern. Also returns the number of pattern tiles that the hand lacks.
fn without(hand: &Counts, pattern: usize) -> (Counts, u8) {
    let mut rest = *hand;
    let mut lack = 0;
    for tile in knitted(pattern).iter() {
        match &mut rest[usize::from(tile)] {
            0 => lack += 1,
            n => *n -= 1,
        }
    }
    (rest, lack)
}

/// Returns the distance of a hand to the knitted straight of each pattern.
fn straights(hand: &Counts, melds: usize) -> [u8; 6] {
    std::array::from_fn(|pattern| {
        let (rest, lack) = without(hand, pattern);
        lack + Groups::new(&rest).distance(1usize.saturating_sub(melds))
    })
}

fn useful_for_straights(hand: &Counts, melds: usize, distance: u8) -> Kinds {
    let sets = 1usize.saturating_sub(melds);
    let mut useful = 0;
    for pattern in 0..6 {
        let (rest, lack) = without(hand, pattern);
        let groups = Groups::new(&rest);
        let left = groups.distance(sets);
        if lack + left == distance {
            useful |= knitted(pattern).0 & where_held(hand, |n| n == 0);
            // Tiles of the pattern are covered above, so only useful tiles for the rest are added.
            useful |= groups.useful(sets, left).0;
        }
    }
    Kinds(useful)
}

/// Returns the lowest shanten over all possible forms, with the useful tiles of the forms that reach it.
pub fn shanten(hand: &Counts, melds: usize) -> Shanten {
    let mut distances = [u8::MAX; FORMS.len()];
    for (to, form) in distances.iter_mut().zip(FORMS) {
        if form.open_to(melds) {
            *to = form.distance(hand, melds);
        }
    }
    let least = distances.into_iter().min().unwrap_or(0);
    let nearest = FORMS.into_iter().zip(distances).filter(|(_, d)| *d == least);
    let useful = nearest.fold(0, |bits, (form, d)| bits | form.with_useful(hand, melds, d).useful.0);
    Shanten { number: least as i8 - 1, useful: Kinds(useful) }
}
