//! Rows of the answer.

use super::episode::{Batch, Status};
use super::{Layout, Observer};
use crate::columns::{Columns, Final, MaskForm};
use crate::erased::held;
use crate::game::{Game, Seat, Turn, Viewer};

impl<G: Game> Batch<G> {
    /// Whose view row `i` shows.
    #[inline]
    pub(super) fn viewer(&self, i: usize) -> Seat {
        if let Some(seat) = self.only_seat(i) {
            return seat;
        }
        match self.hot[i].turn {
            Turn::Seat(seat) => seat,
            Turn::Together(set) => set.iter().find(|&s| self.player(i, s).is_none()).unwrap_or(0),
            Turn::Chance => 0,
            Turn::Over => self.cold[i].last.unwrap_or(0),
        }
    }

    pub(super) fn write_tensor(&self, i: usize, seat: Seat, out: &mut [u8]) {
        match self.config.layout {
            Layout::Ludex => self.of.game.tensor(&self.hot[i].state, Viewer::Seat(seat), out),
            Layout::OpenSpiel => {
                let mut values = vec![0f32; out.len() / 4];
                self.of.game.openspiel_tensor(&self.hot[i].state, seat, &mut values);
                for (bytes, v) in out.chunks_exact_mut(4).zip(values) {
                    bytes.copy_from_slice(&v.to_le_bytes());
                }
            }
        }
    }

    /// Writes the views and the mask of row `i` at position `pos`.
    #[inline]
    pub(super) fn show(&mut self, i: usize, pos: usize, out: &mut Columns) {
        let all = self.config.observer == Observer::All;
        let first = if all { 0 } else { self.viewer(i) };
        let seats = if all { self.players } else { 1 };
        let v = self.config.views;
        for k in 0..seats {
            let (seat, at) = (first + k, pos * seats + k);
            if v.tensor {
                let range = at * self.obs_bytes..(at + 1) * self.obs_bytes;
                self.write_tensor(i, seat, &mut out.obs[range]);
            }
            if v.info {
                let n = out.info_len;
                self.of.game.info(&self.hot[i].state, Viewer::Seat(seat), &mut out.info[at * n..(at + 1) * n]);
            }
            if v.structure || v.text {
                let view = held(&self.of, self.hot[i].state.clone()).view(Viewer::Seat(seat));
                if v.structure {
                    out.structure[at] = view.value();
                }
                if v.text {
                    out.text[at] = view.text();
                }
            }
            self.show_mask(i, seat, at, out);
        }
    }

    #[inline]
    pub(super) fn show_mask(&mut self, i: usize, seat: Seat, at: usize, out: &mut Columns) {
        let n = self.actions;
        let h = &self.hot[i];
        let live = h.status == Status::Live;
        if self.keep_masks {
            let kept = &mut self.masks[i * n..(i + 1) * n];
            if live {
                self.of.game.mask(&h.state, seat, kept);
            } else {
                kept.fill(0);
            }
            out.put_mask(at, kept);
            return;
        }
        let form = self.config.mask;
        if form == MaskForm::None {
            return;
        }
        self.scratch.clear();
        if live {
            self.of.game.legal(&h.state, seat, &mut self.scratch);
        }
        out.put_legal(at, &self.scratch);
    }

    /// Writes the rewards of row `i` since the client's last action, and whether its episode is over.
    #[inline]
    pub(super) fn write_reward(&mut self, i: usize, pos: usize, out: &mut Columns) {
        let p = self.players;
        if self.hot[i].status != Status::Live || self.step_rewards {
            let mut now = [0.0; 16];
            self.returns(i, &mut now[..p]);
            let rewards = &mut out.reward[pos * p..(pos + 1) * p];
            for ((reward, base), now) in rewards.iter_mut().zip(&mut self.cold[i].base).zip(now) {
                *reward = (now - *base) as f32;
                *base = now;
            }
        } else {
            out.reward[pos * p..(pos + 1) * p].fill(0.0);
        }
        self.write_flags(i, pos, out);
    }

    #[inline]
    fn write_flags(&self, i: usize, pos: usize, out: &mut Columns) {
        out.terminated[pos] = u8::from(self.hot[i].status == Status::Terminated);
        out.truncated[pos] = u8::from(self.hot[i].status == Status::Truncated);
    }

    /// Writes row `i` without a reward: nothing was done in its episode. What was earned before the client's first
    /// action is told with that action.
    pub(super) fn write_still(&mut self, i: usize, pos: usize, out: &mut Columns) {
        let p = self.players;
        out.reward[pos * p..(pos + 1) * p].fill(0.0);
        self.write_flags(i, pos, out);
        self.write_rest(i, pos, out);
    }

    /// Writes what is about the episode that row `i` is in now.
    #[inline]
    pub(super) fn write_rest(&mut self, i: usize, pos: usize, out: &mut Columns) {
        let p = self.players;
        let h = &self.hot[i];
        out.to_move[pos] = if h.status == Status::Live { h.turn.code() } else { Turn::Over.code() };
        out.length[pos] = h.length;
        out.episode[pos] = self.cold[i].draw.episode() as u32;
        if let Some(seat) = self.only_seat(i) {
            out.seat[pos] = seat as i8;
        }
        if self.config.views.returns {
            // A copy of the sums, so that the borrow of the column ends before the row is shown.
            let mut now = [0.0; 16];
            self.returns(i, &mut now[..p]);
            out.returns[pos * p..(pos + 1) * p].copy_from_slice(&now[..p]);
        }
        if self.config.client_chance {
            self.outcomes.clear();
            if self.hot[i].status == Status::Live && self.hot[i].turn == Turn::Chance {
                self.of.game.chance(&self.hot[i].state, &mut self.outcomes);
            }
            out.put_chance(pos, &self.outcomes);
        }
        self.show(i, pos, out);
    }

    /// Keeps the last view of row `i` before a reset in the same step.
    pub(super) fn write_final(&mut self, i: usize, pos: usize, out: &mut Columns) {
        let all = self.config.observer == Observer::All;
        let (first, seats) = if all { (0, self.players) } else { (self.viewer(i), 1) };
        let mut last = std::mem::take(&mut out.last);
        let Final { at, obs, info, structure, text, returns, length, seat } = &mut last;
        at.push(pos as u32);
        length.push(self.hot[i].length);
        if let Some(only) = self.only_seat(i) {
            seat.push(only as i8);
        }
        let from = returns.len();
        returns.resize(from + self.players, 0.0);
        self.returns(i, &mut returns[from..]);
        let v = self.config.views;
        for viewer in first..first + seats {
            if v.tensor {
                let from = obs.len();
                obs.resize(from + self.obs_bytes, 0);
                self.write_tensor(i, viewer, &mut obs[from..]);
            }
            if v.info {
                let from = info.len();
                info.resize(from + out.info_len, 0);
                self.of.game.info(&self.hot[i].state, Viewer::Seat(viewer), &mut info[from..]);
            }
            if v.structure || v.text {
                let view = held(&self.of, self.hot[i].state.clone()).view(Viewer::Seat(viewer));
                if v.structure {
                    structure.push(view.value());
                }
                if v.text {
                    text.push(view.text());
                }
            }
        }
        out.last = last;
    }

    pub(super) fn prepare(&self, rows: usize, out: &mut Columns) {
        out.prepare(rows, &self.of.spec, &self.config, self.obs_bytes, self.client_seats == 1);
    }
}
