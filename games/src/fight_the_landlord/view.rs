//! The information of a seat or the public: view, array and text.

use ludex_env::game::{Action, Game, Seat, ToMove, Viewer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cards::{self, DECK, RANKS, count, counts, lowest, ranks_text};
use super::{FightTheLandlord, NONE, Phase, Rules, SEATS, State, owner, seat_after};

/// The information available to one seat, or to the public. Cards are numbered as in Botzone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// The observer's seat; absent for the public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u8>,
    /// The current phase of the game.
    pub phase: Phase,
    /// The observer's cards in ascending order.
    pub hand: Vec<u8>,
    /// Number of cards in each seat's hand.
    pub held: [u8; SEATS],
    /// Number of cards dealt so far.
    pub dealt: u8,
    /// The card that is dealt face up, if any. Its owner bids first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub face_up: Option<FaceUp>,
    /// Bids in order, starting with the seat that bids first; 0 is a pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bids: Vec<u8>,
    /// The landlord's seat; absent until the landlord is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landlord: Option<u8>,
    /// The three cards that the landlord took; empty until the landlord is chosen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bottom: Vec<u8>,
    /// Plays and passes in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plays: Vec<Put>,
    /// The seat to move; absent during the deal and at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_move: Option<u8>,
    /// Action id of the combination to beat; absent at the start of a trick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_beat: Option<u32>,
    /// Botzone's points so far, by seat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points: Option<[u16; SEATS]>,
    /// The current stake of each farmer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stake: Option<u32>,
    /// The seat that has played all its cards; absent before the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winner: Option<u8>,
}

/// The card that is dealt face up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaceUp {
    /// Position in the deal, from 0.
    pub position: u8,
    /// The card; absent until it is dealt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<u8>,
}

/// One play or pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Put {
    /// The seat that played.
    pub seat: u8,
    /// The action id, 0 for a pass.
    pub action: u32,
    /// The cards that were played; empty for a pass.
    pub cards: Vec<u8>,
}

fn some(value: u8) -> Option<u8> {
    (value != NONE).then_some(value)
}

impl FightTheLandlord {
    /// Returns the cards of the observer; empty for the public.
    fn hand(&self, s: &State, who: Viewer) -> cards::Cards {
        owner(who).map_or(0, |p| s.hands[p])
    }

    /// Returns all plays with the cards that they used. Plays the moves again to find the cards.
    fn table(&self, s: &State) -> Vec<Put> {
        let mut hands = [0, 1, 2].map(|p: Seat| s.hands[p] | s.played[p]);
        let put = |(seat, action): (Seat, Action)| {
            let taken = self.plays.get(action).map_or(0, |play| lowest(hands[seat], play.counts));
            hands[seat] &= !taken;
            Put { seat: seat as u8, action, cards: cards::numbers(taken).collect() }
        };
        if s.landlord == NONE { Vec::new() } else { s.plays().map(put).collect() }
    }

    pub(super) fn seen_by(&self, s: &State, who: Viewer) -> View {
        let known = s.landlord != NONE;
        let points = self.rules() == Rules::Botzone;
        View {
            seat: owner(who).map(|p| p as u8),
            phase: s.phase,
            hand: cards::numbers(self.hand(s, who)).collect(),
            held: s.hands.map(|hand| hand.count_ones() as u8),
            dealt: s.dealt,
            face_up: some(s.face_up).map(|position| FaceUp { position, card: some(s.face_card) }),
            bids: s.bids().map(|(_, bid)| bid).collect(),
            landlord: some(s.landlord),
            bottom: if known { cards::numbers(s.rest).collect() } else { Vec::new() },
            plays: self.table(s),
            to_move: self.to_move(s).seat().map(|p| p as u8),
            to_beat: (s.phase == Phase::Play && s.top != 0).then_some(s.top.into()),
            points: points.then_some(s.points),
            stake: (!points && known).then(|| self.stake(s)),
            winner: some(s.winner),
        }
    }

    /// Writes the observation array. Seats are in turn order, starting with the observer.
    pub(super) fn write(&self, s: &State, who: Viewer, out: &mut [u8]) {
        out.fill(0);
        let me = owner(who).unwrap_or(0);
        let hand = self.hand(s, who);
        let bottom = if s.landlord == NONE { 0 } else { s.rest };
        let gone = s.played.iter().fold(0, |all, p| all | p);
        let to_beat = if s.phase == Phase::Play { self.top(s).map_or(0, |top| top.counts) } else { 0 };
        let ranks = [
            counts(hand),
            counts(DECK & !(hand | gone | bottom)),
            counts(bottom),
            counts(s.played[me]),
            counts(s.played[(me + 1) % SEATS]),
            counts(s.played[(me + 2) % SEATS]),
            to_beat,
        ];
        let (by_rank, rest) = out.split_at_mut(ranks.len() * RANKS);
        for (cells, of) in by_rank.chunks_exact_mut(RANKS).zip(ranks) {
            cells.iter_mut().enumerate().for_each(|(r, cell)| *cell = count(of, r));
        }
        for (k, cell) in rest.iter_mut().take(SEATS).enumerate() {
            *cell = s.hands[(me + k) % SEATS].count_ones() as u8;
        }
        // Cell of a seat in the group of three cells that starts at `at` with the observer's cell.
        let seat = |p: Seat, at: usize| at + (p + SEATS - me) % SEATS;
        let mut set = |at: usize, value: u8| rest[at] = value;
        if s.landlord != NONE {
            set(seat(s.landlord.into(), 3), 1);
            if s.top != 0 && s.phase == Phase::Play {
                let last = seat_after(s.landlord, s.length - s.bids - s.passes - 1);
                set(seat(last, 6), 1);
            }
        }
        set(9 + usize::from(s.bid), 1);
        if s.bidder != NONE {
            set(seat(s.bidder.into(), 13), 1);
        }
        set(16 + s.phase as usize, 1);
        set(20, u8::from(owner(who).is_some_and(|p| self.to_move(s) == ToMove::Seat(p))));
        set(21, s.bombs.min(14));
    }

    /// Returns the text of a view.
    pub(super) fn words(&self, view: &View) -> String {
        let ranks = |cards: &[u8]| ranks_text(counts(cards::set(cards)), self.names());
        let side = |p: u8| match view.landlord {
            Some(lord) if lord == p => " (landlord)",
            Some(_) => " (farmer)",
            None => "",
        };
        let mut lines = Vec::new();
        if let Some(p) = view.seat {
            let hand = if view.hand.is_empty() { "no cards".to_owned() } else { ranks(&view.hand) };
            lines.push(format!("You are p{p}{} and hold {hand}.", side(p)));
        }
        let held = (0..).zip(view.held).map(|(p, n)| format!("p{p}{} {n}", side(p)));
        lines.push(format!("Cards held: {}", held.collect::<Vec<_>>().join("; ")));
        if let Some(FaceUp { position, card }) = view.face_up {
            let card = card.map_or("not dealt yet".to_owned(), |c| cards::card_text(c, self.names()));
            lines.push(format!(
                "Card {position} of the deal, from 0, lies face up: {card}. Its owner, p{}, bids first.",
                position % 3
            ));
        }
        if !view.bottom.is_empty() {
            lines.push(format!("The landlord took {}.", ranks(&view.bottom)));
        }
        let first = view.face_up.map_or(0, |f| usize::from(f.position));
        let bids =
            view.bids.iter().enumerate().map(|(k, &b)| format!("p{} {}", (first + k) % SEATS, self.name(b.into())));
        let bids: Vec<String> = bids.collect();
        if !bids.is_empty() {
            lines.push(format!("Bids: {}", bids.join(", ")));
        }
        let plays: Vec<String> = view.plays.iter().map(|p| format!("p{} {}", p.seat, self.name(p.action))).collect();
        if !plays.is_empty() {
            lines.push(format!("Plays: {}", plays.join(", ")));
        }
        if view.phase == Phase::Play {
            let gone = view.plays.iter().fold(cards::set(&view.hand), |all, p| all | cards::set(&p.cards));
            let unseen = ranks_text(counts(DECK & !(gone | cards::set(&view.bottom))), self.names());
            lines.push(format!("Not seen yet: {unseen}"));
        }
        if let Some(points) = view.points {
            lines.push(format!("Points for plays: p0 {}, p1 {}, p2 {}", points[0], points[1], points[2]));
        }
        if let Some(stake) = view.stake {
            lines.push(format!("Stake: {stake}"));
        }
        lines.push(match (view.winner, view.to_move, view.to_beat) {
            (Some(p), ..) if view.landlord == Some(p) => format!("p{p} is out of cards: the landlord wins."),
            (Some(p), ..) => format!("p{p} is out of cards: the farmers win."),
            (None, Some(p), _) if view.phase == Phase::Bid => format!("p{p} is to bid."),
            (None, Some(p), Some(top)) => format!("p{p} is to move: {} is to be beaten.", self.name(top)),
            (None, Some(p), None) => format!("p{p} leads."),
            (None, None, _) if view.phase == Phase::Over => "Nobody bid.".to_owned(),
            (None, None, _) => format!("{} of 51 cards are dealt.", view.dealt),
        });
        lines.join("\n")
    }
}
