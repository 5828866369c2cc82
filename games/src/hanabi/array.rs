//! The observation array in the canonical encoding of the Hanabi Learning Environment.

use ludex_env::game::{Seat, Viewer};
use ludex_env::tensor::stretches;
use ludex_protocol::spec::TensorSpec;

use super::{Hanabi, MOST_KINDS, Move, NO_CARD, Sight, State, slots};

/// Cells of an array, written from front to back.
struct Cells<'a, T> {
    out: &'a mut [T],
    at: usize,
}

impl<T: From<u8>> Cells<'_, T> {
    fn set(&mut self, i: usize) {
        if let Some(cell) = self.out.get_mut(self.at + i) {
            *cell = T::from(1);
        }
    }

    /// Sets the first `n` of the next `room` cells, and advances past all `room` cells.
    fn first(&mut self, n: u8, room: usize) {
        (0..usize::from(n)).for_each(|i| self.set(i));
        self.at += room;
    }

    /// Sets cell `i` of the next `room` cells, if `i` is below `room`, and advances past all `room` cells.
    fn one(&mut self, i: Option<usize>, room: usize) {
        if let Some(i) = i.filter(|&i| i < room) {
            self.set(i);
        }
        self.at += room;
    }
}

impl Hanabi {
    /// Returns the layout of the array.
    pub(super) fn parts(&self) -> TensorSpec {
        let (n, hand, kinds) = (self.n, self.hand, self.kinds());
        let known = self.params.observation_type != Sight::Minimal;
        let lengths = [
            ("hands", (n - 1) * hand * kinds),
            ("short", n),
            ("deck", self.cards() - n * hand),
            ("fireworks", kinds),
            ("information", self.tokens().into()),
            ("lives", self.params.max_life_tokens as usize),
            ("discards", self.cards()),
            ("last_seat", n),
            ("last_kind", 4),
            ("last_target", n),
            ("last_color", self.colors),
            ("last_rank", self.ranks),
            ("last_touched", hand),
            ("last_slot", hand),
            ("last_card", kinds),
            ("last_outcome", 2),
            ("knowledge", if known { n * hand * (kinds + self.colors + self.ranks) } else { 0 }),
        ];
        stretches(&lengths.map(|(name, length)| (name, length as u32)), 1.0)
    }

    /// Writes the array of `who`. The public gets the array of seat 0 without any hand.
    pub(super) fn encode<T: From<u8> + Clone>(&self, s: &State, who: Viewer, out: &mut [T]) {
        out.fill(T::from(0));
        let me = who.seat().unwrap_or(0);
        let mut cells = Cells { out, at: 0 };
        let around = |from: usize| (from..self.n).map(move |k| (me + k) % self.n);
        for p in around(1) {
            for slot in 0..self.hand {
                let held = s.hands[p].cards().get(slot).filter(|_| self.sees(who, p));
                cells.one(held.map(|h| h.card.into()), self.kinds());
            }
        }
        around(0).for_each(|p| cells.one((usize::from(s.hands[p].size) < self.hand).then_some(0), 1));
        let room = self.cards() - self.n * self.hand;
        cells.first(s.deck.min(room as u8), room);
        for &height in &s.fireworks[..self.colors] {
            cells.one(usize::from(height).checked_sub(1), self.ranks);
        }
        cells.first(s.information, self.tokens().into());
        cells.first(s.lives, self.params.max_life_tokens as usize);
        let mut gone = [0; MOST_KINDS];
        for done in s.moves().iter().filter(|d| !d.fits) {
            gone.get_mut(usize::from(done.card)).into_iter().for_each(|n| *n += 1);
        }
        for (card, &gone) in gone.iter().enumerate().take(self.kinds()) {
            cells.first(gone, self.copies(card % self.ranks).into());
        }
        self.encode_last(s, me, &mut cells);
        if self.params.observation_type != Sight::Minimal {
            around(0).for_each(|p| self.encode_knowledge(s, p, &mut cells));
        }
    }

    /// Encodes the last move, with seats counted clockwise from `me`.
    fn encode_last<T: From<u8>>(&self, s: &State, me: usize, cells: &mut Cells<'_, T>) {
        let last = s.moves().last();
        // The last move was made by the seat before the seat that moves next.
        let by = (self.next(s) + 2 * self.n - 1 - me) % self.n;
        let m = last.and_then(|d| self.reading(d.action.into()));
        let (kind, to, color, rank, slot) = match m {
            Some(Move::Play(slot)) => (Some(0), None, None, None, Some(slot)),
            Some(Move::Discard(slot)) => (Some(1), None, None, None, Some(slot)),
            Some(Move::Color(to, c)) => (Some(2), Some(to), Some(c), None, None),
            Some(Move::Rank(to, r)) => (Some(3), Some(to), None, Some(r), None),
            None => (None, None, None, None, None),
        };
        cells.one(last.map(|_| by), self.n);
        cells.one(kind, 4);
        cells.one(to.map(|to| (by + to) % self.n), self.n);
        cells.one(color, self.colors);
        cells.one(rank, self.ranks);
        slots(last.map_or(0, |d| d.touched)).for_each(|slot| cells.set(slot));
        cells.at += self.hand;
        cells.one(slot, self.hand);
        cells.one(last.map(|d| d.card).filter(|&card| card != NO_CARD).map(usize::from), self.kinds());
        let played = last.filter(|_| kind == Some(0));
        cells.one(played.filter(|d| d.fits).map(|_| 0), 1);
        cells.one(played.filter(|d| d.token).map(|_| 0), 1);
    }

    /// Encodes the possible kinds of each card of a hand, and the hinted colors and ranks.
    fn encode_knowledge<T: From<u8>>(&self, s: &State, p: usize, cells: &mut Cells<'_, T>) {
        for slot in 0..self.hand {
            let held = s.hands[p].cards().get(slot).copied().unwrap_or_default();
            for card in 0..self.kinds() {
                let may = held.colors >> (card / self.ranks) & held.ranks >> (card % self.ranks) & 1 == 1;
                cells.one(may.then_some(0), 1);
            }
            cells.one(usize::from(held.color).checked_sub(1), self.colors);
            cells.one(usize::from(held.rank).checked_sub(1), self.ranks);
        }
    }

    /// Writes OpenSpiel's variant of the array. While the first hands are dealt, the deck holds more cards than the
    /// part for the deck has cells, so the following parts are overwritten.
    pub(super) fn encode_as_theirs(&self, s: &State, seat: Seat, out: &mut [f32]) {
        self.encode(s, Viewer::Seat(seat), out);
        let deck = self.parts().parts.into_iter().find(|part| part.name == "deck");
        let deck = deck.map_or(0, |part| part.at as usize);
        let rest = out.get_mut(deck..deck + usize::from(s.deck));
        rest.unwrap_or_default().fill(1.0);
    }
}
