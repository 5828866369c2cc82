//! One handle: a batch of environments of one game, and what may be asked of it.

use ludex_env::batch::{BatchCode, Snapshot};
use ludex_env::columns::Columns;
use ludex_env::erased::Given;
use ludex_env::{Actions, BatchError, DynBatch, GameRef, Seeds};
use ludex_protocol::server::{Done, Opened, Snapshots};
use ludex_protocol::{Bytes, Column, ErrorCode, Refusal, ServerMessage};
use ludex_protocol::{Move, client};

use super::columns::{Shape, recycle};
use super::open::Table;
use super::records::Recorder;
use super::view;
use crate::store::Write;

/// Nesting that a snapshot may have; its deepest list is a joint move.
const SNAPSHOT_DEPTH: usize = 32;

/// A request to a handle that exists.
pub(super) enum Task {
    Reset(client::Reset),
    Step(client::Step),
    View(client::View),
    /// With the number of the new handle.
    Clone(client::CloneEnvs, u32),
    Snapshot(client::Snapshot),
    Restore(client::Restore),
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

/// A handle of a session. Whoever runs a task owns it: the session, or a thread of the compute pool.
pub(super) struct Handle {
    env: u32,
    game: GameRef,
    batch: Box<dyn DynBatch>,
    /// The agent specs of the seats as the client wrote them; empty when every seat is the client's.
    seats: Vec<String>,
    table: Table,
    recorder: Option<Recorder>,
    shape: Shape,
    // Kept from call to call, so that a long run allocates little.
    columns: Columns,
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
        table: Table,
        recorder: Option<Recorder>,
    ) -> Self {
        let shape = Shape::new(&*batch);
        Handle { env, game, batch, seats, table, recorder, shape, columns: Columns::default(), ids: Vec::new() }
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

    pub(super) fn row_bytes(&self) -> usize {
        self.shape.row_bytes(self.batch.spec())
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
        match &mut self.recorder {
            Some(recorder) if !self.columns.ended.is_empty() => {
                let ended = std::mem::take(&mut self.columns.ended);
                recorder.keep(&ended, &*self.batch, &self.seats, &self.table.0)
            }
            _ => Vec::new(),
        }
    }

    /// Takes the buffers of an answer back once it was written.
    pub(super) fn recycle(&mut self, answer: ServerMessage) {
        if let ServerMessage::Batch(batch) = answer {
            recycle(*batch, &mut self.columns);
        }
    }

    fn answer(&mut self, done: Result<(), BatchError>, envs: Option<Column<u32>>) -> Answer {
        done.map_err(refusal)?;
        Ok(ServerMessage::Batch(Box::new(self.shape.batch(self.env, envs, &mut self.columns))))
    }

    fn reset(&mut self, r: client::Reset) -> Answer {
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
                let players = self.table.players(&seats, &self.game)?;
                let before = (self.seats.clone(), self.batch.config().seats.clone());
                self.batch.set_seats(players).map_err(refusal)?;
                self.seats = seats;
                Some(before)
            }
            None => None,
        };
        let rows = r.envs.as_ref().map(Column::to_vec);
        if let Some(recorder) = &mut self.recorder {
            match &rows {
                Some(rows) => recorder.begin(rows.iter().copied()),
                None => recorder.begin(0..self.batch.count() as u32),
            }
        }
        let done = self.batch.reset(rows.as_deref(), &seeds, &mut self.columns);
        if done.is_err()
            && let Some((seats, players)) = before
        {
            self.batch.set_seats(players).map_err(refusal)?;
            self.seats = seats;
        }
        self.answer(done, r.envs)
    }

    fn step(&mut self, s: client::Step) -> Answer {
        let rows = s.envs.as_ref().map(Column::to_vec);
        let done = match (s.actions, s.moves) {
            (Some(actions), None) => {
                self.ids.clear();
                self.ids.extend(actions.iter());
                self.batch.step(rows.as_deref(), Actions::Ids(&self.ids), &mut self.columns)
            }
            (None, Some(moves)) => {
                let given: Vec<Option<Given>> = moves.into_iter().map(given).collect();
                self.batch.step(rows.as_deref(), Actions::Given(&given), &mut self.columns)
            }
            _ => return Err(field("actions", "a step has either `actions` or `moves`")),
        };
        self.answer(done, s.envs)
    }

    fn fork(&self, c: client::CloneEnvs, env: u32) -> Result<Handle, Box<Refusal>> {
        let rows = c.envs.as_ref().map(Column::to_vec);
        if rows.as_ref().is_some_and(Vec::is_empty) {
            return Err(field("envs", "a clone needs at least one environment"));
        }
        let batch = self.batch.fork(rows.as_deref(), c.seed.map(|seed| seed.0)).map_err(refusal)?;
        let (game, seats, table) = (self.game.clone(), self.seats.clone(), self.table.clone());
        Ok(Handle::new(env, game, batch, seats, table, self.recorder.clone()))
    }

    fn snapshot(&self, s: client::Snapshot) -> Answer {
        let rows = s.envs.as_ref().map(Column::to_vec);
        let items = self.batch.snapshot(rows.as_deref(), &self.seats).map_err(refusal)?;
        let pack = |item: &Snapshot| rmp_serde::to_vec_named(item).map(Bytes);
        let items: Result<Vec<Bytes>, _> = items.iter().map(pack).collect();
        let items = items.map_err(|e| Box::new(Refusal::new(ErrorCode::Internal, e.to_string())))?;
        Ok(ServerMessage::Snapshots(Snapshots { hash: self.batch.spec().hash.clone(), items }))
    }

    fn restore(&mut self, r: client::Restore) -> Answer {
        let rows = r.envs.as_ref().map(Column::to_vec);
        let mut items = Vec::with_capacity(r.items.len());
        for (at, item) in r.items.iter().enumerate() {
            items.push(unpack(item).map_err(|why| {
                let message = format!("snapshot {at} is not understood: {why}");
                Box::new(Refusal::new(ErrorCode::BadSnapshot, message).path("items").at(at))
            })?);
        }
        let done = self.batch.restore(rows.as_deref(), &items, &mut self.columns);
        self.answer(done, r.envs)
    }
}

fn unpack(item: &Bytes) -> Result<Snapshot, String> {
    let mut reader = rmp_serde::Deserializer::from_read_ref(&item[..]);
    reader.set_max_depth(SNAPSHOT_DEPTH);
    serde::Deserialize::deserialize(&mut reader).map_err(|e| ludex_protocol::error::shortened(&e.to_string()))
}

fn given(m: Option<Move>) -> Option<Given> {
    match m? {
        Move::Id(-1) => None,
        Move::Id(id) => Some(Given::Id(id)),
        Move::Text(text) => Some(Given::Text(text)),
        Move::Document(document) => Some(Given::Proposal(document)),
    }
}

pub(super) fn field(path: &str, message: impl Into<String>) -> Box<Refusal> {
    Box::new(Refusal::new(ErrorCode::BadField, message).path(path))
}

/// A refusal of the batch in the protocol's words.
pub(super) fn refusal(e: BatchError) -> Box<Refusal> {
    let code = match e.code {
        BatchCode::BadShape => ErrorCode::BadShape,
        BatchCode::BadField => ErrorCode::BadField,
        BatchCode::IllegalAction => ErrorCode::IllegalAction,
        BatchCode::EnvOver => ErrorCode::EnvOver,
        BatchCode::BadSnapshot => ErrorCode::BadSnapshot,
        BatchCode::Limit => ErrorCode::Limit,
    };
    let mut error = Refusal::new(code, e.message).path(e.path);
    if let Some(at) = e.at {
        error = error.at(at);
    }
    if !e.got.is_null() {
        error = error.got(e.got);
    }
    if !e.allowed.is_null() {
        error = error.allowed(e.allowed);
    }
    Box::new(error)
}
