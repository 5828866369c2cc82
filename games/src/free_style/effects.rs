//! Effects of an action on the pieces around the piece that acted.

use super::board::{ADJ4, ADJ8, CELLS, DIRECTIONS, cells, step};
use super::document::{Cells, Cond, Effect, On, Then, Who};
use super::position::{BoardState, NONE};
use super::rules::Rules;

/// Owners and numbers of all pieces before the first effect of a ply.
pub(super) struct Snapshot {
    pieces: [u32; 2],
    value: [u8; CELLS],
}

impl Snapshot {
    pub(super) fn of(s: &BoardState) -> Self {
        Snapshot { pieces: s.pieces, value: s.value }
    }

    /// Applies the effects of an action of `seat`. `c` is the cell of the placed or moved piece.
    pub(super) fn effects(&self, s: &mut BoardState, rules: &Rules, seat: usize, c: usize, on: On) {
        for effect in rules.document.effects.iter().filter(|e| e.on == on) {
            let whose = match effect.who {
                Who::Own => self.pieces[seat],
                Who::Opp => self.pieces[1 - seat],
                Who::Both => self.pieces[0] | self.pieces[1],
            };
            for cell in cells(self.around(effect.cells, seat, c) & whose) {
                // Pieces that an earlier effect removed are skipped.
                if s.occupied() >> cell & 1 == 1 && self.fits(effect.cond, c, cell) {
                    self.apply(s, rules, effect, seat, cell);
                }
            }
        }
    }

    fn around(&self, which: Cells, seat: usize, c: usize) -> u32 {
        match which {
            Cells::Adj4 => ADJ4[c],
            Cells::Adj8 => ADJ8[c],
            Cells::Sandwich4 => DIRECTIONS[..4].iter().fold(0, |set, &d| set | self.sandwich(seat, c, d)),
            Cells::Sandwich8 => DIRECTIONS.iter().fold(0, |set, &d| set | self.sandwich(seat, c, d)),
            Cells::LineRest => {
                let axes = [(0, 1), (1, 0), (1, 1), (1, -1)];
                let rows = axes.map(|d: (i8, i8)| self.run(seat, c, d) | self.run(seat, c, (-d.0, -d.1)));
                rows.into_iter().filter(|row| row.count_ones() >= 2).fold(0, |set, row| set | row)
            }
        }
    }

    /// Returns the unbroken row of opposing pieces that starts next to `c` in one direction, if a piece of `seat`
    /// follows the row.
    fn sandwich(&self, seat: usize, c: usize, direction: (i8, i8)) -> u32 {
        let between = self.run(1 - seat, c, direction);
        let last = (between.count_ones() + 1) as i8;
        let end = step(c, direction.0 * last, direction.1 * last);
        if end.is_some_and(|e| self.pieces[seat] >> e & 1 == 1) { between } else { 0 }
    }

    /// Returns the unbroken row of a seat's pieces that starts next to `c` in one direction.
    fn run(&self, seat: usize, c: usize, (rows, columns): (i8, i8)) -> u32 {
        let (mut set, mut at) = (0, c);
        while let Some(next) = step(at, rows, columns).filter(|&n| self.pieces[seat] >> n & 1 == 1) {
            set |= 1 << next;
            at = next;
        }
        set
    }

    fn fits(&self, cond: Option<Cond>, c: usize, other: usize) -> bool {
        let Some(cond) = cond else { return true };
        let (own, other) = (self.value[c], self.value[other]);
        own != NONE
            && other != NONE
            && match cond {
                Cond::Lower => other < own,
                Cond::Higher => other > own,
                Cond::Equal => other == own,
                Cond::Sum10 => other + own == 10,
            }
    }

    fn apply(&self, s: &mut BoardState, rules: &Rules, effect: &Effect, seat: usize, cell: usize) {
        match effect.then {
            Then::Flip => {
                s.pieces.iter_mut().for_each(|p| *p ^= 1 << cell);
                let owner = s.pieces[1] >> cell & 1;
                s.had[owner as usize] = true;
            }
            Then::Remove => {
                s.lift(cell);
                s.captured[seat] += u16::from(self.pieces[1 - seat] >> cell & 1 == 1);
            }
            Then::Add | Then::Sub => {
                let kind = rules.document.kinds.get(usize::from(s.kind[cell]));
                if let (Some(range), Some(value)) = (kind.and_then(|k| k.values.as_ref()), s.number(cell)) {
                    let n = effect.n.unwrap_or(0);
                    let changed = if effect.then == Then::Add { value + n } else { value.saturating_sub(n) };
                    s.value[cell] = changed.max(range.min).min(range.max.max(range.min));
                }
            }
        }
    }
}
