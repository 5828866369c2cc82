//! Stub of language-model endpoints: OpenAI's chat completions and Anthropic's messages, as single requests or in
//! batches. A built-in agent chooses the moves, and options inject faults, so tests and rehearsals need no network and
//! cost nothing.
//!
//! Replies depend only on the request body and the seed, so the order of requests does not matter. Transport faults
//! (429, 500, damaged bodies) also depend on the number of earlier requests with the same body, so that a retry can
//! succeed.

mod answer;
mod batches;
mod error;
mod move_source;
mod reply;
mod request;
mod stream;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Json, Response};
use axum::routing::{get, post};
use ludex_agents::AgentSpec;
use ludex_env::Stream;
use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore};

use error::StubError;
use move_source::MoveSource;
use request::StubRequest;

/// Maximum size of a request body in bytes.
const MAX_BODY: usize = 16 << 20;

/// Behavior of a stub.
#[derive(Clone, Debug, clap::Args)]
pub struct StubOptions {
    /// Choose moves with this agent if requests include the position (`llm` with stub=true)
    #[arg(long, value_name = "SPEC", default_value = "random")]
    pub agent: String,
    /// Answer with documents that fit the schema if the game accepts documents; --malformed then damages documents
    #[arg(long, conflicts_with = "agent")]
    pub documents: bool,
    /// Set the seed of all random choices; equal requests get equal answers
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Delay each answer by at least this many milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=3_600_000))]
    pub latency: u64,
    /// Fill answers with reasoning up to about this many tokens
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub out_tokens: u32,
    /// Truncate the JSON of an answer with this probability; with --documents, damage a document
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = probability)]
    pub malformed: f64,
    /// Answer in prose without a move with this probability
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = probability)]
    pub prose: f64,
    /// Answer without content with this probability
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = probability)]
    pub empty: f64,
    /// Refuse to answer with this probability
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = probability)]
    pub refuse: f64,
    /// Truncate an answer before its move with this probability
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = probability)]
    pub truncate: f64,
    /// Return error 429 (too many requests) with this probability
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = probability)]
    pub rate_limit: f64,
    /// Send this number of seconds as Retry-After with error 429
    #[arg(long, value_name = "SECONDS", default_value_t = 1)]
    pub retry_after: u32,
    /// Return error 500 (internal error) with this probability
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = probability)]
    pub fail: f64,
    /// Exit after this many requests, to simulate a failed endpoint [default: never]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub down_after: Option<u64>,
    /// Reject JSON schemas (response_format) and forced tools
    #[arg(long)]
    pub no_schema: bool,
    /// Reject requests with more tokens than this [default: no limit]
    #[arg(long, value_name = "TOKENS")]
    pub context: Option<u64>,
    /// Complete a batch after this many milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=3_600_000))]
    pub batch_latency: u64,
    /// Fail an item of a batch with error 500 with this probability
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = probability)]
    pub batch_fail: f64,
    /// Let an item of a batch expire without an answer with this probability
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = probability)]
    pub batch_expire: f64,
    /// Fail batches that exceed this number of pending items [default: no limit]
    #[arg(long, value_name = "N")]
    pub batch_most: Option<usize>,
    /// Require this API key [default: none]
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
}

fn probability(text: &str) -> Result<f64, String> {
    let parsed = text.parse().ok().filter(|p| (0.0..=1.0).contains(p));
    parsed.ok_or_else(|| "expected a probability from 0 to 1".to_owned())
}

impl StubOptions {
    /// Returns the agent that chooses moves.
    ///
    /// # Errors
    /// Returns an error if the agent does not exist.
    pub fn agent_spec(&self) -> anyhow::Result<AgentSpec> {
        Ok(AgentSpec::parse(if self.documents { "random documents=1" } else { &self.agent })?)
    }

    /// Returns the share of documents to damage.
    fn document_damage(&self) -> f64 {
        if self.documents { self.malformed } else { 0.0 }
    }

    /// Returns the share of reply bodies to truncate.
    fn body_damage(&self) -> f64 {
        if self.documents { 0.0 } else { self.malformed }
    }
}

/// Serves `listener` until `shutdown` resolves, or until [`StubOptions::down_after`] requests have been answered.
///
/// # Errors
/// Returns an error if the agent does not exist or the listener fails.
pub async fn serve(
    listener: TcpListener,
    options: StubOptions,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let stub = Arc::new(Stub {
        moves: Arc::new(MoveSource::new(options.agent_spec()?)),
        threads: Semaphore::new(threads),
        requests: AtomicU64::new(0),
        down: Notify::new(),
        attempts: Mutex::default(),
        batch_store: batches::BatchStore::default(),
        options,
    });
    let down = stub.clone();
    let end = async move {
        tokio::select! {
            () = shutdown => {}
            () = down.down.notified() => {}
        }
    };
    Ok(axum::serve(listener, routes(stub)).with_graceful_shutdown(end).await?)
}

fn routes(stub: Arc<Stub>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(|app, headers, body| handle_request(Api::OpenAi, app, headers, body)))
        .route("/v1/messages", post(|app, headers, body| handle_request(Api::Anthropic, app, headers, body)))
        .route("/v1/models", get(models))
        .merge(batches::routes())
        .fallback(|| async { StubError::unknown_page().response(Api::OpenAi) })
        .method_not_allowed_fallback(|| async { StubError::wrong_method().response(Api::OpenAi) })
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(stub)
}

/// Provider whose interface a request uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Api {
    OpenAi,
    Anthropic,
}

impl Api {
    /// Returns the provider whose interface a request with these headers uses.
    fn of(headers: &HeaderMap) -> Self {
        let anthropic = headers.contains_key("anthropic-version") || headers.contains_key("x-api-key");
        if anthropic { Api::Anthropic } else { Api::OpenAi }
    }
}

/// State of a running stub.
struct Stub {
    options: StubOptions,
    moves: Arc<MoveSource>,
    /// One permit per thread that searches for a move.
    threads: Semaphore,
    /// Number of requests received.
    requests: AtomicU64,
    /// Signal that [`StubOptions::down_after`] is reached.
    down: Notify,
    /// Requests per body hash; filled only if transport faults are enabled.
    attempts: Mutex<HashMap<[u8; 32], u32>>,
    batch_store: batches::BatchStore,
}

type App = State<Arc<Stub>>;

async fn models(State(stub): App, headers: HeaderMap) -> Response {
    if let Err(error) = stub.admit(&headers) {
        return error.response(Api::of(&headers));
    }
    // The fields of both APIs in one entry.
    let model = json!({
        "id": "stub", "object": "model", "created": 0, "owned_by": "ludex",
        "type": "model", "display_name": "ludex check llm-stub", "created_at": "1970-01-01T00:00:00Z",
    });
    Json(json!({ "object": "list", "data": [model], "has_more": false })).into_response()
}

async fn handle_request(
    api: Api,
    State(stub): App,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let number = stub.requests.fetch_add(1, Ordering::Relaxed) + 1;
    let most = stub.options.down_after.unwrap_or(u64::MAX);
    if number > most {
        return StubError::down().response(api);
    }
    let answer = match body {
        Ok(body) => stub.answer(api, &headers, &body).await,
        Err(e) => Err(StubError::bad(e.body_text())),
    };
    if number == most {
        stub.down.notify_one();
    }
    answer.unwrap_or_else(|error| error.response(api))
}

impl Stub {
    /// Rejects a request without the required key.
    fn admit(&self, headers: &HeaderMap) -> Result<(), StubError> {
        let Some(key) = &self.options.key else { return Ok(()) };
        let text = |name: &str| headers.get(name).and_then(|v| v.to_str().ok());
        let bearer =
            text("authorization").and_then(|v| v.split_once(' ')).filter(|v| v.0.eq_ignore_ascii_case("bearer"));
        let sent = bearer.map(|(_, key)| key.trim()).or_else(|| text("x-api-key"));
        if sent == Some(key) { Ok(()) } else { Err(StubError::key(sent.is_some())) }
    }

    async fn answer(&self, api: Api, headers: &HeaderMap, body: &[u8]) -> Result<Response, StubError> {
        self.admit(headers)?;
        let hash: [u8; 32] = Sha256::digest(body).into();
        let request = StubRequest::read(api, body)?;
        self.check(api, &request)?;
        let damaged = self.draw_transport_fault(&hash)?;
        tokio::time::sleep(Duration::from_millis(self.options.latency)).await;
        let (is_stream, with_usage) = (request.stream, request.stream_usage);
        let document = self.document(api, request, hash).await?;
        let text = if is_stream { stream::events(api, &document, with_usage) } else { document.to_string() };
        Ok(reply::response(text, is_stream, damaged))
    }

    /// Rejects requests that the options exclude.
    fn check(&self, api: Api, request: &StubRequest) -> Result<(), StubError> {
        let tokens = request.tokens();
        if let Some(most) = self.options.context.filter(|&most| tokens > most) {
            return Err(StubError::context(api, tokens, most));
        }
        if self.options.no_schema && request.form.as_ref().is_some_and(|form| !form.is_optional) {
            return Err(StubError::schema());
        }
        Ok(())
    }

    /// Returns the document that answers a request whose body has this hash.
    async fn document(&self, api: Api, request: StubRequest, hash: [u8; 32]) -> Result<Value, StubError> {
        let (moves, options) = (self.moves.clone(), self.options.clone());
        let id = hex::encode(&hash[..12]);
        let _permit = self.threads.acquire().await;
        let search = tokio::task::spawn_blocking(move || {
            let answers = (0..request.n).map(|k| answer::answer(&moves, &options, &request, &hash, k));
            answers.collect::<Result<Vec<_>, _>>().map(|answers| reply::document(api, &request, &answers, &id))
        });
        search.await.map_err(|_| StubError::internal("the agent panicked; see the log"))?
    }

    /// Draws the transport faults for a body. Returns true if the reply's body is to be truncated.
    fn draw_transport_fault(&self, hash: &[u8; 32]) -> Result<bool, StubError> {
        let StubOptions { rate_limit, fail, .. } = self.options;
        let malformed = self.options.body_damage();
        if rate_limit + fail + malformed == 0.0 {
            return Ok(false);
        }
        let mut luck = self.attempt_stream("way", hash);
        if luck.unit() < rate_limit {
            return Err(StubError::rate_limit(self.options.retry_after));
        }
        if luck.unit() < fail {
            return Err(StubError::internal("injected fault (--fail)"));
        }
        Ok(luck.unit() < malformed)
    }

    /// Returns the random stream of this attempt at a request body; each attempt has a different stream.
    fn attempt_stream(&self, purpose: &str, hash: &[u8; 32]) -> Stream {
        let times = {
            let mut attempts = self.attempts.lock();
            let times = attempts.entry(*hash).or_default();
            *times += 1;
            *times
        };
        Stream::from_text(&format!("ludex.v1:stub:{purpose}:{}:{}:{times}", self.options.seed, hex::encode(hash)))
    }
}
