//! Plans for hands worth at least eight points: the tiles that each plan requires, the number of tiles still missing,
//! and the value of a hand.

use std::sync::LazyLock;

use ludex_games::mcr_mahjong::shanten::{Form, shanten};
use ludex_games::mcr_mahjong::tiles::{Counts, HONORS, KINDS, Kinds, RANKS, SUITS, Tile};
use ludex_games::mcr_mahjong::{Edition, Flags, Hand, Meld, MeldKind};

/// Tiles that a plan requires.
enum Shape {
    /// Three given chows, identified by their lowest tiles, with any fourth set and a pair.
    Chows([Tile; 3]),
    /// Four sets and a pair that use only these kinds.
    Within(Kinds),
    /// Four pungs and a pair.
    Pungs,
    /// Special form, such as seven pairs, without four sets and a pair.
    Special(Form),
    /// Any four sets and a pair.
    Sets,
}

/// Plan for a hand worth at least eight points. `share` is the plan's weight relative to other plans.
struct Plan {
    shape: Shape,
    share: f64,
}

/// Returns plans of three chows: shifted chows and straights in one suit or three suits, and equal chows in three
/// suits.
fn chows() -> Vec<Plan> {
    let tile = |suit: usize, rank: usize| (RANKS * suit + rank) as Tile;
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let mut all = Vec::new();
    let mut plan = |chows: [Tile; 3], share: f64| all.push(Plan { shape: Shape::Chows(chows), share });
    for suit in 0..SUITS {
        plan([0, 3, 6].map(|rank| tile(suit, rank)), 1.2);
        (0..5).for_each(|r| plan([0, 1, 2].map(|k| tile(suit, r + k)), 1.2));
        (0..3).for_each(|r| plan([0, 2, 4].map(|k| tile(suit, r + k)), 1.2));
    }
    (0..7).for_each(|rank| plan([0, 1, 2].map(|suit| tile(suit, rank)), 1.0));
    for order in orders {
        plan([0, 1, 2].map(|k| tile(order[k], 3 * k)), 1.0);
        (0..5).for_each(|r| plan([0, 1, 2].map(|k| tile(order[k], r + k)), 0.5));
    }
    all
}

/// Returns the suit tiles whose suit and rank satisfy `fits`.
fn kinds(fits: impl Fn(usize, usize) -> bool) -> Kinds {
    Kinds((0..SUITS * RANKS).filter(|&t| fits(t / RANKS, t % RANKS + 1)).fold(0, |all, t| all | 1 << t))
}

static PLANS: LazyLock<Vec<Plan>> = LazyLock::new(|| {
    let mut all = chows();
    let mut within = |of: Kinds, share: f64| all.push(Plan { shape: Shape::Within(of), share });
    for suit in 0..SUITS {
        within(kinds(|s, _| s == suit), 1.3);
        within(Kinds(kinds(|s, _| s == suit).0 | HONORS.0), 0.7);
    }
    for (low, high, share) in [(1, 3, 1.3), (4, 6, 1.3), (7, 9, 1.3), (1, 4, 1.1), (6, 9, 1.1)] {
        within(kinds(|_, rank| (low..=high).contains(&rank)), share);
    }
    // Dots and bamboo with point symmetry, and the white dragon.
    let round = |suit, rank| match suit {
        1 => matches!(rank, 1..=5 | 8 | 9),
        2 => matches!(rank, 2 | 4..=6 | 8 | 9),
        _ => false,
    };
    within(Kinds(kinds(round).0 | 1 << (KINDS - 1)), 1.0);
    all.push(Plan { shape: Shape::Pungs, share: 0.7 });
    all.push(Plan { shape: Shape::Sets, share: 0.06 });
    for (form, share) in [
        (Form::SevenPairs, 1.3),
        (Form::ThirteenOrphans, 2.0),
        (Form::HonorsKnitted, 1.0),
        (Form::KnittedStraight, 1.0),
    ] {
        all.push(Plan { shape: Shape::Special(form), share });
    }
    all
});

/// Hand without a drawn tile: melds, and 3n + 1 concealed tiles.
pub(super) struct OpenHand<'a> {
    pub hand: &'a Counts,
    pub melds: &'a [Meld],
    /// Number of unseen tiles of each kind.
    pub unseen: &'a Counts,
    pub flags: Flags,
    /// Minimum points to win, not counting flowers.
    pub minimum: u32,
    pub edition: Edition,
}

impl Plan {
    /// Returns the number of missing tiles and the kinds that reduce this number; `None` if the melds rule the plan
    /// out.
    fn lacking(&self, held: &OpenHand<'_>) -> Option<(u8, Kinds)> {
        let (hand, melds) = (held.hand, held.melds);
        let found = |form: Form, hand: &Counts, melds: usize| {
            form.of(hand, melds).map(|s| (s.number.saturating_add(1).unsigned_abs(), s.useful))
        };
        match &self.shape {
            Shape::Sets => found(Form::Regular, hand, melds.len()),
            Shape::Special(form) => found(*form, hand, melds.len()),
            Shape::Within(of) => {
                let inside = melds.iter().flat_map(|m| m.tiles()).all(|t| of.has(t));
                let mut rest = *hand;
                rest.iter_mut().enumerate().filter(|(t, _)| of.0 >> t & 1 == 0).for_each(|(_, n)| *n = 0);
                let (lack, useful) = inside.then(|| found(Form::Regular, &rest, melds.len()))??;
                Some((lack, Kinds(useful.0 & of.0)))
            }
            Shape::Pungs => {
                let fits = melds.iter().all(|m| m.kind != MeldKind::Chi);
                fits.then(|| pungs(hand, 4usize.saturating_sub(melds.len())))
            }
            Shape::Chows(chows) => {
                let mut rest = *hand;
                let (mut lack, mut useful) = (0, 0);
                let mut others = melds.len();
                for &low in chows {
                    if melds.iter().any(|m| m.kind == MeldKind::Chi && m.tile == low + 1) {
                        others -= 1;
                        continue;
                    }
                    for t in low..low + 3 {
                        match &mut rest[usize::from(t)] {
                            0 => {
                                lack += 1;
                                useful |= 1 << t;
                            }
                            n => *n -= 1,
                        }
                    }
                }
                let (more, pair) = found(Form::Regular, &rest, 3 + others).filter(|_| others <= 1)?;
                Some((lack + more, Kinds(useful | pair.0)))
            }
        }
    }
}

/// Returns the number of tiles that a hand lacks for `sets` pungs and a pair, made of its most frequent kinds. Also
/// returns the kinds of the missing tiles.
fn pungs(hand: &Counts, sets: usize) -> (u8, Kinds) {
    let mut held: Vec<(u8, usize)> = hand.iter().enumerate().map(|(t, &n)| (n.min(3), t)).collect();
    held.sort_unstable_by(|a, b| b.cmp(a));
    let (mut lack, mut useful) = (0, 0);
    for (k, &(n, t)) in held[..=sets].iter().enumerate() {
        let wanted = if k < sets { 3 } else { 2 };
        lack += wanted - n.min(wanted);
        useful |= u64::from(n < wanted) << t;
    }
    (lack, Kinds(useful))
}

/// Divisor applied to the value of a plan for each missing tile.
const STEP: f64 = 6.0;
/// Weight of winning on another seat's discard, relative to winning on a drawn tile.
const CLAIMED: f64 = 3.0;

/// Returns the value of a hand: the sum of the values of all plans. A hand that is one tile short of winning also
/// counts the tiles that win with enough points.
pub(super) fn worth(held: &OpenHand<'_>) -> f64 {
    let unseen = |useful: Kinds| useful.iter().map(|t| f64::from(held.unseen[usize::from(t)])).sum::<f64>();
    let of = |plan: &Plan| {
        let (lack, useful) = plan.lacking(held).filter(|(lack, _)| *lack > 1)?;
        Some(plan.share * STEP.powi(-i32::from(lack)) * (unseen(useful) + 1.0))
    };
    let plans: f64 = PLANS.iter().filter_map(of).sum();
    plans + ready(held)
}

/// Returns the value of the winning tiles, weighted by their points and number; 0 unless the hand is one tile short of
/// winning.
fn ready(held: &OpenHand<'_>) -> f64 {
    let near = shanten(held.hand, held.melds.len());
    if near.number != 0 {
        return 0.0;
    }
    let of = |t: Tile| {
        let left = f64::from(held.unseen[usize::from(t)]);
        let points = |self_drawn: bool| {
            let mut hand = Hand::new(held.melds, *held.hand, t, Flags { self_drawn, ..held.flags });
            hand.correct();
            hand.score(held.edition).map_or(0, |score| score.points)
        };
        let won = |points: u32, weight: f64| {
            if points >= held.minimum { weight * (24.0 + f64::from(points.min(64))) / 32.0 } else { 0.0 }
        };
        left * (won(points(false), CLAIMED) + won(points(true), 1.0))
    };
    near.useful.iter().map(of).sum::<f64>() / STEP
}
