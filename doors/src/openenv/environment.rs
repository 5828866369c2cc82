//! Environment of one session: a game of the server that one model plays.

use axum::http::HeaderMap;
use ludex_client::protocol::Batch;
use ludex_client::protocol::call::{ChatMessage, ChatRole};
use ludex_client::protocol::message::{Autoreset, GymView, Mask, MaskForm, Open, Reset, Seed, StepEnvs, ViewEnv};
use ludex_client::protocol::spec::{Params, Spec};
use ludex_client::{Client, Env, Events, LocalConnector};
use serde::Serialize;
use serde_json::{Value, json};

use super::arguments::{Arguments, EnvSetup};
use super::episode::{EpisodeEnd, ScoredEpisode};
use super::failure::RequestFailure;
use crate::access::connect;

/// Environment of one session.
pub(super) struct Environment {
    client: Client,
    spec: Spec,
    opened: Option<Opened>,
    episode: Option<ScoredEpisode>,
}

/// Environment on the server, and the settings with which it was opened.
struct Opened {
    env: Env,
    setup: EnvSetup,
}

/// Observation of the model.
#[derive(Debug, Serialize)]
pub(super) struct Observation {
    /// System message; empty within a conversation.
    system: String,
    /// User message; empty at the end.
    prompt: String,
    /// Legal moves by name; empty if moves are documents, too many, or hidden from the model.
    legal: Vec<String>,
    seat: u32,
    /// Words about the refused answers of this turn.
    refusal: Option<String>,
    metadata: Params,
}

/// Reply to `reset` and `step`.
#[derive(Debug, Serialize)]
pub(super) struct StepResult {
    observation: Observation,
    reward: Option<f64>,
    done: bool,
    /// Numbers of an episode that is over, as in the observation.
    #[serde(skip_serializing_if = "Params::is_empty")]
    metadata: Params,
}

impl Environment {
    /// Connects to the server for a game, given by its id or by a game string.
    ///
    /// # Errors
    /// An unknown game, a client that the server does not admit, or a limit.
    pub(super) async fn connect(
        connector: &LocalConnector,
        headers: &HeaderMap,
        game: &str,
    ) -> Result<(Self, Events), RequestFailure> {
        let (client, events) = connect(connector, headers, "openenv").await?;
        let spec = client.describe(game, Params::new(), false).await?;
        Ok((Environment { client, spec, opened: None, episode: None }, events))
    }

    /// Returns the spec of the game.
    pub(super) fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Returns the connection to the server.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Returns true if an environment is open on the server.
    pub(super) fn is_open(&self) -> bool {
        self.opened.is_some()
    }

    /// Starts an episode. If the server refuses it, the last episode continues.
    ///
    /// # Errors
    /// Arguments that are invalid for the game, or a limit.
    pub(super) async fn reset(&mut self, arguments: Arguments) -> Result<StepResult, RequestFailure> {
        let seats = arguments.seats(&self.spec)?;
        let reset = Reset { seed: arguments.seed.map(Seed), seats: Some(seats.clone()), ..Reset::default() };
        let batch = match &self.opened {
            Some(Opened { env, setup }) if *setup == arguments.setup => env.reset_with(reset).await?,
            _ => {
                let env = self.client.open(self.message(&arguments.setup, seats)).await?;
                let batch = match env.reset_with(reset).await {
                    Ok(batch) => batch,
                    Err(error) => {
                        let _ = env.close().await;
                        return Err(error.into());
                    }
                };
                let opened = Opened { env, setup: arguments.setup.clone() };
                if let Some(last) = self.opened.replace(opened) {
                    last.env.close().await?;
                }
                batch
            }
        };
        let returns = [self.spec.min_return, self.spec.max_return];
        self.episode = Some(ScoredEpisode::new(arguments, returns));
        let result = self.observe(&batch, None).await?;
        Ok(StepResult { reward: result.done.then_some(result.reward).flatten(), ..result })
    }

    /// Plays an answer of the model. If it is not a legal move, the position stays and the observation has the reason.
    ///
    /// # Errors
    /// No episode, an episode that is over, or an answer that is too long.
    pub(super) async fn step(&mut self, answer: String) -> Result<StepResult, RequestFailure> {
        let (Some(Opened { env, .. }), Some(episode)) = (&self.opened, &mut self.episode) else {
            return Err(RequestFailure::execution("expected reset before the first step"));
        };
        if episode.is_over() {
            return Err(RequestFailure::execution("the episode is over; reset starts the next one"));
        }
        let batch = env.step_with(StepEnvs { answers: Some(vec![Some(answer)]), ..StepEnvs::default() }).await?;
        let read = batch.answers.as_ref().and_then(|answers| answers.first()?.as_ref());
        if let Some(read) = read {
            episode.count(read);
        }
        let refusal = read.and_then(|read| read.message.clone());
        self.observe(&batch, refusal).await
    }

    /// Returns the state of the session.
    pub(super) fn state(&self) -> Value {
        let mut state = json!({ "episode_id": null, "step_count": 0, "game": self.spec.string });
        if let Some(episode) = &self.episode {
            state["episode_id"] = json!(episode.arguments.episode_id);
            state["step_count"] = json!(episode.steps());
            state["seed"] = json!(episode.arguments.seed);
            state["seat"] = json!(episode.arguments.seat);
            state["refused"] = json!(episode.refused_answers());
            state["done"] = json!(episode.is_over());
        }
        state
    }

    fn message(&self, setup: &EnvSetup, seats: Vec<String>) -> Open {
        Open {
            seats: Some(seats),
            autoreset: Autoreset::Disabled,
            views: Some(vec![GymView::Prompt, GymView::Returns]),
            prompt: setup.prompt.clone(),
            mask: Some(if setup.lists_legal() { MaskForm::Ids } else { MaskForm::None }),
            max_steps: setup.max_steps,
            record: setup.record,
            ..Open::new(self.spec.string.clone())
        }
    }

    /// Reads a batch, and returns the position as the model observes it.
    async fn observe(&mut self, batch: &Batch, refusal: Option<String>) -> Result<StepResult, RequestFailure> {
        let (Some(Opened { env, setup }), Some(episode)) = (&self.opened, &mut self.episode) else {
            return Err(RequestFailure::execution("expected reset before the first step"));
        };
        let seat = episode.arguments.seat;
        let is_first = episode.steps() == 0;
        episode.length = batch.length.get(0).unwrap_or(0);
        let is_truncated = batch.truncated.get(0) == Some(1);
        if is_truncated || batch.terminated.get(0) == Some(1) {
            let value = batch.returns.as_ref().and_then(|returns| returns.get(seat as usize));
            episode.end = Some(EpisodeEnd { value: value.unwrap_or(episode.returns[0]), is_truncated });
        }
        let done = episode.is_over();
        let (mut system, mut prompt, mut legal) = (String::new(), String::new(), Vec::new());
        if !done {
            let messages = batch.prompt.as_ref().and_then(|rows| rows.first()?.as_deref()).unwrap_or_default();
            (system, prompt) = texts(messages);
            if setup.is_chat() && !is_first {
                system.clear();
            }
            legal = names(&self.client, env, batch, seat).await?;
        }
        let metadata = if done { episode.metrics() } else { Params::new() };
        let observation = Observation { system, prompt, legal, seat, refusal, metadata: metadata.clone() };
        Ok(StepResult { observation, reward: Some(episode.reward()), done, metadata })
    }
}

/// Returns the system message and the user message of a prompt.
fn texts(messages: &[ChatMessage]) -> (String, String) {
    let of = |role| messages.iter().find(|message| message.role == role).map(|message| message.content.clone());
    (of(ChatRole::System).unwrap_or_default(), of(ChatRole::User).unwrap_or_default())
}

/// Returns the names of the legal moves; no names if there are more than a request may list.
async fn names(client: &Client, env: &Env, batch: &Batch, seat: u32) -> Result<Vec<String>, RequestFailure> {
    let Some(Mask::Ids(rows)) = &batch.mask else { return Ok(Vec::new()) };
    let ids = rows.row(0);
    if ids.is_empty() || ids.len() > client.welcome().limits.list_entries as usize {
        return Ok(Vec::new());
    }
    let names = Some(ids.into_iter().map(i64::from).collect());
    Ok(env.view(ViewEnv { names, seat: Some(seat), ..ViewEnv::default() }).await?.names.unwrap_or_default())
}
