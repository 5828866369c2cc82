//! Legal combinations under one variant of the rules: their ids and their order.
//!
//! Combinations of the same kind and length form a class. Within a class, combinations with the same main part form a
//! group; the main part of a plane, for example, is its chain of trios without wings. Ids are sorted by class, then by
//! main part, then by wings. A combination is therefore beaten by the later groups of its class, and a search can skip
//! each group whose main part is not in the hand.

use std::ops::Range;
use std::sync::OnceLock;

use ludex_env::game::{Action, ActionSink};

use super::Rules;
use super::cards::{Cards, Counts, RANKS, count, counts, holds, most, of_rank};

/// Id of the first combination. Id 0 is the pass, and ids 1 to 3 are bids.
pub const FIRST: Action = 4;

/// Number of ranks with four suits: 3 to 2, without the jokers.
const SUITED: usize = 13;

/// Number of ranks that can be part of a chain: 3 to ace.
const CHAINED: usize = 12;

/// Kind of a combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One card of any rank, jokers included.
    Single,
    /// Five or more consecutive ranks, one card each.
    Straight,
    /// Two cards of one rank.
    Pair,
    /// Three or more consecutive pairs.
    PairStraight,
    /// Three cards of one rank.
    Trio,
    /// A trio and one card of another rank.
    TrioSingle,
    /// A trio and a pair of another rank.
    TrioPair,
    /// Two or more consecutive trios.
    Plane,
    /// A plane and one card for each trio.
    PlaneSingles,
    /// A plane and one pair for each trio.
    PlanePairs,
    /// Four cards of one rank and two single cards.
    FourSingles,
    /// Four cards of one rank and two pairs.
    FourPairs,
    /// Two or more consecutive fours of a kind.
    Shuttle,
    /// A space shuttle and single cards.
    ShuttleSingles,
    /// A space shuttle and pairs.
    ShuttlePairs,
    /// Four cards of one rank.
    Bomb,
    /// Both jokers played together.
    Rocket,
}

impl Kind {
    /// Returns the common name of the kind, with an article.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Single => "a single card",
            Kind::Straight => "a straight",
            Kind::Pair => "a pair",
            Kind::PairStraight => "a straight of pairs",
            Kind::Trio => "a trio",
            Kind::TrioSingle => "a trio with a single card",
            Kind::TrioPair => "a trio with a pair",
            Kind::Plane => "a plane",
            Kind::PlaneSingles => "a plane with single cards",
            Kind::PlanePairs => "a plane with pairs",
            Kind::FourSingles => "four with two single cards",
            Kind::FourPairs => "four with two pairs",
            Kind::Shuttle => "a space shuttle",
            Kind::ShuttleSingles => "a space shuttle with single cards",
            Kind::ShuttlePairs => "a space shuttle with pairs",
            Kind::Bomb => "a bomb",
            Kind::Rocket => "the rocket",
        }
    }

    /// Returns true if a combination of this kind doubles the stake.
    pub const fn doubles(self) -> bool {
        matches!(self, Kind::Bomb | Kind::Rocket)
    }

    /// Returns Botzone's points for a combination whose main part has `length` ranks.
    pub const fn points(self, length: u8) -> u16 {
        match self {
            Kind::Single => 1,
            Kind::Pair => 2,
            Kind::Trio | Kind::TrioSingle | Kind::TrioPair => 4,
            Kind::Straight | Kind::PairStraight => 6,
            Kind::Plane | Kind::PlaneSingles | Kind::PlanePairs | Kind::FourSingles | Kind::FourPairs => 8,
            Kind::Bomb => 10,
            Kind::Shuttle | Kind::ShuttleSingles | Kind::ShuttlePairs => 10 + if length > 2 { 10 } else { 0 },
            Kind::Rocket => 16,
        }
    }

    /// Returns true if the kind is a chain of ranks without wings.
    const fn bare_chain(self) -> bool {
        matches!(self, Kind::Straight | Kind::PairStraight | Kind::Plane)
    }
}

/// One legal combination of cards.
pub struct Combination {
    /// Number of cards of each rank.
    pub counts: Counts,
    group: u16,
}

/// Combinations with the same kind and main part.
struct Group {
    main: Counts,
    /// Cards of each rank that bar the group: a hand that contains all of them must not play a combination of the
    /// group.
    barred: Counts,
    ids: Range<u16>,
    class: u16,
}

/// Groups of combinations with the same kind and length.
struct Class {
    kind: Kind,
    length: u8,
    groups: Range<usize>,
}

/// The wings (cards attached to the main part) of a combination: `number` wings of `each` cards, with at most `most`
/// wing cards of one rank.
struct Wings {
    number: usize,
    each: u8,
    most: u8,
    /// True if both jokers may be among the wings.
    rocket: bool,
}

const NONE: Wings = Wings { number: 0, each: 1, most: 0, rocket: false };

/// Returns a specification of `number` single-card wings of different ranks.
const fn singles(number: usize) -> Wings {
    Wings { number, each: 1, most: 1, rocket: true }
}

/// Returns a specification of `number` pairs of different ranks as wings.
const fn pairs(number: usize) -> Wings {
    Wings { number, each: 2, most: 2, rocket: false }
}

/// All combinations under one variant of the rules.
pub struct Plays {
    plays: Vec<Combination>,
    groups: Vec<Group>,
    classes: Vec<Class>,
    /// Index of the first group of bombs. The group of the rocket follows the bombs.
    bombs: usize,
    /// True if bombs beat the rocket too, as in OpenSpiel.
    yields: bool,
}

static TABLES: [OnceLock<Plays>; 3] = [const { OnceLock::new() }; 3];

impl Plays {
    /// Returns the combinations under `rules`. The table is built on first use.
    pub fn of(rules: Rules) -> &'static Plays {
        TABLES[rules as usize].get_or_init(|| Plays::new(rules))
    }

    fn new(rules: Rules) -> Plays {
        let mut all = Plays {
            plays: Vec::new(),
            groups: Vec::new(),
            classes: Vec::new(),
            bombs: 0,
            yields: rules == Rules::DouDizhu,
        };
        all.class(Kind::Single, 1, 1, NONE, rules);
        (5..=CHAINED).for_each(|n| all.class(Kind::Straight, n, 1, NONE, rules));
        all.class(Kind::Pair, 1, 2, NONE, rules);
        (3..=10).for_each(|n| all.class(Kind::PairStraight, n, 2, NONE, rules));
        all.class(Kind::Trio, 1, 3, NONE, rules);
        all.class(Kind::TrioSingle, 1, 3, singles(1), rules);
        all.class(Kind::TrioPair, 1, 3, pairs(1), rules);
        (2..=6).for_each(|n| all.class(Kind::Plane, n, 3, NONE, rules));
        // OpenSpiel's single wings may have equal ranks, but not four of a rank, a rank of the plane, or both jokers.
        let wings = |n| match rules {
            Rules::DouDizhu => Wings { number: n, each: 1, most: 3, rocket: false },
            _ => singles(n),
        };
        (2..=5).for_each(|n| all.class(Kind::PlaneSingles, n, 3, wings(n), rules));
        (2..=4).for_each(|n| all.class(Kind::PlanePairs, n, 3, pairs(n), rules));
        if rules != Rules::DouDizhu {
            all.class(Kind::FourSingles, 1, 4, singles(2), rules);
            all.class(Kind::FourPairs, 1, 4, pairs(2), rules);
            (2..=5).for_each(|n| all.class(Kind::Shuttle, n, 4, NONE, rules));
            // Limits the length so that the combination with its wings fits into a hand of twenty cards.
            let to_each = if rules == Rules::Botzone { 1 } else { 2 };
            let fit = |wing: usize| 2..=20 / (4 + to_each * wing);
            fit(1).for_each(|n| all.class(Kind::ShuttleSingles, n, 4, singles(n * to_each), rules));
            fit(2).for_each(|n| all.class(Kind::ShuttlePairs, n, 4, pairs(n * to_each), rules));
        }
        all.bombs = all.groups.len();
        all.class(Kind::Bomb, 1, 4, NONE, rules);
        all.class(Kind::Rocket, 1, 1, NONE, rules);
        all
    }

    /// Adds a class whose main parts are `length` consecutive ranks with `each` cards of each rank.
    fn class(&mut self, kind: Kind, length: usize, each: u8, wings: Wings, rules: Rules) {
        let from = self.groups.len();
        let starts = match (kind, length) {
            (Kind::Rocket, _) => 13..14,
            (Kind::Single, _) => 0..RANKS,
            (_, 1) => 0..SUITED,
            _ => 0..CHAINED + 1 - length,
        };
        let length = if kind == Kind::Rocket { 2 } else { length };
        for start in starts {
            let main = (start..start + length).fold(0, |all, r| all | of_rank(r, each));
            // In OpenSpiel, a chain must not start with a rank of which the hand has four cards.
            let barred = if rules == Rules::DouDizhu && kind.bare_chain() { of_rank(start, 4) } else { 0 };
            let first = self.plays.len() as u16;
            self.wings(main, main, &wings, wings.number, RANKS);
            let ids = first..self.plays.len() as u16;
            self.groups.push(Group { main, barred, ids, class: self.classes.len() as u16 });
        }
        self.classes.push(Class { kind, length: length as u8, groups: from..self.groups.len() });
    }

    /// Adds all combinations of `main` with `left` more wings of ranks below `below`. The combinations are ordered by
    /// the highest wing, then by the next highest, as in OpenSpiel.
    fn wings(&mut self, main: Counts, so_far: Counts, wings: &Wings, left: usize, below: usize) {
        if left == 0 {
            self.plays.push(Combination { counts: so_far, group: self.groups.len() as u16 });
            return;
        }
        for rank in (0..below).filter(|&r| count(main, r) == 0) {
            let now = count(so_far, rank) + wings.each;
            let both = rank == 13 && count(so_far, 14) > 0;
            if now <= wings.most.min(most(rank)) && (wings.rocket || !both) {
                // Wings may have equal ranks, so this rank may occur again.
                self.wings(main, so_far + of_rank(rank, wings.each), wings, left - 1, rank + 1);
            }
        }
    }

    /// Returns the number of ids, with the pass and the bids.
    pub fn ids(&self) -> u32 {
        FIRST + self.plays.len() as u32
    }

    /// Returns the combination with this id; `None` for the pass, bids and invalid ids.
    pub fn get(&self, a: Action) -> Option<&Combination> {
        self.plays.get(a.checked_sub(FIRST)? as usize)
    }

    /// Returns the kind of a combination.
    pub fn kind(&self, play: &Combination) -> Kind {
        self.class_of(play).kind
    }

    /// Returns the number of ranks in the main part of a combination.
    pub fn length(&self, play: &Combination) -> u8 {
        self.class_of(play).length
    }

    /// Returns the rank counts of the main part of a combination.
    pub fn main(&self, play: &Combination) -> Counts {
        self.groups[usize::from(play.group)].main
    }

    fn class_of(&self, play: &Combination) -> &Class {
        &self.classes[usize::from(self.groups[usize::from(play.group)].class)]
    }

    /// Returns the ids of all combinations with these rank counts, in ascending order.
    pub fn with_cards(&self, cards: Counts) -> impl Iterator<Item = Action> {
        (FIRST..).zip(&self.plays).filter(move |(_, p)| p.counts == cards).map(|(a, _)| a)
    }

    /// Returns the groups that beat `top`: the later groups of its class, then bombs and the rocket.
    fn above(&self, top: &Combination) -> [Range<usize>; 2] {
        let (group, end) = (usize::from(top.group), self.groups.len());
        let class = self.class_of(top).groups.end;
        let bombs = if self.yields && group == end - 1 { self.bombs..group } else { self.bombs.max(class)..end };
        [group + 1..class, bombs]
    }

    /// Returns true if `play` beats `top`.
    pub fn beats(&self, play: &Combination, top: &Combination) -> bool {
        self.above(top).iter().any(|groups| groups.contains(&usize::from(play.group)))
    }

    /// Returns true if the rules forbid `play` to a player who holds `hand`, even though the hand contains the cards.
    pub fn is_forbidden(&self, hand: Cards, play: &Combination) -> bool {
        counts(hand) & self.groups[usize::from(play.group)].barred != 0
    }

    /// Lists all combinations in `hand` that beat `top`, or all if `top` is `None`, in ascending order.
    pub fn find(&self, hand: Cards, top: Option<&Combination>, out: &mut impl ActionSink) {
        match top {
            None => self.search(hand, 0..self.groups.len(), out),
            Some(top) => self.above(top).into_iter().for_each(|groups| self.search(hand, groups, out)),
        }
    }

    #[inline]
    fn search(&self, hand: Cards, groups: Range<usize>, out: &mut impl ActionSink) {
        let held = counts(hand);
        for group in &self.groups[groups] {
            if !holds(held, group.main) || held & group.barred != 0 {
                continue;
            }
            let Range { start, end } = group.ids;
            let first = FIRST + Action::from(start);
            for (a, play) in (first..).zip(&self.plays[usize::from(start)..usize::from(end)]) {
                if holds(held, play.counts) {
                    out.put(a);
                }
            }
        }
    }
}
