//! Fast policy for single decisions and playouts.

use ludex_games::fight_the_landlord::cards::{Counts, RANKS, count, holds, of_rank};
use ludex_games::fight_the_landlord::combinations::Kind;

use super::split::{Combo, Splits, plays, row};

pub const SEATS: usize = 3;

/// Game position as one seat knows it.
#[derive(Clone, Copy)]
pub struct SeatKnowledge {
    pub me: usize,
    pub landlord: usize,
    pub hand: Counts,
    /// Cards of the other seats, combined.
    pub unseen: Counts,
    /// Number of cards in each seat's hand.
    pub held: [u8; SEATS],
    /// Play to beat, and the seat that made it; `None` if the seat leads.
    pub top: Option<(Combo, usize)>,
}

/// Information that the policy takes into account.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum KnowledgeLevel {
    /// The seat's own hand only.
    Alone,
    /// The seat's own hand, the teams, the cards of the other seats combined, and the size of each hand.
    Together,
}

/// Returns the number of cards per rank in the main part of a play.
fn each(kind: Kind) -> u8 {
    match kind {
        Kind::Single | Kind::Straight | Kind::Rocket => 1,
        Kind::Pair | Kind::PairStraight => 2,
        Kind::Trio | Kind::TrioSingle | Kind::TrioPair | Kind::Plane | Kind::PlaneSingles | Kind::PlanePairs => 3,
        _ => 4,
    }
}

/// Returns the number of cards per wing; 0 for plays without wings.
fn wing(kind: Kind) -> u8 {
    match kind {
        Kind::TrioSingle | Kind::PlaneSingles | Kind::FourSingles | Kind::ShuttleSingles => 1,
        Kind::TrioPair | Kind::PlanePairs | Kind::FourPairs | Kind::ShuttlePairs => 2,
        _ => 0,
    }
}

fn size(counts: Counts) -> u8 {
    (0..RANKS).map(|r| count(counts, r)).sum()
}

/// Calls `found` with the rank and cards of each main part in `hand` that beats `top`, except bombs and the rocket.
fn higher(hand: Counts, top: &Combo, mut found: impl FnMut(usize, Counts)) {
    let (length, each) = (usize::from(top.length), each(top.kind));
    let end = match top.kind {
        Kind::Bomb | Kind::Rocket => 0,
        Kind::Single => RANKS,
        _ if length == 1 => 13,
        _ => 13 - length,
    };
    for rank in usize::from(top.rank) + 1..end {
        let main = row(rank, length, each);
        if holds(hand, main) {
            found(rank, main);
        }
    }
}

/// Calls `found` with each bomb or rocket in `hand` that beats `top`.
fn bombs(hand: Counts, top: &Combo, mut found: impl FnMut(Combo)) {
    let above = match top.kind {
        Kind::Bomb => usize::from(top.rank) + 1,
        Kind::Rocket => 13,
        _ => 0,
    };
    (above..13).filter(|&r| count(hand, r) == 4).for_each(|r| found(Combo::of(Kind::Bomb, r, 1, 4)));
    let rocket = Combo::rocket();
    if top.kind != Kind::Rocket && holds(hand, rocket.counts) {
        found(rocket);
    }
}

/// Returns plays from `hand` that beat `top`, with a few choices of wings for each main part.
pub fn answers(hand: Counts, top: &Combo) -> Vec<Combo> {
    let mut out = Vec::new();
    let wing = wing(top.kind);
    let number = usize::from((size(top.counts) - each(top.kind) * top.length).checked_div(wing).unwrap_or(0));
    higher(hand, top, |rank, main| {
        let combo = Combo { rank: rank as u8, counts: main, ..*top };
        if number == 0 {
            return out.push(combo);
        }
        // Wings come from the ranks with the fewest cards left over, the lowest ranks first; never both jokers.
        let mut ranks: Vec<usize> = (0..14).filter(|&r| count(main, r) == 0 && count(hand, r) >= wing).collect();
        ranks.sort_by_key(|&r| (count(hand, r) - wing, r));
        let choices = if number == 1 { ranks.len().min(4) } else { usize::from(ranks.len() >= number) };
        for from in 0..choices {
            let wings = ranks[from..from + number].iter().fold(0, |all, &r| all + of_rank(r, wing));
            out.push(Combo { counts: main + wings, ..combo });
        }
    });
    bombs(hand, top, |bomb| out.push(bomb));
    out
}

/// Returns true if any cards among `others` beat `play`.
fn beatable(others: Counts, play: &Combo) -> bool {
    let mut found = false;
    higher(others, play, |_, _| found = true);
    bombs(others, play, |_| found = true);
    found
}

impl SeatKnowledge {
    fn friend(&self, seat: usize) -> bool {
        seat == self.me || (seat != self.landlord && self.me != self.landlord)
    }

    /// Returns the size of the smallest opposing hand.
    fn threat(&self) -> u8 {
        (0..SEATS).filter(|&p| !self.friend(p)).map(|p| self.held[p]).min().unwrap_or(20)
    }

    /// Returns the additional cost of leading `play`: positive if it helps an opponent finish, negative if it helps the
    /// partner.
    fn lead_risk(&self, play: &Combo) -> i32 {
        let size = size(play.counts);
        let next = (self.me + 1) % SEATS;
        let mut risk = 0;
        if size <= 2 && self.threat() == size {
            // An opponent that holds as many cards as the play could win by beating it, so low ranks are risky.
            risk += 20 + 2 * (14 - i32::from(play.rank));
        }
        if next != self.landlord && self.me != self.landlord && self.held[next] == size && size <= 2 {
            // The partner may finish with this play.
            risk -= 40 - i32::from(play.rank);
        }
        risk
    }

    /// Returns the extra burden that the seat accepts to beat a play by `owner`; greater if `owner` has few cards left.
    fn will(&self, owner: usize) -> i32 {
        match self.held[owner] {
            ..=2 => 40,
            3..=5 => 12,
            6..=9 => 7,
            _ => 4,
        }
    }
}

/// Returns the candidate plays with their costs, cheapest first; `None` is a pass.
pub fn ranked(s: &SeatKnowledge, sense: KnowledgeLevel, splits: &mut Splits) -> Vec<(i32, Option<Combo>)> {
    let mut all: Vec<(i32, Option<Combo>)> = Vec::new();
    let together = sense == KnowledgeLevel::Together;
    match &s.top {
        None => {
            for play in plays(s.hand) {
                let rest = s.hand - play.counts;
                let mut cost = splits.burden(rest);
                if together {
                    cost += s.lead_risk(&play);
                    cost -= sure(s, &play, rest);
                }
                if rest == 0 {
                    cost = i32::MIN / 2;
                }
                all.push((cost, Some(play)));
            }
        }
        Some((top, owner)) => {
            let own = splits.burden(s.hand);
            let will = if together { s.will(*owner) } else { 4 };
            // Does not beat a partner's play, unless the seat's play is cheap and low or ends the game.
            let ally = together && s.friend(*owner);
            let strong = top.rank >= 9 || top.length > 1 || s.held[*owner] <= 3;
            for play in answers(s.hand, top) {
                let rest = s.hand - play.counts;
                let mut cost = splits.burden(rest) - if ally { 0 } else { will };
                if ally {
                    let wasteful = strong || play.rank >= 11 || play.kind.doubles();
                    cost += if wasteful { 50 } else { 3 };
                }
                if together {
                    cost -= sure(s, &play, rest);
                }
                if rest == 0 {
                    cost = i32::MIN / 2;
                }
                all.push((cost, Some(play)));
            }
            all.push((own, None));
        }
    }
    all.sort_by_key(|(cost, _)| *cost);
    all
}

/// Returns a bonus if no other seat can beat `play` and `rest` can be emptied in one more play; otherwise 0.
fn sure(s: &SeatKnowledge, play: &Combo, rest: Counts) -> i32 {
    let left = size(rest);
    if left == 0 || left > 10 || beatable(s.unseen, play) {
        return 0;
    }
    if plays(rest).len() == 1 { 200 } else { 0 }
}

/// Returns the cheapest candidate play; `None` is a pass.
pub fn choose(s: &SeatKnowledge, sense: KnowledgeLevel, splits: &mut Splits) -> Option<Combo> {
    ranked(s, sense, splits).first().and_then(|(_, play)| *play)
}
