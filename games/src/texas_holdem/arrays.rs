//! Arrays: the observation, and OpenSpiel's two layouts.

use ludex_env::game::{Seat, Viewer};
use ludex_protocol::spec::{Dtype, Part, TensorSpec};

use super::deal::{ActionEffect, Deal, FOLD, NextStep};
use super::table::PokerTable;
use super::{State, TexasHoldem};

/// Maximum length of a hand, in moves and deals, for which an array of all moves is available.
const RECALLED: u32 = 1_024;

fn spec(d: Dtype, parts: &[(&str, usize)], high: f64) -> TensorSpec {
    let mut at = 0;
    let parts: Vec<Part> = parts
        .iter()
        .map(|&(name, len)| {
            at += len as u32;
            Part { name: name.into(), at: at - len as u32, len: len as u32 }
        })
        .collect();
    TensorSpec { d, s: vec![at], low: 0.0, high, parts }
}

/// A writer of consecutive little-endian numbers.
struct Writer<'a> {
    cells: std::slice::ChunksExactMut<'a, u8>,
}

impl<'a> Writer<'a> {
    fn new(out: &'a mut [u8]) -> Self {
        Writer { cells: out.chunks_exact_mut(4) }
    }

    fn put(&mut self, bytes: [u8; 4]) {
        if let Some(cell) = self.cells.next() {
            cell.copy_from_slice(&bytes);
        }
    }

    fn real(&mut self, v: f64) {
        self.put((v as f32).to_le_bytes());
    }

    /// Writes `n` cells: 1 where `set` returns true, otherwise 0.
    fn reals(&mut self, n: usize, set: impl Fn(usize) -> bool) {
        (0..n).for_each(|k| self.real(f64::from(u8::from(set(k)))));
    }

    fn ints(&mut self, n: usize, of: impl Fn(usize) -> u32) {
        (0..n).for_each(|k| self.put((of(k) as i32).to_le_bytes()));
    }
}

impl TexasHoldem {
    pub(super) fn observation_spec(&self) -> TensorSpec {
        let t = &self.table;
        let (deck, n) = (usize::from(t.deck), t.n);
        let parts = [
            ("hole", deck),
            ("board", deck),
            ("round", t.rounds),
            ("position", n),
            ("to_move", n),
            ("folded", n),
            ("spent", n),
            ("left", n),
            ("hands_left", 1),
        ];
        spec(Dtype::F4, &parts, 1.0)
    }

    /// Returns the layout of OpenSpiel's observation.
    pub(super) fn openspiel_spec(&self) -> TensorSpec {
        let t = &self.table;
        let (deck, n) = (usize::from(t.deck), t.n);
        let parts = [("player", n), ("private_cards", deck), ("public_cards", deck), ("contribution", n)];
        spec(Dtype::F4, &parts, f64::from(t.unit()))
    }

    /// Returns the layout of OpenSpiel's information state, which exists for single short hands with fixed seats.
    pub(super) fn info_spec(&self) -> Option<TensorSpec> {
        let t = &self.table;
        let (deck, long) = (usize::from(t.deck), t.length());
        let parts = [
            ("player", t.n),
            ("private_cards", deck),
            ("public_cards", deck),
            ("moves", 2 * long as usize),
            ("sizes", long as usize),
        ];
        (t.hands == 1 && !t.random_seats && long <= RECALLED).then(|| spec(Dtype::I4, &parts, f64::from(t.unit())))
    }

    pub(super) fn observe(&self, s: &State, who: Viewer, out: &mut [u8]) {
        let t = &self.table;
        let d = &s.now;
        let (c, shift) = (&d.chips, s.shift(t, s.past.len()));
        let me = who.seat();
        let first = me.unwrap_or(0);
        // The k-th seat from the observer on, as a position; `None` before seats are drawn.
        let position = |k: usize| shift.map(|shift| (first + k + t.n - shift) % t.n);
        let hole = self.own(d, me, shift);
        let unit = f64::from(t.unit());
        let mut w = Writer::new(out);
        w.reals(t.deck.into(), |k| hole.contains(&(k as u8)));
        w.reals(t.deck.into(), |k| d.board(t).contains(&(k as u8)));
        w.reals(t.rounds, |r| r == usize::from(c.round));
        w.reals(t.n, |p| me.is_some() && position(0) == Some(p));
        let next = d.next(t);
        w.reals(t.n, |k| position(k).is_some_and(|p| next == NextStep::Move(p)));
        w.reals(t.n, |k| position(k).is_some_and(|p| !c.in_hand(p)));
        let spent = |k: usize| position(k).map_or(0, |p| c.spent[p]);
        let left = |k: usize| position(k).map_or(0, |p| t.most(p).saturating_sub(c.spent[p]));
        (0..t.n).for_each(|k| w.real(f64::from(spent(k)) / unit));
        (0..t.n).for_each(|k| w.real(f64::from(left(k)) / unit));
        let hands_left = t.hands.saturating_sub(s.past.len() + 1);
        w.real(hands_left as f64 / t.hands as f64);
    }

    pub(super) fn observe_as_openspiel(&self, s: &State, me: Seat, out: &mut [f32]) {
        let t = &self.table;
        let (d, shift) = (&s.now, s.shift(t, s.past.len()));
        let (hole, deck) = (self.own(d, Some(me), shift), usize::from(t.deck));
        out.fill(0.0);
        let mut set = |i: usize, v: f32| {
            if let Some(cell) = out.get_mut(i) {
                *cell = v;
            }
        };
        set(me, 1.0);
        hole.iter().for_each(|&k| set(t.n + usize::from(k), 1.0));
        d.board(t).iter().for_each(|&k| set(t.n + deck + usize::from(k), 1.0));
        if let Some(shift) = shift {
            (0..t.n).for_each(|seat| set(t.n + 2 * deck + seat, d.chips.spent[(seat + t.n - shift) % t.n] as f32));
        }
    }

    pub(super) fn recall(&self, s: &State, who: Viewer, out: &mut [u8]) {
        let t = &self.table;
        let (d, me) = (&s.now, who.seat());
        let hole = self.own(d, me, Some(0));
        // Moves and deals are interleaved in chronological order.
        let at = |i: usize| d.moves.iter().enumerate().find(|(k, m)| usize::from(m.dealt) + k == i).map(|(_, m)| m);
        let long = t.length() as usize;
        let mut w = Writer::new(out);
        w.ints(t.n, |p| u32::from(me == Some(p)));
        w.ints(t.deck.into(), |k| u32::from(hole.contains(&(k as u8))));
        w.ints(t.deck.into(), |k| u32::from(d.board(t).contains(&(k as u8))));
        let pair = |i: usize| match at(i).map(|m| m.does) {
            None | Some(ActionEffect::Fold) => [0, 0],
            Some(ActionEffect::Call) => [1, 0],
            Some(ActionEffect::Raise(_)) => [0, 1],
            Some(ActionEffect::AllIn) => [1, 1],
        };
        (0..long).for_each(|i| {
            let pair = pair(i);
            w.ints(2, |k| pair[k]);
        });
        // Total to which each bet goes. With a limit, the moves determine the totals, so all are 0.
        let bet = |m: &&super::deal::BettingMove| {
            !t.limit && matches!(m.does, ActionEffect::Raise(_) | ActionEffect::AllIn) && m.action != FOLD
        };
        w.ints(long, |i| at(i).filter(bet).map_or(0, |m| m.to));
    }

    /// Returns the hole cards of seat `me` that are dealt so far.
    fn own<'a>(&self, d: &'a Deal, me: Option<Seat>, shift: Option<usize>) -> &'a [u8] {
        match (me, shift) {
            (Some(me), Some(shift)) => d.hole(&self.table, (me + self.table.n - shift) % self.table.n),
            _ => &[],
        }
    }
}

impl PokerTable {
    /// Returns true if chance must still draw the seats.
    pub fn draws(&self, s: &State) -> bool {
        self.random_seats && s.first.is_none()
    }
}
