//! Environment handle: a batch of environments of one game.

use std::collections::HashSet;

use ludex_env::batch::Snapshot;
use ludex_env::{Actions, DynBatch, GameRef, ResetSeeds};
use ludex_protocol::message::{GymView, HandleOpened, OkReply, Snapshots, Viewed};
use ludex_protocol::spec::Params;
use ludex_protocol::{Batch, Bytes, Column, ErrorCode, Refusal, ServerMessage, message};
use ludex_store::Write;

use super::prompts::{EnvPrompts, StepAnswers};
use super::records::Recorder;
use super::seating::{EnvPlayers, GymSeating};
use super::{field, view};
use crate::compute::internal;
use crate::quotas::Share;

/// Maximum nesting depth of a snapshot: more than the 16 levels of a document and the levels around it.
const SNAPSHOT_DEPTH: usize = 32;

/// Number of rows of a step that take as long as one prompt: 0.1 ms.
const ROWS_PER_PROMPT: usize = 200;
/// Number of items of `view` that take as long as one prompt.
const READS_PER_PROMPT: usize = 10;
/// Number of bytes of an answer that take as long to read as one item of `view`.
const BYTES_PER_READ: usize = 20;

/// Request to an open handle.
pub(super) enum HandleTask {
    Reset(message::Reset),
    Step(message::StepEnvs),
    View(message::ViewEnv),
    /// Clone request, and the number of the handle to create.
    Clone(message::CloneEnvs, u32),
    Snapshot(message::SnapshotEnvs),
    Restore(message::Restore),
    Close,
}

/// Kind of task, for duration estimates.
#[derive(Clone, Copy)]
pub(super) enum TaskKind {
    Reset,
    Step,
    Replay,
    Copy,
    Read,
}

impl TaskKind {
    /// All kinds, in the order of their discriminants.
    pub(super) const ALL: [TaskKind; 5] =
        [TaskKind::Reset, TaskKind::Step, TaskKind::Replay, TaskKind::Copy, TaskKind::Read];
}

impl HandleTask {
    pub(super) fn kind(&self) -> TaskKind {
        match self {
            HandleTask::Reset(_) => TaskKind::Reset,
            HandleTask::Step(_) => TaskKind::Step,
            HandleTask::Snapshot(_) | HandleTask::Restore(_) => TaskKind::Replay,
            HandleTask::Clone(..) => TaskKind::Copy,
            HandleTask::View(_) | HandleTask::Close => TaskKind::Read,
        }
    }
}

/// Environment handle, owned by its session or, while a task runs in the pool, by the pool thread.
pub(super) struct EnvHandle {
    env: u32,
    game: GameRef,
    batch: Box<dyn DynBatch>,
    seated: EnvPlayers,
    table: GymSeating,
    /// Reserved share of the owner's environment quota.
    _share: Share,
    /// Reserved share of the owner's quota of document bytes.
    documents: Share,
    recorder: Option<Recorder>,
    /// Prompts, prepared on first use unless `open` requests them.
    prompts: Option<EnvPrompts>,
    // Reused between calls to save allocations.
    spare: Option<Box<Batch>>,
    ids: Vec<i32>,
}

type Answer = Result<ServerMessage, Box<Refusal>>;

impl EnvHandle {
    pub(super) fn new(
        env: u32,
        game: GameRef,
        batch: Box<dyn DynBatch>,
        (seated, table): (EnvPlayers, GymSeating),
        prompts: Option<EnvPrompts>,
        recorder: Option<Recorder>,
        [_share, documents]: [Share; 2],
    ) -> Self {
        let ids = Vec::new();
        EnvHandle { env, game, batch, seated, table, recorder, prompts, _share, documents, spare: None, ids }
    }

    pub(super) fn env(&self) -> u32 {
        self.env
    }

    pub(super) fn opened(&self) -> ServerMessage {
        let (env, count) = (self.env, self.batch.count() as u32);
        ServerMessage::Opened(Box::new(HandleOpened { env, count, spec: self.batch.spec().clone() }))
    }

    /// Returns the size of a task, for duration estimates: the number of its environments or, for `view`, of the
    /// requested items. Prompts and answers count as several.
    pub(super) fn rows(&self, task: &HandleTask) -> usize {
        let envs = match task {
            HandleTask::Reset(r) => &r.envs,
            HandleTask::Step(s) => &s.envs,
            HandleTask::Clone(c, _) => &c.envs,
            HandleTask::Snapshot(s) => &s.envs,
            HandleTask::Restore(r) => &r.envs,
            HandleTask::View(v) => {
                let prompts = if v.views.contains(&GymView::Prompt) { READS_PER_PROMPT } else { 0 };
                let answers: usize =
                    v.answers.iter().flatten().map(|text| READS_PER_PROMPT + text.len() / BYTES_PER_READ).sum();
                let texts = v.names.iter().flatten().count() + v.parse.iter().flatten().count();
                return 1 + v.views.len() + prompts + answers + texts;
            }
            HandleTask::Close => return 0,
        };
        let rows = envs.as_ref().map_or(self.batch.count(), Column::len);
        let answers = match task {
            HandleTask::Step(message::StepEnvs { answers: Some(answers), .. }) => {
                answers.iter().flatten().map(|text| ROWS_PER_PROMPT + text.len()).sum()
            }
            _ => 0,
        };
        let has_prompts = self.prompts.as_ref().is_some_and(|prompts| prompts.in_batches);
        answers + rows * if has_prompts { ROWS_PER_PROMPT } else { 1 }
    }

    /// Returns true if an agent of the server plays a seat.
    pub(super) fn has_agents(&self) -> bool {
        self.batch.config().seats.iter().any(Option::is_some)
    }

    /// Returns true if an agent that searches may move during the task. Such a task runs on a thread outside the pool,
    /// and waits for a turn of the scheduler before each search.
    pub(super) fn searches(&self, task: &HandleTask) -> bool {
        match task {
            HandleTask::Reset(reset) => self.seated.search > 0 || reset.seats.is_some(),
            HandleTask::Step(_) | HandleTask::Restore(_) => self.seated.search > 0,
            HandleTask::View(_) | HandleTask::Clone(..) | HandleTask::Snapshot(_) | HandleTask::Close => false,
        }
    }

    /// Runs a task and returns its reply. A clone task also returns the new handle.
    pub(super) fn run(&mut self, task: HandleTask) -> (Answer, Option<Box<EnvHandle>>) {
        let done = match self.may_say_more(&task) {
            Ok(()) => self.execute(task),
            Err(full) => (Err(full), None),
        };
        let refused = self.prompts.as_ref().map_or(0, EnvPrompts::bytes);
        self.documents.set(u32::try_from(self.batch.document_bytes() + refused).unwrap_or(u32::MAX));
        done
    }

    /// Checks that the owner's quota has room for more documents, if the task may add any. The size
    /// of the new documents is not checked, so a single task may exceed the quota.
    fn may_say_more(&self, task: &HandleTask) -> Result<(), Box<Refusal>> {
        let more = match task {
            HandleTask::Step(step) => step.moves.is_some() || step.answers.is_some(),
            HandleTask::Restore(_) => true,
            _ => false,
        };
        if more && self.batch.spec().document_schemas.is_some() {
            self.table.reserve_documents(1).map(drop)
        } else {
            Ok(())
        }
    }

    fn execute(&mut self, task: HandleTask) -> (Answer, Option<Box<EnvHandle>>) {
        let answer = match task {
            HandleTask::Reset(r) => self.reset(r),
            HandleTask::Step(s) => self.step(s),
            HandleTask::View(v) => self.view(&v).map(|seen| ServerMessage::Viewed(Box::new(seen))),
            HandleTask::Snapshot(s) => self.snapshot(s),
            HandleTask::Restore(r) => self.restore(r),
            HandleTask::Close => Ok(ServerMessage::Ok(OkReply {})),
            HandleTask::Clone(c, env) => {
                return match self.fork(c, env) {
                    Ok(handle) => (Ok(handle.opened()), Some(Box::new(handle))),
                    Err(error) => (Err(error), None),
                };
            }
        };
        (answer, None)
    }

    /// Takes the writes that store the episodes finished in the last task. Empty if the handle does
    /// not record episodes.
    pub(super) fn records(&mut self) -> Vec<Write> {
        let Some(recorder) = &mut self.recorder else { return Vec::new() };
        let ended = self.batch.take_episodes();
        if ended.is_empty() {
            Vec::new()
        } else {
            recorder.keep(&ended, &*self.batch, &self.seated.specs, &self.table.opponents)
        }
    }

    /// Reclaims the buffers of an encoded reply for later replies.
    pub(super) fn recycle(&mut self, answer: ServerMessage) {
        if let ServerMessage::Batch(batch) = answer {
            self.spare = Some(batch);
        }
    }

    /// Calls `call` on the batch and returns the reply.
    fn answer(
        &mut self,
        envs: Option<Column<u32>>,
        call: impl FnOnce(&mut dyn DynBatch, Option<&[u32]>, &mut Batch) -> Result<(), Refusal>,
    ) -> Answer {
        let rows = envs.as_ref().map(Column::to_vec);
        let mut out = self.spare.take().unwrap_or_default();
        let done = call(&mut *self.batch, rows.as_deref(), &mut out).map_err(Box::new);
        (out.env, out.envs, out.prompt, out.answers) = (self.env, envs, None, None);
        match done {
            Ok(()) => Ok(ServerMessage::Batch(out)),
            Err(e) => {
                self.spare = Some(out);
                Err(e)
            }
        }
    }

    /// Adds prompts to a reply, if the handle has them in batches. `moved` returns true for the environments that have
    /// moved, whose refused answers no longer matter.
    fn prompted(&mut self, answer: Answer, moved: impl Fn(usize) -> bool) -> Answer {
        let mut answer = answer?;
        if let (ServerMessage::Batch(out), Some(prompts)) = (&mut answer, &mut self.prompts) {
            prompts.forget(moved);
            prompts.write(&*self.batch, out, self.table.limits.batch_bytes)?;
        }
        Ok(answer)
    }

    /// Returns the prompts of the handle, with default settings unless `open` has others.
    fn prompts(&mut self) -> Result<&mut EnvPrompts, Box<Refusal>> {
        let prompts = match self.prompts.take() {
            Some(prompts) => prompts,
            None => EnvPrompts::new(&self.game, &Params::new(), false)?,
        };
        Ok(self.prompts.insert(prompts))
    }

    fn view(&mut self, v: &message::ViewEnv) -> Result<Viewed, Box<Refusal>> {
        if !v.views.contains(&GymView::Prompt) && v.answers.is_none() {
            return view::look(&*self.batch, None, v);
        }
        let prompts = self.prompts()?;
        let other = v.prompt.as_ref().map(|settings| prompts.with_settings(settings)).transpose()?;
        let prompts = other.as_ref().or(self.prompts.as_ref());
        view::look(&*self.batch, prompts, v)
    }

    fn reset(&mut self, r: message::Reset) -> Answer {
        let seeds = match (r.seed, r.seeds) {
            (Some(_), Some(_)) => {
                return Err(field("seeds", "expected either `seed` or `seeds`, got both"));
            }
            (Some(seed), None) => ResetSeeds::Base(seed.0),
            (None, Some(list)) => ResetSeeds::Each(list.iter().map(|seed| seed.0).collect()),
            (None, None) => ResetSeeds::Continue,
        };
        let before = match r.seats {
            Some(seats) => {
                let seated = self.table.seated(seats, &self.game, self.batch.count())?;
                self.batch.set_seats(seated.players.clone()).map_err(Box::new)?;
                Some(std::mem::replace(&mut self.seated, seated))
            }
            None => None,
        };
        if let Some(recorder) = &mut self.recorder {
            match &r.envs {
                Some(rows) => recorder.begin(rows.iter()),
                None => recorder.begin(0..self.batch.count() as u32),
            }
        }
        let named = self.prompts.is_some().then(|| name_test(&r.envs));
        let answer = self.answer(r.envs, |batch, rows, out| batch.reset(rows, &seeds, out));
        if answer.is_err()
            && let Some(before) = before
        {
            self.batch.set_seats(before.players.clone()).map_err(Box::new)?;
            self.seated = before;
        }
        self.prompted(answer, |i| named.as_ref().is_some_and(|named| named(i)))
    }

    fn step(&mut self, s: message::StepEnvs) -> Answer {
        match (s.actions, s.moves, s.answers) {
            (Some(actions), None, None) => {
                let mut ids = std::mem::take(&mut self.ids);
                ids.clear();
                ids.extend(actions.iter());
                let moved = self.moved(&s.envs, &ids, |id| *id != -1);
                let answer = self.answer(s.envs, |batch, rows, out| batch.step(rows, Actions::Ids(&ids), out));
                self.ids = ids;
                self.prompted(answer, |i| moved.contains(&i))
            }
            (None, Some(moves), None) => {
                let moved = self.moved(&s.envs, &moves, Option::is_some);
                let answer = self.answer(s.envs, |batch, rows, out| batch.step(rows, Actions::Moves(&moves), out));
                self.prompted(answer, |i| moved.contains(&i))
            }
            (None, None, Some(answers)) => self.step_answers(s.envs, &answers),
            _ => Err(field("actions", "expected exactly one of `actions`, `moves` and `answers`")),
        }
    }

    /// Steps with answers of a language model, each as one attempt of its turn.
    fn step_answers(&mut self, envs: Option<Column<u32>>, answers: &[Option<String>]) -> Answer {
        let rows = envs.as_ref().map_or_else(|| (0..self.batch.count() as u32).collect(), Column::to_vec);
        self.prompts()?;
        let Some(prompts) = &self.prompts else { return Err(internal()) };
        let mut answers = StepAnswers::read(prompts, &*self.batch, &rows, answers)?;
        let moved = self.moved(&envs, &answers.moves, Option::is_some);
        let mut reply = self.answer(envs, |batch, rows, out| batch.step(rows, Actions::Moves(&answers.moves), out))?;
        if let (ServerMessage::Batch(out), Some(prompts)) = (&mut reply, &mut self.prompts) {
            answers.keep(prompts);
            out.answers = Some(answers.read);
        }
        self.prompted(Ok(reply), |i| moved.contains(&i))
    }

    /// Returns the environments of a step in which a seat moves. Empty if there are no refused answers to forget.
    fn moved<T>(&self, envs: &Option<Column<u32>>, entries: &[T], moves: impl Fn(&T) -> bool) -> Vec<usize> {
        if self.prompts.is_none() {
            return Vec::new();
        }
        let row = |at: usize| envs.as_ref().map_or(Some(at), |envs| envs.get(at).map(|i| i as usize));
        let rows = entries.chunks(self.batch.width()).enumerate();
        rows.filter(|(_, row)| row.iter().any(&moves)).filter_map(|(at, _)| row(at)).collect()
    }

    fn fork(&self, c: message::CloneEnvs, env: u32) -> Result<EnvHandle, Box<Refusal>> {
        let rows = c.envs.as_ref().map(Column::to_vec);
        if rows.as_ref().is_some_and(Vec::is_empty) {
            return Err(field("envs", "expected at least one environment, got none"));
        }
        let batch = self.batch.fork(rows.as_deref(), c.seed.map(|seed| seed.0)).map_err(Box::new)?;
        let shares = [self.table.share(batch.count())?, self.table.reserve_documents(batch.document_bytes())?];
        let (game, players) = (self.game.clone(), (self.seated.clone(), self.table.clone()));
        let prompts = self.prompts.as_ref().map(|prompts| prompts.fork(rows.as_deref()));
        Ok(EnvHandle::new(env, game, batch, players, prompts, self.recorder.clone(), shares))
    }

    fn snapshot(&self, s: message::SnapshotEnvs) -> Answer {
        let rows = s.envs.as_ref().map(Column::to_vec);
        let items = self.batch.snapshot(rows.as_deref(), &self.seated.specs).map_err(Box::new)?;
        let (mut packed, mut bytes) = (Vec::with_capacity(items.len()), 0);
        for item in &items {
            let item = rmp_serde::to_vec_named(item);
            let item = item.map_err(|e| Box::new(Refusal::new(ErrorCode::Internal, e.to_string())))?;
            bytes += item.len() as u64;
            let most = self.table.limits.batch_bytes;
            if bytes > most {
                let message =
                    format!("expected at most {most} bytes of snapshots; request fewer environments per message");
                return Err(Box::new(Refusal::new(ErrorCode::Limit, message).path("envs").allowed(most)));
            }
            packed.push(Bytes(item));
        }
        let items = packed;
        Ok(ServerMessage::Snapshots(Snapshots { hash: self.batch.spec().hash.clone(), items }))
    }

    fn restore(&mut self, r: message::Restore) -> Answer {
        let most = self.longest_item();
        let bad = |at: usize, why: String| {
            let message = format!("expected an item returned by `snapshot` at index {at}, got {why}");
            Refusal::new(ErrorCode::BadSnapshot, message).path("items").index(at)
        };
        let mut items = r.items.iter().enumerate().map(|(at, item)| match item.len() > most {
            true => Err(bad(at, format!("{} bytes (at most {most} for this game)", item.len()))),
            false => unpack(item).ok_or_else(|| bad(at, "undecodable bytes".into())),
        });
        let named = self.prompts.is_some().then(|| name_test(&r.envs));
        let answer = self.answer(r.envs, |batch, rows, out| batch.restore(rows, &mut items, out));
        self.prompted(answer, |i| named.as_ref().is_some_and(|named| named(i)))
    }

    /// Returns the maximum size of a snapshot in bytes. The bound assumes an episode of maximum
    /// length. In each step, every player moves, every document has maximum length, and a chance
    /// event follows each move.
    fn longest_item(&self) -> usize {
        let (spec, limits) = (self.batch.spec(), &self.table.limits);
        let head = 4_096 + 64 * spec.params.len() + limits.text_bytes as usize;
        let document = if spec.document_schemas.is_some() { limits.text_bytes as usize } else { 0 };
        let entries = 1_024 + 2 * spec.max_length as usize;
        head + entries * (16 + 8 * spec.players as usize) + spec.max_length as usize * document
    }
}

/// Returns a test for the environments that a request names.
fn name_test(envs: &Option<Column<u32>>) -> impl Fn(usize) -> bool + use<> {
    let envs: Option<HashSet<u32>> = envs.as_ref().map(|envs| envs.iter().collect());
    move |i| envs.as_ref().is_none_or(|envs| u32::try_from(i).is_ok_and(|i| envs.contains(&i)))
}

fn unpack(item: &Bytes) -> Option<Snapshot> {
    let mut reader = rmp_serde::Deserializer::from_read_ref(&item[..]);
    reader.set_max_depth(SNAPSHOT_DEPTH);
    serde::Deserialize::deserialize(&mut reader).ok()
}
