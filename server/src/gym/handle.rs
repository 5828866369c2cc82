//! One handle: a batch of environments of one game, and what may be asked of it.

use std::sync::Arc;

use ludex_env::batch::Snapshot;
use ludex_env::{Actions, DynBatch, GameRef, Seeds};
use ludex_protocol::message::{Done, Opened, Snapshots};
use ludex_protocol::{Batch, Bytes, Column, ErrorCode, Refusal, ServerMessage, message};

use super::records::Recorder;
use super::{field, view};
use crate::opponents::Opponents;
use crate::store::Write;

/// Nesting that a snapshot may have; its deepest list is a joint move.
const SNAPSHOT_DEPTH: usize = 32;

/// A request to a handle that exists.
pub(super) enum Task {
    Reset(message::Reset),
    Step(message::Step),
    View(message::View),
    /// With the number of the new handle.
    Clone(message::CloneEnvs, u32),
    Snapshot(message::Snapshot),
    Restore(message::Restore),
    Close,
}

impl Task {
    /// How many kinds there are, by what they cost.
    pub(super) const KINDS: usize = 5;
    pub(super) const REPLAY: usize = 2;
    pub(super) const COPY: usize = 3;
    pub(super) const LOOK: usize = 4;

    pub(super) fn kind(&self) -> usize {
        match self {
            Task::Reset(_) => 0,
            Task::Step(_) => 1,
            Task::Snapshot(_) | Task::Restore(_) => Task::REPLAY,
            Task::Clone(..) => Task::COPY,
            Task::View(_) | Task::Close => Task::LOOK,
        }
    }
}

/// A handle of a session. It is owned by the session, or by the thread of the compute pool that runs a task on it.
pub(super) struct Handle {
    env: u32,
    game: GameRef,
    batch: Box<dyn DynBatch>,
    /// The agent specs of the seats as the client wrote them; empty when every seat is the client's.
    seats: Vec<String>,
    opponents: Arc<Opponents>,
    recorder: Option<Recorder>,
    // Kept from call to call, so that a long run allocates little.
    spare: Option<Box<Batch>>,
    ids: Vec<i32>,
}

/// What a task made besides its answer.
pub(super) enum Born {
    Nothing,
    Handle(Box<Handle>),
}

type Answer = Result<ServerMessage, Box<Refusal>>;

impl Handle {
    pub(super) fn new(
        env: u32,
        game: GameRef,
        batch: Box<dyn DynBatch>,
        seats: Vec<String>,
        opponents: Arc<Opponents>,
        recorder: Option<Recorder>,
    ) -> Self {
        Handle { env, game, batch, seats, opponents, recorder, spare: None, ids: Vec::new() }
    }

    pub(super) fn env(&self) -> u32 {
        self.env
    }

    pub(super) fn opened(&self) -> ServerMessage {
        let (env, count) = (self.env, self.batch.count() as u32);
        ServerMessage::Opened(Box::new(Opened { env, count, spec: self.batch.spec().clone() }))
    }

    /// How many environments a task concerns.
    pub(super) fn rows(&self, task: &Task) -> usize {
        let envs = match task {
            Task::Reset(r) => &r.envs,
            Task::Step(s) => &s.envs,
            Task::Clone(c, _) => &c.envs,
            Task::Snapshot(s) => &s.envs,
            Task::Restore(r) => &r.envs,
            Task::View(_) | Task::Close => return 1,
        };
        envs.as_ref().map_or(self.batch.count(), Column::len)
    }

    /// Whether the server plays a seat.
    pub(super) fn has_agents(&self) -> bool {
        self.batch.config().seats.iter().any(Option::is_some)
    }

    /// Does what is asked.
    pub(super) fn run(&mut self, task: Task) -> (Answer, Born) {
        let answer = match task {
            Task::Reset(r) => self.reset(r),
            Task::Step(s) => self.step(s),
            Task::View(v) => view::look(&*self.batch, &v).map(|seen| ServerMessage::Viewed(Box::new(seen))),
            Task::Snapshot(s) => self.snapshot(s),
            Task::Restore(r) => self.restore(r),
            Task::Close => Ok(ServerMessage::Ok(Done {})),
            Task::Clone(c, env) => {
                return match self.fork(c, env) {
                    Ok(handle) => (Ok(handle.opened()), Born::Handle(Box::new(handle))),
                    Err(error) => (Err(error), Born::Nothing),
                };
            }
        };
        (answer, Born::Nothing)
    }

    /// What keeps the episodes that ended in the last task; nothing unless they are recorded.
    pub(super) fn records(&mut self) -> Vec<Write> {
        let Some(recorder) = &mut self.recorder else { return Vec::new() };
        let ended = self.batch.take_episodes();
        if ended.is_empty() { Vec::new() } else { recorder.keep(&ended, &*self.batch, &self.seats, &self.opponents) }
    }

    /// Takes the memory of an answer back once it was written.
    pub(super) fn recycle(&mut self, answer: ServerMessage) {
        if let ServerMessage::Batch(batch) = answer {
            self.spare = Some(batch);
        }
    }

    /// The answer of what `call` does with the batch.
    fn answer(
        &mut self,
        envs: Option<Column<u32>>,
        call: impl FnOnce(&mut dyn DynBatch, Option<&[u32]>, &mut Batch) -> Result<(), Refusal>,
    ) -> Answer {
        let rows = envs.as_ref().map(Column::to_vec);
        let mut out = self.spare.take().unwrap_or_default();
        let done = call(&mut *self.batch, rows.as_deref(), &mut out);
        (out.env, out.envs) = (self.env, envs);
        match done {
            Ok(()) => Ok(ServerMessage::Batch(out)),
            Err(e) => {
                self.spare = Some(out);
                Err(Box::new(e))
            }
        }
    }

    fn reset(&mut self, r: message::Reset) -> Answer {
        let seeds = match (r.seed, r.seeds) {
            (Some(_), Some(_)) => {
                return Err(field("seeds", "a reset has either `seed` or `seeds`"));
            }
            (Some(seed), None) => Seeds::Base(seed.0),
            (None, Some(list)) => Seeds::Each(list.iter().map(|seed| seed.0).collect()),
            (None, None) => Seeds::Continue,
        };
        let before = match r.seats {
            Some(seats) => {
                let players = self.opponents.players(&seats, &self.game)?;
                let before = (self.seats.clone(), self.batch.config().seats.clone());
                self.batch.set_seats(players).map_err(Box::new)?;
                self.seats = seats;
                Some(before)
            }
            None => None,
        };
        if let Some(recorder) = &mut self.recorder {
            match &r.envs {
                Some(rows) => recorder.begin(rows.iter()),
                None => recorder.begin(0..self.batch.count() as u32),
            }
        }
        let answer = self.answer(r.envs, |batch, rows, out| batch.reset(rows, &seeds, out));
        if answer.is_err()
            && let Some((seats, players)) = before
        {
            self.batch.set_seats(players).map_err(Box::new)?;
            self.seats = seats;
        }
        answer
    }

    fn step(&mut self, s: message::Step) -> Answer {
        match (s.actions, s.moves) {
            (Some(actions), None) => {
                let mut ids = std::mem::take(&mut self.ids);
                ids.clear();
                ids.extend(actions.iter());
                let answer = self.answer(s.envs, |batch, rows, out| batch.step(rows, Actions::Ids(&ids), out));
                self.ids = ids;
                answer
            }
            (None, Some(moves)) => {
                self.answer(s.envs, |batch, rows, out| batch.step(rows, Actions::Moves(&moves), out))
            }
            _ => Err(field("actions", "a step has either `actions` or `moves`")),
        }
    }

    fn fork(&self, c: message::CloneEnvs, env: u32) -> Result<Handle, Box<Refusal>> {
        let rows = c.envs.as_ref().map(Column::to_vec);
        if rows.as_ref().is_some_and(Vec::is_empty) {
            return Err(field("envs", "a clone needs at least one environment"));
        }
        let batch = self.batch.fork(rows.as_deref(), c.seed.map(|seed| seed.0)).map_err(Box::new)?;
        let (game, seats, opponents) = (self.game.clone(), self.seats.clone(), self.opponents.clone());
        Ok(Handle::new(env, game, batch, seats, opponents, self.recorder.clone()))
    }

    fn snapshot(&self, s: message::Snapshot) -> Answer {
        let rows = s.envs.as_ref().map(Column::to_vec);
        let items = self.batch.snapshot(rows.as_deref(), &self.seats).map_err(Box::new)?;
        let pack = |item: &Snapshot| rmp_serde::to_vec_named(item).map(Bytes);
        let items: Result<Vec<Bytes>, _> = items.iter().map(pack).collect();
        let items = items.map_err(|e| Box::new(Refusal::new(ErrorCode::Internal, e.to_string())))?;
        Ok(ServerMessage::Snapshots(Snapshots { hash: self.batch.spec().hash.clone(), items }))
    }

    fn restore(&mut self, r: message::Restore) -> Answer {
        let mut items = Vec::with_capacity(r.items.len());
        for (at, item) in r.items.iter().enumerate() {
            items.push(unpack(item).map_err(|why| {
                let message = format!("snapshot {at} is not understood: {why}");
                Box::new(Refusal::new(ErrorCode::BadSnapshot, message).path("items").at(at))
            })?);
        }
        self.answer(r.envs, |batch, rows, out| batch.restore(rows, &items, out))
    }
}

fn unpack(item: &Bytes) -> Result<Snapshot, String> {
    let mut reader = rmp_serde::Deserializer::from_read_ref(&item[..]);
    reader.set_max_depth(SNAPSHOT_DEPTH);
    serde::Deserialize::deserialize(&mut reader).map_err(|e| ludex_protocol::error::shortened(&e.to_string()))
}
