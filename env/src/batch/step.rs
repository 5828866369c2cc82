//! Resets and steps of a batch.

use std::collections::BTreeMap;

use serde_json::Value;

use ludex_protocol::spec::{Dynamics, Spec};
use ludex_protocol::{Batch, ErrorCode, Refusal};

use super::episode::{Envs, NONE, Rows, Status, client_seats, players_of};
use super::{
    Actions, Autoreset, BatchConfig, DynBatch, Episode, OnIllegal, ResetSeeds, SeatPolicy, Snapshot, SnapshotIter,
    check_seats,
};
use crate::draw::Draw;
use crate::dyn_state::DynState;
use crate::game::{CompleteGame, Nth, ParsedMove, Seat, SeatSet, ToMove};
use crate::typed::box_state;
use ludex_protocol::Move;

/// An id that no game uses. Replaces ids beyond the range of `i32` and, under `OnIllegal::Lose`, unparsable entries.
const ILLEGAL: i32 = i32::MAX;
/// Placeholder for a text or document sent to a finished environment. A finished environment either refuses or ignores
/// every id, so the value has no effect.
const ANY: i32 = 0;

impl<G: CompleteGame> Envs<G> {
    /// Completes a step after the client's action: plays until the client's next turn, then writes rewards and
    /// termination flags.
    #[inline(always)]
    fn after(&mut self, i: usize, pos: usize, out: &mut Batch) {
        if !self.advance(i) {
            self.end(i, pos, out);
        } else if self.step_rewards {
            let (p, mut now) = (self.players, [0.0; 16]);
            self.returns(i, &mut now[..p]);
            self.write_reward(i, pos, &now[..p], out);
        }
    }

    /// Handles the end of the episode in row `i`. In same-step autoreset, marks the next episode as due.
    fn end(&mut self, i: usize, pos: usize, out: &mut Batch) {
        let (p, mut now) = (self.players, [0.0; 16]);
        self.returns(i, &mut now[..p]);
        self.write_reward(i, pos, &now[..p], out);
        self.write_flags(i, pos, out);
        self.archive_row(i);
        if self.config.autoreset == Autoreset::SameStep {
            // Rewards and flags describe the ended episode, all other columns the new episode.
            self.last.returns.extend_from_slice(&now[..p]);
            self.next_episode(i);
            self.due.push((i as u32, pos as u32));
        }
    }

    /// Starts due episodes after all rows have moved, and writes the reply.
    fn finish(&mut self, rows: Rows<'_>, out: &mut Batch) -> Result<(), Refusal> {
        if self.config.autoreset == Autoreset::SameStep && !self.due.is_empty() {
            self.show_last(out);
        }
        let begun = self.reset_due(out);
        self.show(rows, out);
        begun
    }

    /// Plays one checked row of ids; `offenders` is the result of [`Envs::check_all`], ordered by position.
    #[inline(always)]
    fn play_row(&mut self, i: usize, pos: usize, row: &[i32], offenders: &[(usize, Seat)], out: &mut Batch) {
        if row.iter().all(|&a| a == -1) {
            return self.write_flags(i, pos, out);
        }
        if self.hot[i].status != Status::Live {
            // The episode has ended, and `check` passes only next-step autoreset, which ignores the action.
            self.next_episode(i);
            return self.due.push((i as u32, pos as u32));
        }
        if !offenders.is_empty()
            && let Ok(at) = offenders.binary_search_by_key(&pos, |o| o.0)
        {
            out.illegal.get_or_insert_default().push(pos as u32);
            self.lose(i, offenders[at].1);
            return self.end(i, pos, out);
        }
        let entry = |seat: Seat| if let &[a] = row { a as u32 } else { row[seat] as u32 };
        match self.turn(i) {
            ToMove::Seat(seat) => self.move_seat(i, seat, entry(seat)),
            ToMove::Chance => self.move_chance(i, row[0] as u32),
            ToMove::Simultaneous(set) => match self.gather(i, set, row) {
                Ok(joint) => self.move_together(i, &joint),
                Err(seat) => {
                    self.lose(i, seat);
                    return self.end(i, pos, out);
                }
            },
            ToMove::Over => {}
        }
        self.after(i, pos, out)
    }

    /// Returns the ids of a joint move. The client's ids come from `row`, the ids of server agents from their policies.
    ///
    /// # Errors
    /// Returns the seat whose agent gave no legal reply.
    #[inline(always)]
    fn gather(&mut self, i: usize, set: SeatSet, row: &[i32]) -> Result<[u32; 16], Seat> {
        let mut joint = [NONE; 16];
        for seat in set.iter() {
            joint[seat] = match self.player(i, seat) {
                None => (if let &[a] = row { a } else { row[seat] }) as u32,
                Some(_) => self.ask(i, seat).ok_or(seat)?,
            };
        }
        Ok(joint)
    }

    /// Plays one checked row that contains documents. For each document in `words`, `row` has a placeholder id.
    #[cold]
    fn play_words(&mut self, i: usize, pos: usize, row: &[i32], mut words: Vec<(Seat, Value)>, out: &mut Batch) {
        if let ToMove::Simultaneous(set) = self.turn(i) {
            let ids = match self.gather(i, set, row) {
                Ok(ids) => ids,
                Err(seat) => {
                    self.lose(i, seat);
                    return self.end(i, pos, out);
                }
            };
            let id = |&a: &u32| (a != NONE).then_some(ParsedMove::Action(a));
            let mut joint: Vec<Option<ParsedMove>> = ids[..self.players].iter().map(id).collect();
            words.into_iter().for_each(|(seat, document)| joint[seat] = Some(ParsedMove::Document(document)));
            self.move_joint(i, joint);
        } else if let Some((seat, document)) = words.pop() {
            self.apply_document(i, seat, document);
        }
        self.after(i, pos, out);
    }

    fn step_ids(&mut self, rows: Rows<'_>, actions: &[i32], out: &mut Batch) -> Result<(), Refusal> {
        let width = self.width();
        let n = rows.len();
        if actions.len() != n * width {
            let message =
                format!("expected {} actions ({n} environments with {width} each), got {}", n * width, actions.len());
            let e = Refusal::new(ErrorCode::BadShape, message).path("actions");
            return Err(e.got(actions.len()).allowed(n * width));
        }
        let offenders = self.check_all(rows, actions)?;
        self.prepare(n, out);
        for (pos, (i, row)) in rows.iter().zip(actions.chunks_exact(width)).enumerate() {
            self.play_row(i, pos, row, &offenders, out);
        }
        self.finish(rows, out)
    }

    /// Returns the seat that plays the entry at `column` in row `i`; `None` at a chance node.
    fn speaker(&self, i: usize, column: usize) -> Option<Seat> {
        match self.turn(i) {
            ToMove::Chance => None,
            ToMove::Seat(seat) if self.width() == 1 => Some(seat),
            _ if self.width() == 1 => Some(self.viewer(i)),
            _ => Some(column),
        }
    }

    /// Parses an entry that is not an id. The episode of row `i` must be live.
    fn read_entry(&self, i: usize, column: usize, entry: &Move) -> Result<ParsedMove, Refusal> {
        let state = box_state(&self.of, self.hot[i].state.clone());
        match self.speaker(i, column) {
            Some(seat) => state.parse_move(seat, entry),
            None => state.read_outcome(entry).map(ParsedMove::Action),
        }
    }

    /// Steps with texts and documents: parses every entry before any environment moves, then continues like a step with
    /// ids.
    pub(super) fn step_moves(
        &mut self,
        rows: Rows<'_>,
        moves: &[Option<Move>],
        out: &mut Batch,
    ) -> Result<(), Refusal> {
        let (width, n) = (self.width(), rows.len());
        if moves.len() != n * width {
            let message =
                format!("expected {} moves ({n} environments with {width} each), got {}", n * width, moves.len());
            let e = Refusal::new(ErrorCode::BadShape, message).path("moves");
            return Err(e.got(moves.len()).allowed(n * width));
        }
        let mut ids = vec![-1; moves.len()];
        let mut documents: BTreeMap<usize, Vec<(Seat, Value)>> = BTreeMap::new();
        for (k, entry) in moves.iter().enumerate() {
            let (pos, i) = (k / width, rows.at(k / width));
            let Some(entry) = entry else { continue };
            if let Move::Id(id) = entry {
                ids[k] = i32::try_from(*id).unwrap_or(ILLEGAL);
                continue;
            }
            self.config.pause()?;
            if self.hot[i].status != Status::Live {
                ids[k] = ANY;
                continue;
            }
            match self.read_entry(i, k % width, entry) {
                Ok(ParsedMove::Action(a)) => ids[k] = a as i32,
                Ok(ParsedMove::Document(value)) => {
                    let seat = self.speaker(i, k % width).unwrap_or(0);
                    // Any legal id stands for the document, because `check` accepts only ids.
                    let mut legal = Nth { left: 0, kept: None };
                    self.of.game.legal(&self.hot[i].state, seat, &mut legal);
                    ids[k] = legal.kept.unwrap_or(0) as i32;
                    documents.entry(pos).or_default().push((seat, value));
                }
                Err(_) if self.config.on_illegal == OnIllegal::Lose && self.turn(i) != ToMove::Chance => {
                    ids[k] = ILLEGAL
                }
                Err(refusal) => {
                    let seat = self.speaker(i, k % width);
                    let why = match (seat, entry) {
                        (Some(seat), Move::Text(text)) => self.refused_text(i, seat, text, &refusal.message),
                        _ => refusal.message.clone(),
                    };
                    let e = Refusal::new(refusal.code, self.of_env(i, &why)).path("moves");
                    let allowed = self.allowed(i, seat);
                    return Err(e.index(k).allowed(allowed).issues(refusal.issues));
                }
            }
        }
        let mut offenders = Vec::new();
        for pos in 0..n {
            let row = &ids[pos * width..(pos + 1) * width];
            if let Some(seat) = self.check(rows.at(pos), pos, row)? {
                offenders.push((pos, seat));
            }
        }
        self.prepare(n, out);
        for (pos, (i, row)) in rows.iter().zip(ids.chunks_exact(width)).enumerate() {
            match documents.remove(&pos) {
                Some(words) if offenders.iter().all(|o| o.0 != pos) => self.play_words(i, pos, row, words, out),
                _ => self.play_row(i, pos, row, &offenders, out),
            }
        }
        self.finish(rows, out)
    }
}

impl<G: CompleteGame> DynBatch for Envs<G> {
    fn spec(&self) -> &Spec {
        &self.of.spec
    }

    fn row_bytes(&self) -> usize {
        self.shape.row_bytes()
    }

    fn count(&self) -> usize {
        self.hot.len()
    }

    fn width(&self) -> usize {
        if self.of.spec.dynamics == Dynamics::Sequential || self.client_seats == 1 { 1 } else { self.players }
    }

    fn turn(&self, i: usize) -> ToMove {
        if self.hot.get(i).is_some_and(|row| row.status == Status::Live) { self.turn(i) } else { ToMove::Over }
    }

    fn viewer(&self, i: usize) -> Seat {
        self.viewer(i)
    }

    fn config(&self) -> &BatchConfig {
        &self.config
    }

    fn set_seats(&mut self, seats: Vec<SeatPolicy>) -> Result<(), Refusal> {
        check_seats(&seats, self.players)?;
        let config = BatchConfig { seats, ..self.config.clone() };
        let left = client_seats(&config, self.players);
        if left != self.client_seats {
            let message = format!(
                "expected {} seats for the client, got {left}; to change this number, open a new environment",
                self.client_seats
            );
            let e = Refusal::new(ErrorCode::BadField, message).path("seats");
            return Err(e.got(left).allowed(self.client_seats));
        }
        self.seats = players_of(&config);
        self.config = config;
        Ok(())
    }

    fn reset(&mut self, rows: Option<&[u32]>, seeds: &ResetSeeds, out: &mut Batch) -> Result<(), Refusal> {
        let rows = self.rows(rows)?;
        if let ResetSeeds::Each(list) = seeds
            && list.len() != rows.len()
        {
            let message = format!("expected {} seeds, got {}", rows.len(), list.len());
            let e = Refusal::new(ErrorCode::BadShape, message).path("seeds");
            return Err(e.got(list.len()).allowed(rows.len()));
        }
        self.prepare(rows.len(), out);
        for (pos, i) in rows.iter().enumerate() {
            let seed = match seeds {
                ResetSeeds::Continue => None,
                ResetSeeds::Base(s) => Some(s.wrapping_add(i as u64)),
                ResetSeeds::Each(list) => Some(list[pos]),
            };
            match (seed, self.hot[i].status) {
                (Some(seed), _) => self.cold[i].draw = Draw::new(G::INFO.id, seed, 0),
                (None, Status::New) => {}
                (None, _) => self.next_episode(i),
            }
            self.due.push((i as u32, pos as u32));
        }
        let begun = self.reset_due(out);
        self.show(rows, out);
        begun
    }

    fn step(&mut self, rows: Option<&[u32]>, actions: Actions<'_>, out: &mut Batch) -> Result<(), Refusal> {
        let rows = self.rows(rows)?;
        match actions {
            Actions::Ids(ids) => self.step_ids(rows, ids, out),
            Actions::Moves(moves) => self.step_moves(rows, moves, out),
        }
    }

    fn document_bytes(&self) -> usize {
        let speaks = self.of.spec.document_schemas.is_some();
        if speaks { self.cold.iter().map(|c| c.documents.bytes).sum() } else { 0 }
    }

    fn take_episodes(&mut self) -> Vec<Episode> {
        std::mem::take(&mut self.episodes)
    }

    fn state(&self, i: usize) -> Option<Box<dyn DynState>> {
        let h = self.hot.get(i).filter(|h| h.status != Status::New)?;
        Some(box_state(&self.of, h.state.clone()))
    }

    fn fork(&self, rows: Option<&[u32]>, seed: Option<u64>) -> Result<Box<dyn DynBatch>, Refusal> {
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

    fn snapshot(&self, rows: Option<&[u32]>, seats: &[String]) -> Result<Vec<Snapshot>, Refusal> {
        let rows = self.rows(rows)?;
        let one = |pos| {
            let i = rows.at(pos);
            match self.hot[i].status {
                Status::New => Err(self.over(i, pos).path("envs")),
                _ => Ok(self.snapshot_row(i, seats)),
            }
        };
        (0..rows.len()).map(one).collect()
    }

    fn restore(&mut self, rows: Option<&[u32]>, items: &mut SnapshotIter<'_>, out: &mut Batch) -> Result<(), Refusal> {
        let rows = self.rows(rows)?;
        if items.len() != rows.len() {
            let message = format!("expected {} snapshots, got {}", rows.len(), items.len());
            let e = Refusal::new(ErrorCode::BadShape, message).path("items");
            return Err(e.got(items.len()).allowed(rows.len()));
        }
        let mut replayed = Vec::with_capacity(items.len());
        for (pos, item) in items.enumerate() {
            self.config.pause()?;
            replayed.push(self.restore_row(rows.at(pos), &item?).map_err(|why| {
                let message = format!("cannot restore snapshot {pos}: {why}");
                Refusal::new(ErrorCode::BadSnapshot, message).path("items").index(pos)
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
