//! Resets and steps.

use serde_json::Value;

use ludex_protocol::spec::{Dynamics, Spec, TensorSpec};

use super::episode::{Batch, NONE, Rows, Status, client_seats, players_of};
use super::{
    Actions, Autoreset, BatchCode, BatchConfig, BatchError, DynBatch, OnIllegal, Player, Seeds, Snapshot, check_seats,
};
use crate::columns::Columns;
use crate::draw::Draw;
use crate::erased::{DynState, Given, Refusal, held};
use crate::game::{Game, Heard, Seat, Turn};

impl<G: Game> Batch<G> {
    /// What follows an action of the client: the rest of the turn, its reward, and a reset where it is due.
    #[inline]
    fn after(&mut self, i: usize, pos: usize, out: &mut Columns) -> Result<(), BatchError> {
        let live = self.advance(i);
        if live && !self.step_rewards {
            return Ok(());
        }
        self.write_reward(i, pos, out);
        if live { Ok(()) } else { self.end(i, pos, out) }
    }

    /// As [`Batch::after`], where `seat` has lost the episode.
    fn after_loss(&mut self, i: usize, pos: usize, seat: Seat, out: &mut Columns) -> Result<(), BatchError> {
        self.lose(i, seat);
        self.write_reward(i, pos, out);
        self.end(i, pos, out)
    }

    /// Tells the end of row `i`, and starts its next episode if that is due in the same step.
    fn end(&mut self, i: usize, pos: usize, out: &mut Columns) -> Result<(), BatchError> {
        self.write_flags(i, pos, out);
        self.keep(i, out);
        if self.config.autoreset != Autoreset::SameStep {
            return Ok(());
        }
        // Reward and flags tell the ended episode, everything else the new one.
        self.write_last(i, pos, out);
        self.next_episode(i);
        self.begin(i, pos, out)
    }

    /// Plays one checked row of ids; `offenders` are what [`Batch::check_all`] found, in order of position.
    #[inline]
    fn play_row(
        &mut self,
        i: usize,
        pos: usize,
        row: &[i32],
        offenders: &[(usize, Seat)],
        out: &mut Columns,
    ) -> Result<(), BatchError> {
        if row.iter().all(|&a| a == -1) {
            self.write_flags(i, pos, out);
            return Ok(());
        }
        if self.hot[i].status != Status::Live {
            // Next-step reset: the action is ignored.
            self.next_episode(i);
            return self.begin(i, pos, out);
        }
        if let Ok(at) = offenders.binary_search_by_key(&pos, |o| o.0) {
            out.illegal.push(pos as u32);
            return self.after_loss(i, pos, offenders[at].1, out);
        }
        let entry = |seat: Seat| if let &[a] = row { a as u32 } else { row[seat] as u32 };
        match self.turn(i) {
            Turn::Seat(seat) => self.move_seat(i, seat, entry(seat)),
            Turn::Chance => self.move_chance(i, row[0] as u32),
            Turn::Together(set) => {
                let mut joint = [NONE; 16];
                for seat in set.iter() {
                    if self.player(i, seat).is_none() {
                        joint[seat] = entry(seat);
                        continue;
                    }
                    let Some(a) = self.ask(i, seat) else { return self.after_loss(i, pos, seat, out) };
                    joint[seat] = a;
                }
                self.move_together(i, &joint);
            }
            Turn::Over => {}
        }
        self.after(i, pos, out)
    }

    fn play_ids(
        &mut self,
        rows: Rows<'_>,
        actions: &[i32],
        offenders: &[(usize, Seat)],
        out: &mut Columns,
    ) -> Result<(), BatchError> {
        for (pos, (i, row)) in rows.iter().zip(actions.chunks_exact(self.width())).enumerate() {
            self.play_row(i, pos, row, offenders, out)?;
        }
        Ok(())
    }

    fn step_ids(&mut self, rows: Rows<'_>, actions: &[i32], out: &mut Columns) -> Result<(), BatchError> {
        let width = self.width();
        let n = rows.len();
        if actions.len() != n * width {
            let e = BatchError::new(
                BatchCode::BadShape,
                "actions",
                format!("{} actions were given for {n} environments of {width}", actions.len()),
            );
            return Err(BatchError { got: actions.len().into(), allowed: (n * width).into(), ..e });
        }
        let offenders = self.check_all(rows, actions)?;
        self.prepare(n, out);
        let done = self.play_ids(rows, actions, &offenders, out);
        self.show(rows, out);
        done
    }

    /// Whose entry stands in column `column` of row `i`; `None` at a chance node.
    fn speaker(&self, i: usize, column: usize) -> Option<Seat> {
        match self.turn(i) {
            Turn::Chance => None,
            Turn::Seat(seat) if self.width() == 1 => Some(seat),
            _ if self.width() == 1 => Some(self.viewer(i)),
            _ => Some(column),
        }
    }

    /// What an entry that is no id means in row `i`, which is live.
    fn read_entry(&self, i: usize, column: usize, entry: &Given) -> Result<Heard, Refusal> {
        let state = held(&self.of, self.hot[i].state.clone());
        match self.speaker(i, column) {
            Some(seat) => state.read(seat, entry),
            None => state.read_outcome(entry).map(Heard::Action),
        }
    }

    /// Text and proposals: every entry is read before anything moves; ids go the common way.
    pub(super) fn step_given(
        &mut self,
        rows: Rows<'_>,
        given: &[Option<Given>],
        out: &mut Columns,
    ) -> Result<(), BatchError> {
        let (width, n) = (self.width(), rows.len());
        if given.len() != n * width {
            let e = BatchError::new(
                BatchCode::BadShape,
                "moves",
                format!("{} moves were given for {n} environments of {width}", given.len()),
            );
            return Err(BatchError { got: given.len().into(), allowed: (n * width).into(), ..e });
        }
        let mut ids = vec![-1; given.len()];
        let mut said: Vec<(usize, Seat, Value)> = Vec::new();
        for (k, entry) in given.iter().enumerate() {
            let (pos, i) = (k / width, rows.at(k / width));
            let Some(entry) = entry else { continue };
            if let Given::Id(id) = entry {
                ids[k] = i32::try_from(*id).unwrap_or(i32::MAX);
                continue;
            }
            if self.hot[i].status != Status::Live {
                // Checked below like an id: refused, or ignored before a next-step reset.
                ids[k] = 0;
                continue;
            }
            match self.read_entry(i, k % width, entry) {
                Ok(Heard::Action(a)) => ids[k] = a as i32,
                Ok(Heard::Said(value)) => said.push((pos, self.turn(i).seats().iter().next().unwrap_or(0), value)),
                Err(_) if self.config.on_illegal == OnIllegal::Lose && self.turn(i) != Turn::Chance => {
                    ids[k] = i32::MAX
                }
                Err(refusal) => {
                    let e = BatchError::new(BatchCode::IllegalAction, "moves", format!("environment {i}: {refusal}"));
                    let allowed = if refusal.issues.is_empty() {
                        self.allowed(i, self.speaker(i, k % width))
                    } else {
                        serde_json::to_value(&refusal.issues).unwrap_or_default()
                    };
                    return Err(BatchError { at: Some(k), allowed, ..e });
                }
            }
        }
        let mut offenders = Vec::new();
        for pos in 0..n {
            let row = &ids[pos * width..(pos + 1) * width];
            if said.iter().any(|s| s.0 == pos) {
                if row.iter().any(|&a| a != -1) {
                    let message =
                        format!("environment {}: one seat moves here, the other entries are null", rows.at(pos));
                    let e = BatchError::new(BatchCode::IllegalAction, "moves", message);
                    return Err(BatchError { at: Some(pos), ..e });
                }
            } else if let Some(seat) = self.check(rows.at(pos), pos, row)? {
                offenders.push((pos, seat));
            }
        }
        self.prepare(n, out);
        let mut play = |pos: usize| {
            let i = rows.at(pos);
            if let Some(k) = said.iter().position(|s| s.0 == pos) {
                let (_, seat, value) = said.swap_remove(k);
                self.move_said(i, seat, value);
                return self.after(i, pos, out);
            }
            self.play_row(i, pos, &ids[pos * width..(pos + 1) * width], &offenders, out)
        };
        let done = (0..n).try_for_each(&mut play);
        self.show(rows, out);
        done
    }
}

impl<G: Game> DynBatch for Batch<G> {
    fn spec(&self) -> &Spec {
        &self.of.spec
    }

    fn observation(&self) -> Option<(String, TensorSpec)> {
        let name = self.of.spec.views.tensor.as_ref()?.keys().next()?.clone();
        let array = crate::columns::obs_spec(&self.of.spec, &self.of.game.facts(), self.config.layout)?;
        Some((name, array))
    }

    fn count(&self) -> usize {
        self.hot.len()
    }

    fn width(&self) -> usize {
        if self.of.spec.dynamics == Dynamics::Sequential || self.client_seats == 1 { 1 } else { self.players }
    }

    fn config(&self) -> &BatchConfig {
        &self.config
    }

    fn set_seats(&mut self, seats: Vec<Player>) -> Result<(), BatchError> {
        check_seats(&seats, self.players)?;
        let config = BatchConfig { seats, ..self.config.clone() };
        let left = client_seats(&config, self.players);
        if left != self.client_seats {
            let message =
                format!("the client has {} seats here, not {left}: open another environment", self.client_seats);
            let e = BatchError::new(BatchCode::BadField, "seats", message);
            return Err(BatchError { got: left.into(), allowed: self.client_seats.into(), ..e });
        }
        self.seats = players_of(&config);
        self.config = config;
        Ok(())
    }

    fn reset(&mut self, rows: Option<&[u32]>, seeds: &Seeds, out: &mut Columns) -> Result<(), BatchError> {
        let rows = self.rows(rows)?;
        if let Seeds::Each(list) = seeds
            && list.len() != rows.len()
        {
            let e = BatchError::new(
                BatchCode::BadShape,
                "seeds",
                format!("{} seeds were given for {} environments", list.len(), rows.len()),
            );
            return Err(BatchError { got: list.len().into(), allowed: rows.len().into(), ..e });
        }
        self.prepare(rows.len(), out);
        let done = rows.iter().enumerate().try_for_each(|(pos, i)| {
            let seed = match seeds {
                Seeds::Continue => None,
                Seeds::Base(s) => Some(s.wrapping_add(i as u64)),
                Seeds::Each(list) => Some(list[pos]),
            };
            match (seed, self.hot[i].status) {
                (Some(seed), _) => self.cold[i].draw = Draw::new(G::ID, seed, 0),
                (None, Status::New) => {}
                (None, _) => self.next_episode(i),
            }
            self.begin(i, pos, out)
        });
        self.show(rows, out);
        done
    }

    fn step(&mut self, rows: Option<&[u32]>, actions: Actions<'_>, out: &mut Columns) -> Result<(), BatchError> {
        let rows = self.rows(rows)?;
        match actions {
            Actions::Ids(ids) => self.step_ids(rows, ids, out),
            Actions::Given(given) => self.step_given(rows, given, out),
        }
    }

    fn state(&self, i: usize) -> Option<Box<dyn DynState>> {
        let h = self.hot.get(i).filter(|h| h.status != Status::New)?;
        Some(held(&self.of, h.state.clone()))
    }

    fn fork(&self, rows: Option<&[u32]>, seed: Option<u64>) -> Result<Box<dyn DynBatch>, BatchError> {
        let rows = self.rows(rows)?;
        let list: Vec<usize> = (0..rows.len()).map(|pos| rows.at(pos)).collect();
        let mut fork = self.copy(&list);
        if let Some(seed) = seed {
            for (i, c) in fork.cold.iter_mut().enumerate() {
                c.draw.reseed(seed.wrapping_add(i as u64));
                c.seeded = false;
            }
        }
        Ok(Box::new(fork))
    }

    fn snapshot(&self, rows: Option<&[u32]>, seats: &[String]) -> Result<Vec<Snapshot>, BatchError> {
        let rows = self.rows(rows)?;
        let one = |pos| {
            let i = rows.at(pos);
            match self.hot[i].status {
                Status::New => Err(BatchError { path: "envs", ..self.over(i, pos) }),
                _ => Ok(self.snapped(i, seats)),
            }
        };
        (0..rows.len()).map(one).collect()
    }

    fn restore(&mut self, rows: Option<&[u32]>, items: &[Snapshot], out: &mut Columns) -> Result<(), BatchError> {
        let rows = self.rows(rows)?;
        if items.len() != rows.len() {
            let e = BatchError::new(
                BatchCode::BadShape,
                "items",
                format!("{} snapshots were given for {} environments", items.len(), rows.len()),
            );
            return Err(BatchError { got: items.len().into(), allowed: rows.len().into(), ..e });
        }
        let mut replayed = Vec::with_capacity(items.len());
        for (pos, item) in items.iter().enumerate() {
            replayed.push(self.replayed(rows.at(pos), item).map_err(|why| {
                let e =
                    BatchError::new(BatchCode::BadSnapshot, "items", format!("snapshot {pos} does not replay: {why}"));
                BatchError { at: Some(pos), ..e }
            })?);
        }
        self.prepare(rows.len(), out);
        for (pos, (hot, cold)) in replayed.into_iter().enumerate() {
            let i = rows.at(pos);
            (self.hot[i], self.cold[i]) = (hot, cold);
            self.write_flags(i, pos, out);
        }
        self.show(rows, out);
        Ok(())
    }
}
