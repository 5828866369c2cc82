//! The gym plane: environments.

use std::future::Future;

use ludex_protocol::message::{
    Batch, CloneEnvs, CloseHandle, HandleOpened, Observer, Open, Reset, Restore, Seed, SnapshotEnvs, Snapshots,
    StepEnvs, ViewEnv, Viewed,
};
use ludex_protocol::spec::Spec;
use ludex_protocol::{ArrayError, Bytes, ClientMessage, Column};
use ndarray::Array2;

use crate::client::{Client, expect};
use crate::error::Error;

/// A handle on environments of one game, opened by [`Client::open`]. The environments exist until
/// [`close`](Self::close) or the end of the session.
///
/// Methods that take a message set the message's field `env` to this handle.
#[derive(Debug)]
pub struct Env {
    client: Client,
    handle: u32,
    count: u32,
    observer: Observer,
    spec: Box<Spec>,
}

impl Client {
    /// Opens environments.
    ///
    /// # Errors
    /// Same as [`request`](Self::request).
    pub async fn open(&self, open: Open) -> Result<Env, Error> {
        let observer = open.observer;
        let opened = expect!(self.request(ClientMessage::Open(Box::new(open))).await?, Opened, "opened")?;
        Ok(Env::new(self.clone(), observer, *opened))
    }
}

impl Env {
    fn new(client: Client, observer: Observer, opened: HandleOpened) -> Self {
        Env { client, handle: opened.env, count: opened.count, observer, spec: Box::new(opened.spec) }
    }

    /// Returns the number by which the server identifies the handle.
    pub fn handle(&self) -> u32 {
        self.handle
    }

    /// Returns the number of environments.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns the spec of the game with the parameters of these environments.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Starts an episode in every environment. With seed `s`, environment `i` plays the episode of seed `s + i`.
    ///
    /// # Errors
    /// Same as [`Client::request`].
    pub async fn reset(&self, seed: Option<u64>) -> Result<Box<Batch>, Error> {
        self.reset_with(Reset { seed: seed.map(Seed), ..Reset::default() }).await
    }

    /// Starts episodes with all options of a [`Reset`] message, for example only in some environments.
    ///
    /// # Errors
    /// Same as [`Client::request`].
    pub async fn reset_with(&self, reset: Reset) -> Result<Box<Batch>, Error> {
        self.batch(ClientMessage::Reset(Reset { env: self.handle, ..reset })).await
    }

    /// Acts in every environment. `actions` has one action id per environment (in games with joint moves, one per
    /// seat); -1 means no action.
    ///
    /// # Errors
    /// Same as [`Client::request`].
    pub async fn step(&self, actions: &[i32]) -> Result<Box<Batch>, Error> {
        self.step_with(acting(actions)).await
    }

    /// Acts with all options of a [`StepEnvs`] message, for example with texts and documents.
    ///
    /// # Errors
    /// Same as [`Client::request`].
    pub async fn step_with(&self, step: StepEnvs) -> Result<Box<Batch>, Error> {
        self.batch(ClientMessage::Step(StepEnvs { env: self.handle, ..step })).await
    }

    /// Sends a step and returns a future of the resulting batch. Several steps can be in flight at the same time.
    ///
    /// # Errors
    /// Returns [`Error::ClientClosed`] if the client is closed. The future returns the errors of [`Client::request`].
    pub async fn post_step(
        &self,
        actions: &[i32],
    ) -> Result<impl Future<Output = Result<Box<Batch>, Error>> + use<>, Error> {
        let step = StepEnvs { env: self.handle, ..acting(actions) };
        let reply = self.client.post(ClientMessage::Step(step)).await?;
        Ok(async move { expect!(reply.await?, Batch, "batch") })
    }

    /// Returns the view of any seat in one environment.
    ///
    /// # Errors
    /// Same as [`Client::request`].
    pub async fn view(&self, view: ViewEnv) -> Result<Box<Viewed>, Error> {
        let request = ClientMessage::View(ViewEnv { env: self.handle, ..view });
        expect!(self.client.request(request).await?, Viewed, "viewed")
    }

    /// Returns snapshots of the states as bytes.
    ///
    /// # Errors
    /// Same as [`Client::request`].
    pub async fn snapshot(&self) -> Result<Snapshots, Error> {
        let request = ClientMessage::Snapshot(SnapshotEnvs { env: self.handle, envs: None });
        expect!(self.client.request(request).await?, Snapshots, "snapshots")
    }

    /// Restores the states from snapshots, one per environment.
    ///
    /// # Errors
    /// Same as [`Client::request`].
    pub async fn restore(&self, items: Vec<Bytes>) -> Result<Box<Batch>, Error> {
        self.batch(ClientMessage::Restore(Restore { env: self.handle, envs: None, items })).await
    }

    /// Returns the legal actions of a batch as an array that is true for legal actions. The shape is `[R, A]`, or
    /// `[R * P, A]` with `observer = all` (R rows, P seats, A actions). Supports all mask formats.
    ///
    /// # Errors
    /// Returns [`Error::Array`] if the batch has no mask, or a mask that does not fit the game.
    pub fn legal_actions(&self, batch: &Batch) -> Result<Array2<bool>, Error> {
        let rows = match self.observer {
            Observer::Acting => batch.to_move.len(),
            Observer::All => batch.reward.len(),
        };
        let missing = || ArrayError::Name { name: "mask".to_owned(), allowed: Vec::new() };
        Ok(batch.mask.as_ref().ok_or_else(missing)?.to_array(rows, self.spec.actions as usize)?)
    }

    /// Opens a new handle with the same states. Without `seed`, future chance outcomes are the same in both handles.
    ///
    /// # Errors
    /// Same as [`Client::request`].
    pub async fn duplicate(&self, seed: Option<u64>) -> Result<Env, Error> {
        let request = CloneEnvs { env: self.handle, envs: None, seed: seed.map(Seed) };
        let opened = expect!(self.client.request(ClientMessage::Clone(request)).await?, Opened, "opened")?;
        Ok(Env::new(self.client.clone(), self.observer, *opened))
    }

    /// Closes the handle and its environments.
    ///
    /// # Errors
    /// Same as [`Client::request`].
    pub async fn close(self) -> Result<(), Error> {
        self.client.expect_ok(ClientMessage::Close(CloseHandle { env: self.handle })).await
    }

    async fn batch(&self, message: ClientMessage) -> Result<Box<Batch>, Error> {
        expect!(self.client.request(message).await?, Batch, "batch")
    }
}

fn acting(actions: &[i32]) -> StepEnvs {
    StepEnvs { actions: Some(Column::from(actions)), ..StepEnvs::default() }
}
