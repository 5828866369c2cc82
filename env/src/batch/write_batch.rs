//! Writes replies, column by column.

use serde_json::Value;

use ludex_protocol::Tensors;
use ludex_protocol::message::{Batch, FinalRows, Mask};

use super::columns::{bytes_of, put_chance, put_legal, put_mask};
use super::episode::{Envs, Rows, Status, ViewRow};
use super::{Layout, MaskForm, Observer};
use crate::game::{CompleteGame, Seat, ToMove, Viewer};
use crate::typed::box_state;

/// Output columns for a list of views, with one entry per view. A column that was not requested is empty.
struct ViewColumns<'a> {
    obs: &'a mut [u8],
    info: &'a mut [u8],
    structure: &'a mut [Value],
    text: &'a mut [String],
}

impl<'a> ViewColumns<'a> {
    fn of(
        obs: &'a mut Option<Tensors>,
        info: &'a mut Option<Tensors>,
        structure: &'a mut Option<Vec<Value>>,
        text: &'a mut Option<Vec<String>>,
    ) -> Self {
        ViewColumns {
            obs: bytes_of(obs),
            info: bytes_of(info),
            structure: structure.as_deref_mut().unwrap_or_default(),
            text: text.as_deref_mut().unwrap_or_default(),
        }
    }
}

impl<G: CompleteGame> Envs<G> {
    /// Returns the seat whose view the reply contains for row `i`.
    #[inline]
    pub(super) fn viewer(&self, i: usize) -> Seat {
        // If a single seat is to move, the client plays that seat.
        Seat::try_from(self.hot[i].to_move).unwrap_or_else(|_| self.onlooker(i))
    }

    /// Returns the seat whose view the reply contains for row `i` if no single seat is to move.
    fn onlooker(&self, i: usize) -> Seat {
        if let Some(seat) = self.only_seat(i) {
            return seat;
        }
        match self.turn(i) {
            ToMove::Seat(seat) => seat,
            ToMove::Simultaneous(set) => set.iter().find(|&s| self.player(i, s).is_none()).unwrap_or(0),
            ToMove::Chance => 0,
            ToMove::Over => Seat::try_from(self.hot[i].last).unwrap_or(0),
        }
    }

    /// Adds to `eyes` the views that the reply contains for row `i`.
    #[inline]
    fn look(&self, i: usize, eyes: &mut Vec<ViewRow>) {
        match self.config.observer {
            Observer::Acting => eyes.push(ViewRow::new(i, self.viewer(i))),
            Observer::All => eyes.extend((0..self.players).map(|seat| ViewRow::new(i, seat))),
        }
    }

    /// Resizes the columns to `rows` rows, with rewards and flags set to zero.
    pub(super) fn prepare(&mut self, rows: usize, out: &mut Batch) {
        if let Some(ended) = out.ended.take() {
            self.last = ended;
        }
        self.shape.prepare(rows, out);
        self.shape.clear_ended(&mut self.last);
        self.episodes.clear();
    }

    /// Writes the rewards of row `i` since the client's last action; `now` contains the sum of each seat's rewards so
    /// far.
    pub(super) fn write_reward(&mut self, i: usize, pos: usize, now: &[f64], out: &mut Batch) {
        let from = pos * now.len();
        if !self.step_rewards {
            return (from..).zip(now).for_each(|(at, &now)| out.reward.set(at, now as f32));
        }
        for ((at, base), &now) in (from..).zip(&mut self.cold[i].base).zip(now) {
            out.reward.set(at, (now - *base) as f32);
            *base = now;
        }
    }

    /// Writes the termination flags of row `i`.
    pub(super) fn write_flags(&self, i: usize, pos: usize, out: &mut Batch) {
        out.terminated.set(pos, u8::from(self.hot[i].status == Status::Terminated));
        out.truncated.set(pos, u8::from(self.hot[i].status == Status::Truncated));
    }

    /// Writes the final rows of due environments, except the returns, which are already written. Called before the
    /// environments are reset in the same step.
    pub(super) fn show_last(&mut self, out: &mut Batch) {
        let (mut last, mut eyes) = (std::mem::take(&mut self.last), std::mem::take(&mut self.eyes));
        eyes.clear();
        for &(i, pos) in &self.due {
            let i = i as usize;
            last.at.push(pos);
            last.length.push(self.hot[i].length);
            if let (Some(seats), Some(only)) = (&mut last.seat, self.only_seat(i)) {
                seats.push(only as i8);
            }
            self.look(i, &mut eyes);
        }
        self.shape.prepare_ended(eyes.len(), &mut last);
        let FinalRows { obs, info, structure, text, .. } = &mut last;
        self.write_views(&eyes, ViewColumns::of(obs, info, structure, text));
        self.eyes = eyes;
        out.ended = Some(last);
    }

    /// Writes the current positions of `rows` and caches the masks for the next legality check.
    pub(super) fn show(&mut self, rows: Rows<'_>, out: &mut Batch) {
        let p = self.players;
        let mut eyes = std::mem::take(&mut self.eyes);
        eyes.clear();
        let told = out.to_move.as_bytes_mut().iter_mut();
        let told =
            told.zip(out.length.as_bytes_mut().as_chunks_mut().0).zip(out.episode.as_bytes_mut().as_chunks_mut().0);
        for (((to_move, length), episode), i) in told.zip(rows.iter()) {
            let h = &self.hot[i];
            (*to_move, *length, *episode) = (h.to_move as u8, h.length.to_le_bytes(), h.episode.to_le_bytes());
            self.look(i, &mut eyes);
        }
        if let Some(seats) = &mut out.seat {
            for (pos, i) in rows.iter().enumerate() {
                seats.set(pos, self.only_seat(i).unwrap_or(0) as i8);
            }
        }
        if let Some(returns) = &mut out.returns {
            let mut sums = [0.0; 16];
            for (pos, i) in rows.iter().enumerate() {
                self.returns(i, &mut sums[..p]);
                sums[..p].iter().enumerate().for_each(|(k, &sum)| returns.set(pos * p + k, sum));
            }
        }
        if let Some(chance) = &mut out.chance {
            for i in rows.iter() {
                self.outcomes.clear();
                if self.hot[i].to_move == ToMove::Chance.code() {
                    self.of.game.chance(&self.hot[i].state, &mut self.outcomes);
                }
                put_chance(chance, &self.outcomes);
            }
        }
        let views = ViewColumns::of(&mut out.obs, &mut out.info, &mut out.structure, &mut out.text);
        self.write_views(&eyes, views);
        if self.keep_masks {
            self.show_kept_masks(&eyes, rows, out);
        } else if self.shape.mask != MaskForm::None {
            self.show_masks(&eyes, out);
        }
        self.eyes = eyes;
    }

    /// Copies cached masks to the reply. Requires one view per row.
    fn show_kept_masks(&mut self, eyes: &[ViewRow], rows: Rows<'_>, out: &mut Batch) {
        let n = self.actions;
        for eye in eyes {
            let (h, kept) = (&self.hot[eye.row()], &mut self.masks[eye.row() * n..(eye.row() + 1) * n]);
            if h.status == Status::Live {
                self.of.game.mask(&h.state, eye.seat(), kept);
            } else {
                kept.fill(0);
            }
        }
        match (&mut out.mask, rows) {
            (Some(Mask::Dense(dense)), Rows::All(_)) if self.shape.mask == MaskForm::U1 => {
                dense.as_bytes_mut().copy_from_slice(&self.masks);
            }
            (mask, _) => {
                for (pos, i) in rows.iter().enumerate() {
                    put_mask(&self.shape, mask, pos, &self.masks[i * n..(i + 1) * n]);
                }
            }
        }
    }

    fn show_masks(&mut self, eyes: &[ViewRow], out: &mut Batch) {
        for (at, eye) in eyes.iter().enumerate() {
            let h = &self.hot[eye.row()];
            self.scratch.clear();
            if h.status == Status::Live {
                self.of.game.legal(&h.state, eye.seat(), &mut self.scratch);
            }
            put_legal(&self.shape, &mut out.mask, at, &self.scratch);
        }
    }

    /// Writes every view in `eyes` from the current position of its row.
    fn write_views(&self, eyes: &[ViewRow], to: ViewColumns<'_>) {
        let shape = &self.shape;
        let seen = |eye: &ViewRow| (&self.hot[eye.row()].state, Viewer::Seat(eye.seat()));
        match (&shape.obs, self.config.layout) {
            (None, _) => {}
            (Some(array), Layout::Ludex) => {
                for (eye, cells) in eyes.iter().zip(to.obs.chunks_exact_mut(array.bytes)) {
                    let (state, who) = seen(eye);
                    self.of.game.tensor(state, who, cells);
                }
            }
            (Some(array), Layout::OpenSpiel) => {
                let mut values = vec![0f32; array.bytes / 4];
                for (eye, cells) in eyes.iter().zip(to.obs.chunks_exact_mut(array.bytes)) {
                    self.of.game.openspiel_tensor(seen(eye).0, eye.seat(), &mut values);
                    cells.chunks_exact_mut(4).zip(&values).for_each(|(b, v)| b.copy_from_slice(&v.to_le_bytes()));
                }
            }
        }
        if let Some(array) = &shape.info {
            for (eye, cells) in eyes.iter().zip(to.info.chunks_exact_mut(array.bytes)) {
                let (state, who) = seen(eye);
                self.of.game.info(state, who, cells);
            }
        }
        if shape.structure || shape.text {
            for (at, eye) in eyes.iter().enumerate() {
                let (state, who) = seen(eye);
                let view = box_state(&self.of, state.clone()).view(who);
                if shape.structure {
                    to.structure[at] = view.value();
                }
                if shape.text {
                    to.text[at] = view.text();
                }
            }
        }
    }
}
