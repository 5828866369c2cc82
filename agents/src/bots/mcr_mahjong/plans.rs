//! Ways to eight points: families of fans that a hand may go for, how many tiles it lacks of each, and what that is worth.

use std::sync::LazyLock;

use ludex_env::games::mcr_mahjong::shanten::{Form, shanten};
use ludex_env::games::mcr_mahjong::tiles::{Counts, HONORS, KINDS, Kinds, RANKS, SUITS, Tile};
use ludex_env::games::mcr_mahjong::{Edition, Flags, Hand, Meld, MeldKind};

/// What a plan asks of the tiles.
enum Shape {
    /// Three chows, by their lowest tiles, a further set and a pair.
    Chows([Tile; 3]),
    /// Four sets and a pair of these kinds.
    Within(Kinds),
    /// Four pungs and a pair.
    Pungs,
    /// Another form than four sets and a pair.
    Special(Form),
    /// Any four sets and a pair.
    Sets,
}

/// A way to eight points, and how often it gets there once its tiles are together, from 0 to 1.
struct Plan {
    shape: Shape,
    share: f64,
}

/// Chows of one suit or of three that stand `step` ranks apart.
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

/// Kinds whose suit and rank fit; honors have no rank.
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
    // Dots and bamboo that look the same upside down, and the white dragon.
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

/// A hand between draws: 3n + 1 standing tiles, and what is laid down.
pub(super) struct OpenHand<'a> {
    pub hand: &'a Counts,
    pub melds: &'a [Meld],
    /// Copies of each kind that it does not see.
    pub unseen: &'a Counts,
    pub flags: Flags,
    /// Points without flowers that it needs.
    pub minimum: u32,
    pub edition: Edition,
}

impl Plan {
    /// How many tiles lack, and those that bring the plan nearer; `None` where a meld does not fit.
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

/// What four pungs and a pair lack: the kinds of which most are held.
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

/// What one tile more that lacks divides the worth of a plan by.
const STEP: f64 = 6.0;
/// How much more a tile is worth that any discard may bring.
const CLAIMED: f64 = 3.0;

/// What a hand is worth: the plans together, each by its share, by what it lacks and by how many useful tiles are unseen; of a
/// ready hand the tiles that win with enough points.
pub(super) fn worth(held: &OpenHand<'_>) -> f64 {
    let unseen = |useful: Kinds| useful.iter().map(|t| f64::from(held.unseen[usize::from(t)])).sum::<f64>();
    let of = |plan: &Plan| {
        let (lack, useful) = plan.lacking(held).filter(|(lack, _)| *lack > 1)?;
        Some(plan.share * STEP.powi(-i32::from(lack)) * (unseen(useful) + 1.0))
    };
    let plans: f64 = PLANS.iter().filter_map(of).sum();
    plans + ready(held)
}

/// The tiles with which a ready hand wins: three times as much where a discard will do.
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
