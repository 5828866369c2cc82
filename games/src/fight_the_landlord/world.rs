//! Determinizations: random deals that are consistent with a view.
//!
//! A play uses the lowest-numbered cards of a rank. A seat that has played a spade therefore cannot hold the heart or
//! the diamond of that rank. All deals of the unseen cards that satisfy this and the hand sizes are equally likely.

use ludex_env::draw::Stream;
use ludex_env::game::{Action, Game};

use super::cards::{self, Cards, DECK, RANKS};
use super::{DEALT, FightTheLandlord, NONE, Phase, SEATS, State, View, seat_after};

/// Returns the cards that a seat cannot hold: those with a lower number than a card of the same rank that the seat has
/// played.
fn excluded_cards(played: Cards) -> Cards {
    (0..RANKS).fold(0, |all, r| {
        let of = played & 15 << (4 * r);
        all | of.checked_ilog2().map_or(0, |top| (1 << top) - (1 << (4 * r)))
    })
}

/// Returns the cards of a set in random order.
fn shuffled(cards: Cards, rng: &mut Stream) -> Vec<Cards> {
    let mut list: Vec<Cards> = cards::each(cards).collect();
    rng.shuffle(&mut list);
    list
}

/// Removes up to `n` cards from a list and returns them as a set.
fn take(list: &mut Vec<Cards>, n: usize) -> Cards {
    list.split_off(list.len().saturating_sub(n)).into_iter().fold(0, |all, one| all | one)
}

/// Returns `n!` as a floating-point number.
fn factorial(n: usize) -> f64 {
    (1..=n).fold(1.0, |f, k| f * k as f64)
}

/// Returns the number of ways to deal `n` cards to receivers that need the given numbers of cards. Returns 0 if a
/// number is `None` or the sum is not `n`.
fn ways(n: usize, places: &[Option<usize>]) -> f64 {
    let filled = places.iter().map(|p| p.ok_or(())).sum::<Result<usize, ()>>();
    if filled != Ok(n) {
        return 0.0;
    }
    places.iter().flatten().fold(factorial(n), |all, &p| all / factorial(p))
}

/// Deals all of `pool` at random: seat `p` gets `need[p]` cards, none of them in `barred[p]`. All such deals are
/// equally likely. Returns `None` if no deal fits.
pub(super) fn deal(
    pool: Cards,
    need: [usize; SEATS],
    barred: [Cards; SEATS],
    rng: &mut Stream,
) -> Option<[Cards; SEATS]> {
    // Cards, indexed by the set of seats that may have them: bit p of the index stands for seat p.
    let mut sets = [0; 8];
    for one in cards::each(pool) {
        let may = (0..SEATS).filter(|&p| one & barred[p] == 0).fold(0, |all, p| all | 1 << p);
        sets[may] |= one;
    }
    if sets[0] != 0 {
        return None;
    }
    let size = sets.map(|set| set.count_ones() as usize);
    // Number of cards of set 7 for each seat, if the lower seats of the sets 3, 5 and 6 get x, y and z of their cards.
    let share = |[x, y, z]: [usize; 3]| {
        let of = |p: usize, got: usize| need[p].checked_sub(size[1 << p] + got);
        [of(0, x + y), of(1, size[3] - x + z), of(2, size[5] - y + size[6] - z)]
    };
    let weight = |at: [usize; 3]| {
        let [x, y, z] = at;
        let two = [(3, x), (5, y), (6, z)];
        two.iter().fold(ways(size[7], &share(at)), |all, &(m, n)| all * ways(size[m], &[Some(n), Some(size[m] - n)]))
    };
    let all = (0..=size[3]).flat_map(|x| (0..=size[5]).flat_map(move |y| (0..=size[6]).map(move |z| [x, y, z])));
    let sum: f64 = all.clone().map(weight).sum();
    let mut left = rng.unit() * sum;
    let possible = all.filter(|&at| weight(at) > 0.0);
    let mut chosen = None;
    for at in possible {
        chosen = Some(at);
        left -= weight(at);
        if left < 0.0 {
            break;
        }
    }
    let [x, y, z] = chosen?;
    let mut lists = sets.map(|set| shuffled(set, rng));
    let mut hands = [sets[1], sets[2], sets[4]];
    for (may, n, low, high) in [(3, x, 0, 1), (5, y, 0, 2), (6, z, 1, 2)] {
        hands[low] |= take(&mut lists[may], n);
        hands[high] |= take(&mut lists[may], SEATS * 18);
    }
    for (p, n) in share([x, y, z]).into_iter().enumerate() {
        hands[p] |= take(&mut lists[7], n.unwrap_or(0));
    }
    Some(hands)
}

impl FightTheLandlord {
    pub(super) fn world_of(&self, view: &View, rng: &mut Stream) -> State {
        let mut s = self.start();
        s.dealt = view.dealt.min(DEALT);
        if let Some(face) = view.face_up.filter(|_| self.auction()) {
            s.face_up = face.position % DEALT;
            s.face_card = face.card.filter(|&c| c < 54).unwrap_or(NONE);
        }
        let landlord = view.landlord.map(usize::from);
        let bottom = cards::set(&view.bottom);
        let mut played = [0; SEATS];
        for put in &view.plays {
            if let Some(of) = played.get_mut(usize::from(put.seat)) {
                *of |= cards::set(&put.cards);
            }
        }
        let me = view.seat.map(usize::from);
        // The cards that each seat is known to have been dealt.
        let mut hands = played;
        if let Some(own) = me.and_then(|p| hands.get_mut(p)) {
            *own |= cards::set(&view.hand);
        }
        if let Some(lord) = landlord.and_then(|p| hands.get_mut(p)) {
            *lord &= !bottom;
        }
        if s.face_card != NONE {
            hands[seat_after(0, s.face_up)] |= cards::card(s.face_card);
        }
        let pool = DECK & !hands.iter().fold(bottom, |all, hand| all | hand);
        let due = |p: usize| (usize::from(s.dealt) + SEATS - 1 - p) / SEATS;
        let need = [0, 1, 2].map(|p| due(p).saturating_sub(hands[p].count_ones() as usize));
        let mut barred = played.map(excluded_cards);
        if let Some(own) = me.and_then(|p| barred.get_mut(p)) {
            *own = DECK;
        }
        let full = if view.plays.is_empty() { None } else { deal(pool, need, barred, rng) };
        let got = full.unwrap_or_else(|| {
            // No seat has played, so any seat can have any unseen card. The cards left over are undealt.
            let mut list = shuffled(pool, rng);
            need.map(|n| take(&mut list, n))
        });
        hands.iter_mut().zip(got).for_each(|(hand, more)| *hand |= more);
        s.hands = hands;
        s.rest = DECK & !hands.iter().fold(0, |all, hand| all | hand);
        if s.dealt == DEALT {
            self.begin(&mut s);
        }
        for &bid in &view.bids {
            if s.phase == Phase::Bid {
                self.play_unchecked(&mut s, Action::from(bid));
            }
        }
        for put in &view.plays {
            if s.phase == Phase::Play {
                self.play_unchecked(&mut s, put.action);
            }
        }
        s
    }
}
