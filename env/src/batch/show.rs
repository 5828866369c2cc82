//! The answer, written column by column.

use serde_json::Value;

use super::episode::{Batch, Rows, Status};
use super::{Layout, Observer};
use crate::columns::{Columns, Final, MaskForm};
use crate::erased::held;
use crate::game::{Game, Seat, Turn, Viewer};

/// A seat, and the row that it looks at.
#[derive(Clone, Copy)]
pub(super) struct Eye {
    row: u32,
    seat: u32,
}

impl Eye {
    fn new(row: usize, seat: Seat) -> Self {
        Eye { row: row as u32, seat: seat as u32 }
    }

    fn row(self) -> usize {
        self.row as usize
    }

    fn seat(self) -> Seat {
        self.seat as Seat
    }
}

/// Where the views of a list of eyes go: as many entries as eyes, or none where a view is not asked for.
struct ViewColumns<'a> {
    obs: &'a mut [u8],
    info: &'a mut [u8],
    structure: &'a mut [Value],
    text: &'a mut [String],
}

impl<G: Game> Batch<G> {
    /// Whose view row `i` shows.
    #[inline]
    pub(super) fn viewer(&self, i: usize) -> Seat {
        // Where a seat is to move, it is the client's.
        Seat::try_from(self.hot[i].to_move).unwrap_or_else(|_| self.onlooker(i))
    }

    /// Whose view row `i` shows where no single seat is to move.
    fn onlooker(&self, i: usize) -> Seat {
        if let Some(seat) = self.only_seat(i) {
            return seat;
        }
        match self.turn(i) {
            Turn::Seat(seat) => seat,
            Turn::Together(set) => set.iter().find(|&s| self.player(i, s).is_none()).unwrap_or(0),
            Turn::Chance => 0,
            Turn::Over => Seat::try_from(self.hot[i].last).unwrap_or(0),
        }
    }

    /// Adds the eyes on row `i`, which stands as row `at` in the list that they look at.
    #[inline]
    fn look(&self, i: usize, at: usize, eyes: &mut Vec<Eye>) {
        match self.config.observer {
            Observer::Acting => eyes.push(Eye::new(at, self.viewer(i))),
            Observer::All => eyes.extend((0..self.players).map(|seat| Eye::new(at, seat))),
        }
    }

    /// Sizes the columns for `rows` rows. Rewards and flags are zero until something happens in a row.
    pub(super) fn prepare(&mut self, rows: usize, out: &mut Columns) {
        out.prepare(rows, &self.of.spec, &self.config, [self.obs_bytes, self.info_bytes], self.client_seats == 1);
        self.ended.clear();
        self.last_eyes.clear();
    }

    /// Writes the rewards of row `i` since the client's last action.
    pub(super) fn write_reward(&mut self, i: usize, pos: usize, out: &mut Columns) {
        let p = self.players;
        let mut now = [0.0; 16];
        self.returns(i, &mut now[..p]);
        let rewards = &mut out.reward[pos * p..(pos + 1) * p];
        for ((reward, base), now) in rewards.iter_mut().zip(&mut self.cold[i].base).zip(now) {
            *reward = (now - *base) as f32;
            *base = now;
        }
    }

    /// Writes whether the episode of row `i` is over.
    pub(super) fn write_flags(&self, i: usize, pos: usize, out: &mut Columns) {
        out.terminated[pos] = u8::from(self.hot[i].status == Status::Terminated);
        out.truncated[pos] = u8::from(self.hot[i].status == Status::Truncated);
    }

    /// Tells the end of row `i` before a reset in the same step. Its views are written with those of the others, later.
    pub(super) fn write_last(&mut self, i: usize, pos: usize, out: &mut Columns) {
        let last = &mut out.last;
        last.at.push(pos as u32);
        last.length.push(self.hot[i].length);
        if let Some(only) = self.only_seat(i) {
            last.seat.push(only as i8);
        }
        let from = last.returns.len();
        last.returns.resize(from + self.players, 0.0);
        self.returns(i, &mut last.returns[from..]);
        let mut eyes = std::mem::take(&mut self.last_eyes);
        self.look(i, self.ended.len(), &mut eyes);
        self.last_eyes = eyes;
        self.ended.push(self.hot[i].state.clone());
    }

    /// Writes what is about the episodes that `rows` are in now and the views of those that ended, and keeps the masks
    /// for the next check.
    pub(super) fn show(&mut self, rows: Rows<'_>, out: &mut Columns) {
        let p = self.players;
        let mut eyes = std::mem::take(&mut self.eyes);
        eyes.clear();
        let told = out.to_move.iter_mut().zip(&mut out.length).zip(&mut out.episode);
        for (((to_move, length), episode), i) in told.zip(rows.iter()) {
            let h = &self.hot[i];
            (*to_move, *length, *episode) = (h.to_move, h.length, h.episode);
            self.look(i, i, &mut eyes);
        }
        for (seat, i) in out.seat.iter_mut().zip(rows.iter()) {
            *seat = self.only_seat(i).unwrap_or(0) as i8;
        }
        if self.config.views.returns {
            for (sums, i) in out.returns.chunks_exact_mut(p).zip(rows.iter()) {
                self.returns(i, sums);
            }
        }
        if self.config.client_chance {
            for i in rows.iter() {
                self.outcomes.clear();
                if self.hot[i].to_move == Turn::Chance.code() {
                    self.of.game.chance(&self.hot[i].state, &mut self.outcomes);
                }
                out.put_chance(&self.outcomes);
            }
        }
        let Columns { obs, info, structure, text, .. } = out;
        self.write_views(|row| &self.hot[row].state, &eyes, ViewColumns { obs, info, structure, text });
        self.write_last_views(&mut out.last);
        if self.keep_masks {
            self.show_kept_masks(&eyes, rows, out);
        } else if self.config.mask != MaskForm::None {
            self.show_masks(&eyes, out);
        }
        self.eyes = eyes;
    }

    fn write_last_views(&self, last: &mut Final) {
        let (n, v) = (self.last_eyes.len(), self.config.views);
        let Final { obs, info, structure, text, .. } = last;
        let when = |wanted: bool, len: usize| if wanted { len } else { 0 };
        obs.resize(when(v.tensor, n * self.obs_bytes), 0);
        info.resize(when(v.info, n * self.info_bytes), 0);
        structure.resize(when(v.structure, n), Value::Null);
        text.resize(when(v.text, n), String::new());
        self.write_views(|row| &self.ended[row], &self.last_eyes, ViewColumns { obs, info, structure, text });
    }

    /// Masks that are kept; every row has one eye.
    fn show_kept_masks(&mut self, eyes: &[Eye], rows: Rows<'_>, out: &mut Columns) {
        let n = self.actions;
        for eye in eyes {
            let (h, kept) = (&self.hot[eye.row()], &mut self.masks[eye.row() * n..(eye.row() + 1) * n]);
            if h.status == Status::Live {
                self.of.game.mask(&h.state, eye.seat(), kept);
            } else {
                kept.fill(0);
            }
        }
        match (self.config.mask, rows) {
            (MaskForm::Bytes, Rows::All(_)) => out.mask.copy_from_slice(&self.masks),
            _ => rows.iter().enumerate().for_each(|(pos, i)| out.put_mask(pos, &self.masks[i * n..(i + 1) * n])),
        }
    }

    fn show_masks(&mut self, eyes: &[Eye], out: &mut Columns) {
        for (at, eye) in eyes.iter().enumerate() {
            let h = &self.hot[eye.row()];
            self.scratch.clear();
            if h.status == Status::Live {
                self.of.game.legal(&h.state, eye.seat(), &mut self.scratch);
            }
            out.put_legal(at, &self.scratch);
        }
    }

    /// Writes what `eyes` see of the positions of their rows.
    fn write_views<'a>(&'a self, state: impl Fn(usize) -> &'a G::State, eyes: &[Eye], to: ViewColumns<'_>) {
        let v = self.config.views;
        let seen = |eye: &Eye| (state(eye.row()), Viewer::Seat(eye.seat()));
        match self.config.layout {
            _ if !v.tensor => {}
            Layout::Ludex => {
                for (eye, cells) in eyes.iter().zip(to.obs.chunks_exact_mut(self.obs_bytes)) {
                    let (state, who) = seen(eye);
                    self.of.game.tensor(state, who, cells);
                }
            }
            Layout::OpenSpiel => {
                let mut values = vec![0f32; self.obs_bytes / 4];
                for (eye, cells) in eyes.iter().zip(to.obs.chunks_exact_mut(self.obs_bytes)) {
                    self.of.game.openspiel_tensor(seen(eye).0, eye.seat(), &mut values);
                    cells.chunks_exact_mut(4).zip(&values).for_each(|(b, v)| b.copy_from_slice(&v.to_le_bytes()));
                }
            }
        }
        if v.info {
            for (eye, cells) in eyes.iter().zip(to.info.chunks_exact_mut(self.info_bytes)) {
                let (state, who) = seen(eye);
                self.of.game.info(state, who, cells);
            }
        }
        if v.structure || v.text {
            for (at, eye) in eyes.iter().enumerate() {
                let (state, who) = seen(eye);
                let view = held(&self.of, state.clone()).view(who);
                if v.structure {
                    to.structure[at] = view.value();
                }
                if v.text {
                    to.text[at] = view.text();
                }
            }
        }
    }
}
