//! Positions, and the effects of deals, bids and plays.

use ludex_env::game::{Action, Seat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cards::{self, Cards, lowest};
use super::combinations::{Combination, FIRST};
use super::{FightTheLandlord, Rules};

/// Number of seats in a game.
pub const SEATS: usize = 3;
/// Number of cards dealt one by one. The other three cards go to the landlord.
pub const DEALT: u8 = 51;
/// The highest possible bid.
pub const MOST_BID: u8 = 3;
/// Maximum number of bids, plays and passes in a game.
pub const MOST_MOVES: usize = 171;
/// Value for "no seat", "no card" or "no position".
pub const NONE: u8 = u8::MAX;

/// The current phase of the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Chance deals the cards.
    Deal,
    /// The seats bid for the role of the landlord.
    Bid,
    /// The seats play cards.
    Play,
    /// A seat has played all its cards, or all seats have declined to be the landlord.
    Over,
}

/// A position of the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// The cards in each seat's hand.
    pub(super) hands: [Cards; SEATS],
    /// The cards that each seat has played.
    pub(super) played: [Cards; SEATS],
    /// The undealt cards. After the deal, the three cards for the landlord.
    pub(super) rest: Cards,
    pub(super) phase: Phase,
    pub(super) dealt: u8,
    /// OpenSpiel only: index in the deal of the face-up card, or [`NONE`].
    pub(super) face_up: u8,
    pub(super) face_card: u8,
    /// The highest bid and its seat.
    pub(super) bid: u8,
    pub(super) bidder: u8,
    pub(super) landlord: u8,
    /// Number of consecutive passes in the auction or in the trick.
    pub(super) passes: u8,
    /// Id of the combination to beat; 0 if the seat to move leads a trick.
    pub(super) top: u16,
    /// Number of combinations that each seat has played.
    pub(super) made: [u8; SEATS],
    /// Number of bombs and rockets played.
    pub(super) bombs: u8,
    /// Botzone's points for combinations, by seat.
    pub(super) points: [u16; SEATS],
    pub(super) winner: u8,
    /// Number of entries at the start of `moves` that are bids.
    pub(super) bids: u8,
    pub(super) length: u8,
    pub(super) moves: [u16; MOST_MOVES],
}

/// Returns the seat whose turn comes `moves` moves after that of `first`.
pub fn seat_after(first: u8, moves: u8) -> Seat {
    (usize::from(first) + usize::from(moves)) % SEATS
}

impl State {
    /// Returns the seat that bids first: the owner of the face-up card, or seat 0 without such a card.
    pub(super) fn first(&self) -> u8 {
        if self.face_up == NONE { 0 } else { self.face_up % SEATS as u8 }
    }

    /// Iterates over the bids in order, as (seat, bid).
    pub(super) fn bids(&self) -> impl Iterator<Item = (Seat, u8)> {
        let first = self.first();
        (0..self.bids).map(move |k| (seat_after(first, k), self.moves[usize::from(k)] as u8))
    }

    /// Iterates over the plays and passes in order, as (seat, action).
    pub(super) fn plays(&self) -> impl Iterator<Item = (Seat, Action)> {
        let played = &self.moves[usize::from(self.bids)..usize::from(self.length)];
        (0..).zip(played).map(move |(k, &a)| (seat_after(self.landlord, k), Action::from(a)))
    }

    fn note(&mut self, a: Action) {
        if let Some(place) = self.moves.get_mut(usize::from(self.length)) {
            *place = a as u16;
            self.length += 1;
        } else {
            self.phase = Phase::Over;
        }
    }

    /// Makes `seat` the landlord, who takes the three undealt cards and leads.
    fn crown(&mut self, seat: u8) {
        self.landlord = seat;
        self.hands[usize::from(seat)] |= self.rest;
        (self.phase, self.passes) = (Phase::Play, 0);
    }

    /// Returns true if the landlord's three cards have been revealed and no seat has played since.
    pub(super) fn opened(&self) -> bool {
        self.phase == Phase::Play && self.length == self.bids
    }
}

impl FightTheLandlord {
    /// Converts a chance outcome to a card number. OpenSpiel's outcomes go suit by suit: clubs, diamonds, hearts,
    /// spades.
    pub(super) fn dealt_card(&self, a: Action) -> u8 {
        if !self.auction() {
            return (a % 54) as u8;
        }
        match a.saturating_sub(DEALT.into()) as u8 % 54 {
            joker @ 52.. => joker,
            id => id % 13 * 4 + [3, 1, 0, 2][usize::from(id / 13)],
        }
    }

    /// Applies a chance outcome: a dealt card, or the position of the face-up card.
    pub(super) fn deal(&self, s: &mut State, a: Action) {
        if self.auction() && s.face_up == NONE {
            s.face_up = (a % Action::from(DEALT)) as u8;
            return;
        }
        let mut card = self.dealt_card(a);
        if cards::card(card) & s.rest == 0 {
            card = cards::numbers(s.rest).next().unwrap_or(0);
        }
        if s.dealt == s.face_up {
            s.face_card = card;
        }
        s.hands[seat_after(0, s.dealt)] |= cards::card(card);
        s.rest &= !cards::card(card);
        s.dealt += 1;
        if s.dealt == DEALT {
            self.begin(s);
        }
    }

    /// Starts the bidding, or the play if the rules have no bidding.
    pub(super) fn begin(&self, s: &mut State) {
        match self.rules() {
            Rules::Botzone => s.crown(0),
            Rules::Botzone2 | Rules::DouDizhu => s.phase = Phase::Bid,
        }
    }

    /// Applies a bid or a pass in the auction.
    pub(super) fn bid(&self, s: &mut State, a: Action) {
        let seat = seat_after(s.first(), s.bids) as u8;
        let bid = (a % FIRST) as u8;
        s.note(Action::from(bid));
        s.bids += 1;
        if bid > s.bid {
            (s.bid, s.bidder, s.passes) = (bid, seat, 0);
        } else {
            s.passes += 1;
        }
        let done = match self.rules() {
            Rules::DouDizhu => s.passes + u8::from(s.bid > 0) >= SEATS as u8,
            _ => s.bids >= SEATS as u8,
        };
        match (s.bid, done) {
            (MOST_BID, _) | (1.., true) => s.crown(s.bidder),
            (0, true) if self.rules() == Rules::DouDizhu => s.phase = Phase::Over,
            (0, true) => s.crown(0),
            _ => {}
        }
    }

    /// Applies a play or a pass in a trick.
    pub(super) fn put(&self, s: &mut State, a: Action) {
        let seat = seat_after(s.landlord, s.length - s.bids);
        s.note(a);
        let Some(play) = self.plays.get(a) else {
            s.passes += 1;
            if s.passes >= SEATS as u8 - 1 {
                (s.top, s.passes) = (0, 0);
            }
            return;
        };
        let kind = self.plays.kind(play);
        let taken = lowest(s.hands[seat], play.counts);
        s.hands[seat] &= !taken;
        s.played[seat] |= taken;
        (s.top, s.passes) = (a as u16, 0);
        s.made[seat] = s.made[seat].saturating_add(1);
        s.bombs += u8::from(kind.doubles());
        s.points[seat] += kind.points(self.plays.length(play));
        if s.hands[seat] == 0 {
            (s.phase, s.winner) = (Phase::Over, seat as u8);
        }
    }

    /// Returns true for a spring: either the farmers have played no combination, or the landlord only one.
    fn spring(&self, s: &State) -> bool {
        let landlord = usize::from(s.landlord);
        let farmers = (0..SEATS).filter(|&p| p != landlord).all(|p| s.made[p] == 0);
        farmers || s.made.get(landlord) == Some(&1)
    }

    /// Returns the stake of a farmer: the bid, doubled for each bomb or rocket and, at the end of the game, for a
    /// spring.
    pub(super) fn stake(&self, s: &State) -> u32 {
        let doubled = s.bombs + u8::from(s.winner != NONE && self.spring(s));
        (0..doubled).fold(s.bid.max(1).into(), |stake: u32, _| stake.saturating_mul(2))
    }

    /// Returns the combination to beat, or `None` at the start of a trick.
    pub(super) fn top(&self, s: &State) -> Option<&Combination> {
        self.plays.get(Action::from(s.top))
    }
}
