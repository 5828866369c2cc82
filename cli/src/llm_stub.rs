//! A stand-in for the endpoints of language models: OpenAI's chat completions and Anthropic's messages, by themselves or in
//! batches, answered by an agent of this program, with faults on demand. Tests and rehearsals of an evaluation need no network
//! and no money.
//!
//! Everything random is a function of the request's body and the seed, so a run gets the same answers in any order of its
//! questions. Faults of transport (429, 500, damaged bodies) also depend on how often the same body came, so that a retry
//! succeeds at some point.

mod answer;
mod batch;
mod player;
mod problem;
mod reply;
mod request;

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
use tokio::sync::Notify;

use ludex_server::compute::Compute;
use player::Player;
use problem::Problem;
use request::Request;

/// Greatest body that is read, in bytes.
const BODY: usize = 16 << 20;

/// How a stand-in behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// The agent that chooses moves.
    pub agent: String,
    /// The share of documents that are damaged.
    pub spoil: f64,
    /// Seed of everything random.
    pub seed: u64,
    /// The least time of an answer.
    pub latency: Duration,
    /// About how many tokens an answer has; reasoning fills them.
    pub out_tokens: u32,
    /// Which faults happen, and how often.
    pub faults: Faults,
    /// Seconds that a 429 answer asks the client to wait.
    pub retry_after: u32,
    /// After this many requests it goes down: [`serve`] returns.
    pub down_after: Option<u64>,
    /// Whether it accepts JSON schemas (`response_format`) and forced tools.
    pub schema: bool,
    /// Most tokens of a question.
    pub context: Option<u64>,
    /// The API key that every request must have.
    pub key: Option<String>,
    /// How batches behave.
    pub batches: Batches,
}

/// How batches behave.
#[derive(Clone, Copy, Debug, Default)]
pub struct Batches {
    /// How long a batch takes.
    pub latency: Duration,
    /// Probability that a question of a batch fails with 500.
    pub fail: f64,
    /// Probability that a question of a batch is not answered before the batch expires.
    pub expire: f64,
    /// Most questions that wait in batches; a batch with more fails at once.
    pub most: Option<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            agent: "random".into(),
            spoil: 0.0,
            seed: 0,
            latency: Duration::ZERO,
            out_tokens: 40,
            faults: Faults::default(),
            retry_after: 1,
            down_after: None,
            schema: true,
            context: None,
            key: None,
            batches: Batches::default(),
        }
    }
}

/// Probabilities of faults, for each request. If several happen together, the first in this order counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// 429 with `Retry-After`.
    pub rate_limit: f64,
    /// 500.
    pub fail: f64,
    /// 200 with a body that breaks off.
    pub malformed: f64,
    /// An answer without content.
    pub empty: f64,
    /// A refusal.
    pub refuse: f64,
    /// An answer that is cut off before the move.
    pub truncate: f64,
    /// An answer in words, without a move.
    pub prose: f64,
}

/// Serves `listener` until `shutdown` resolves, or until as many requests were answered as [`Options::down_after`] says.
///
/// # Errors
/// An agent that does not exist, no threads from the system, a listener that fails.
pub async fn serve(
    listener: TcpListener,
    options: Options,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let spec = AgentSpec::parse(&options.agent)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let stub = Arc::new(Stub {
        player: Arc::new(Player::new(spec)),
        compute: Compute::new(threads)?,
        owner: "stub".into(),
        asked: AtomicU64::new(0),
        down: Notify::new(),
        seen: Mutex::default(),
        desk: batch::Desk::default(),
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
        .route("/v1/chat/completions", post(|app, headers, body| asked(Api::OpenAi, app, headers, body)))
        .route("/v1/messages", post(|app, headers, body| asked(Api::Anthropic, app, headers, body)))
        .route("/v1/models", get(models))
        .merge(batch::routes())
        .fallback(|| async { Problem::no_such_page().response(Api::OpenAi) })
        .method_not_allowed_fallback(|| async { Problem::wrong_method().response(Api::OpenAi) })
        .layer(DefaultBodyLimit::max(BODY))
        .with_state(stub)
}

/// Whose API is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Api {
    OpenAi,
    Anthropic,
}

impl Api {
    /// Whose headers these are.
    fn of(headers: &HeaderMap) -> Self {
        let anthropic = headers.contains_key("anthropic-version") || headers.contains_key("x-api-key");
        if anthropic { Api::Anthropic } else { Api::OpenAi }
    }
}

/// A running stand-in.
struct Stub {
    options: Options,
    player: Arc<Player>,
    compute: Compute,
    /// All requests are of one owner: they are answered in their order.
    owner: Arc<str>,
    /// Requests so far.
    asked: AtomicU64,
    /// Notified when it goes down.
    down: Notify,
    /// How often each body came, by its hash; kept only if faults of transport may happen.
    seen: Mutex<HashMap<[u8; 32], u32>>,
    /// Files and batches.
    desk: batch::Desk,
}

type App = State<Arc<Stub>>;

async fn models(State(stub): App, headers: HeaderMap) -> Response {
    if let Err(problem) = stub.admit(&headers) {
        return problem.response(Api::of(&headers));
    }
    // The fields that both APIs have in an entry of the list.
    let model = json!({
        "id": "stub", "object": "model", "created": 0, "owned_by": "ludex",
        "type": "model", "display_name": "ludex llm-stub", "created_at": "1970-01-01T00:00:00Z",
    });
    Json(json!({ "object": "list", "data": [model], "has_more": false })).into_response()
}

async fn asked(api: Api, State(stub): App, headers: HeaderMap, body: Result<Bytes, BytesRejection>) -> Response {
    let number = stub.asked.fetch_add(1, Ordering::Relaxed) + 1;
    let most = stub.options.down_after.unwrap_or(u64::MAX);
    if number > most {
        return Problem::down().response(api);
    }
    let answer = match body {
        Ok(body) => stub.answer(api, &headers, &body).await,
        Err(e) => Err(Problem::bad(e.body_text())),
    };
    if number == most {
        stub.down.notify_one();
    }
    answer.unwrap_or_else(|problem| problem.response(api))
}

impl Stub {
    /// Refuses a request without the key, if one is required.
    fn admit(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let Some(key) = &self.options.key else { return Ok(()) };
        let text = |name: &str| headers.get(name).and_then(|v| v.to_str().ok());
        let bearer =
            text("authorization").and_then(|v| v.split_once(' ')).filter(|v| v.0.eq_ignore_ascii_case("bearer"));
        let shown = bearer.map(|(_, key)| key.trim()).or_else(|| text("x-api-key"));
        if shown == Some(key) { Ok(()) } else { Err(Problem::key(shown.is_some())) }
    }

    async fn answer(&self, api: Api, headers: &HeaderMap, body: &[u8]) -> Result<Response, Problem> {
        self.admit(headers)?;
        let hash: [u8; 32] = Sha256::digest(body).into();
        let request = Request::read(api, body)?;
        self.fits(api, &request)?;
        let damaged = self.way(&hash)?;
        tokio::time::sleep(self.options.latency).await;
        let document = self.document(api, request, hash).await?;
        Ok(if damaged { reply::broken(&document) } else { Json(document).into_response() })
    }

    /// Refuses what the stand-in does not take.
    fn fits(&self, api: Api, request: &Request) -> Result<(), Problem> {
        let tokens = request.tokens();
        if let Some(most) = self.options.context.filter(|&most| tokens > most) {
            return Err(Problem::context(api, tokens, most));
        }
        if !self.options.schema && request.form.is_some() {
            return Err(Problem::schema());
        }
        Ok(())
    }

    /// The document that answers a request whose body has this hash.
    async fn document(&self, api: Api, request: Request, hash: [u8; 32]) -> Result<Value, Problem> {
        let (player, options) = (self.player.clone(), self.options.clone());
        let id = hex::encode(&hash[..12]);
        let said = self.compute.run(&self.owner, move || {
            let answers = (0..request.n).map(|k| answer::answer(&player, &options, &request, &hash, k));
            answers.collect::<Result<Vec<_>, _>>().map(|answers| reply::document(api, &request, &answers, &id))
        });
        said.await.map_err(|_| Problem::internal("the agent panicked; see the log"))?
    }

    /// Draws the faults of transport for a body. The result says whether the answer's body is damaged.
    fn way(&self, hash: &[u8; 32]) -> Result<bool, Problem> {
        let Faults { rate_limit, fail, malformed, .. } = self.options.faults;
        if rate_limit + fail + malformed == 0.0 {
            return Ok(false);
        }
        let mut luck = self.luck("way", hash);
        if luck.unit() < rate_limit {
            return Err(Problem::rate_limit(self.options.retry_after));
        }
        if luck.unit() < fail {
            return Err(Problem::internal("the stand-in fails on purpose (--fail)"));
        }
        Ok(luck.unit() < malformed)
    }

    /// What is random in how a body is treated: another time it is something else.
    fn luck(&self, what: &str, hash: &[u8; 32]) -> Stream {
        let times = {
            let mut seen = self.seen.lock();
            let times = seen.entry(*hash).or_default();
            *times += 1;
            *times
        };
        Stream::from_text(&format!("ludex.v1:stub:{what}:{}:{}:{times}", self.options.seed, hex::encode(hash)))
    }
}
