//! Endpoint calls with retries. Calls block, like [`Agent::act`](crate::Agent::act): hosts have a thread for each
//! match, so no async runtime is needed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ludex_env::Stream;
use ludex_protocol::Refusal;
use ludex_protocol::call::{Call, ChatMessage};
use ludex_protocol::record::Tokens;

use super::api::{ChatReply, ChatRequest, estimate};
use super::batch::{BatchClient, ItemResult};
use super::http::{HttpError, HttpRequest, HttpResponse, MAX_REPLY_BYTES, excerpt};
use super::limiter::EndpointLimiter;
use super::parse_answer;
use super::settings::{AnswerFormat, Api, Settings};
use crate::error::AgentError;

/// Maximum `Retry-After` delay. An endpoint that requests a longer delay counts as unavailable.
const MOST_WAIT: Duration = Duration::from_secs(120);
/// Lower-case parts of the messages with which endpoints report that a prompt is too long.
const TOO_LONG: &[&str] = &[
    "context length",
    "context_length",
    "context window",
    "context size",
    "maximum context",
    "too long",
    "too many tokens",
    "too large",
    "maximum number of tokens",
    "exceeds the maximum",
];

/// Model endpoint with its settings and limits.
pub(super) struct Endpoint {
    pub(super) settings: Settings,
    pub(super) limiter: Arc<EndpointLimiter>,
    url: String,
    key: Option<String>,
    /// Client of the batch interface, if calls are batched.
    pub(super) batches: Option<BatchClient>,
    /// True if replies come from stored calls only, and the endpoint is never called.
    pub(super) offline: bool,
    /// True if the prompts of stored calls must equal the prompts rendered now.
    pub(super) compares: bool,
}

/// Reply, with the duration of its call and the number of failed calls before it.
pub(super) struct EndpointReply {
    pub(super) reply: ChatReply,
    /// Duration of the successful call in milliseconds.
    pub(super) ms: u64,
    /// Number of failed calls before the successful one.
    pub(super) retries: u64,
}

/// Failure of a request after all retries.
pub(super) enum SendError {
    /// Failure that a retry cannot fix.
    Agent(AgentError),
    /// Failure of a request with a JSON schema; the request may succeed without the schema. `certain` is false if the
    /// endpoint returned a server error instead of a refusal.
    Schema { error: AgentError, certain: bool },
}

/// Outcome of a single call.
enum Outcome {
    Answered(ChatReply),
    /// Retryable failure, with the retry delay if the endpoint requested one.
    Later(String, Option<Duration>),
    Never(String),
    /// Refusal of the JSON schema, as in [`SendError::Schema`].
    SchemaRefused {
        why: String,
        certain: bool,
    },
    /// Deadline reached during the call.
    Late,
}

impl Endpoint {
    /// Creates an endpoint from its settings.
    ///
    /// # Errors
    /// A missing API key.
    pub(super) fn new(settings: Settings) -> Result<Self, Refusal> {
        let key = settings.key()?;
        let limiter = EndpointLimiter::of(&settings.base_url, &settings.model);
        let url = settings.api.url(&settings.base_url);
        let batches = settings.batch.map(|batching| BatchClient::new(&settings, batching, key.clone()));
        Ok(Endpoint { settings, limiter, url, key, batches, offline: false, compares: true })
    }

    /// Creates an endpoint that is never called and needs no key.
    pub(super) fn offline(settings: Settings, compares: bool) -> Self {
        let limiter = EndpointLimiter::of(&settings.base_url, &settings.model);
        Endpoint { limiter, url: String::new(), key: None, batches: None, offline: true, compares, settings }
    }

    /// Calls the endpoint until it replies, a permanent failure occurs, the retries are used up or the deadline is
    /// reached. `rng` adds jitter to the retry delays.
    pub(super) fn send(
        &self,
        request: &ChatRequest<'_>,
        deadline: Option<Instant>,
        rng: &mut Stream,
    ) -> Result<EndpointReply, SendError> {
        let settings = &self.settings;
        let body = settings.api.body(settings, request).to_string();
        let late = || SendError::Agent(AgentError::late(format!("{} missed the deadline", settings.model)));
        let batched = self.batches.as_ref().zip(request.origin.as_ref());
        let batched = batched.map(|(batches, origin)| (batches, batches.item(origin, &body)));
        let mut retries = 0;
        loop {
            // Earlier calls of the same move may have used up the time. That is a missed deadline, not a rate limit.
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return Err(late());
            }
            let (begun, outcome) = match &batched {
                Some((batches, item)) => (
                    Instant::now(),
                    self.outcome_of_item(batches.request(item, &body, deadline), request.schema.is_some()),
                ),
                None => {
                    let Some(_pass) = self.limiter.acquire(settings.concurrency, settings.rpm, deadline) else {
                        let why = "rpm and concurrency allow no call before the deadline; raise them or the time limit";
                        return Err(self.infra(why));
                    };
                    (Instant::now(), self.call(&body, request.schema.is_some(), deadline))
                }
            };
            let (why, asked) = match outcome {
                Outcome::Answered(reply) => {
                    return Ok(EndpointReply { reply, ms: begun.elapsed().as_millis() as u64, retries });
                }
                Outcome::Late => return Err(late()),
                Outcome::Never(why) => return Err(self.infra(&why)),
                Outcome::SchemaRefused { why, certain } => {
                    return Err(SendError::Schema { error: self.error(&why), certain });
                }
                Outcome::Later(why, asked) => (why, asked),
            };
            if retries >= u64::from(settings.retries) {
                return Err(self.infra(&format!("{why}; given up after {}", times(retries + 1))));
            }
            let wait = asked.unwrap_or_else(|| backoff(retries, rng.unit()));
            if wait > MOST_WAIT {
                let (most, got) = (MOST_WAIT.as_secs(), wait.as_secs());
                return Err(self.infra(&format!("{why}; expected a retry delay of at most {most} s, got {got} s")));
            }
            if deadline.is_some_and(|deadline| Instant::now() + wait > deadline) {
                return Err(self.infra(&format!("{why}; the deadline leaves no time for a retry")));
            }
            std::thread::sleep(wait);
            retries += 1;
        }
    }

    /// Returns true if thinking is enabled with Anthropic's API, which then does not allow a forced tool call.
    pub(super) fn thinks_with_tools(&self) -> bool {
        self.settings.api == Api::Anthropic && self.settings.effort.is_some()
    }

    /// Sends a request for JSON (true) if the endpoint may support schemas. Otherwise, or if the endpoint refuses the
    /// schema, sends a request for text (false).
    pub(super) fn send_in_best_format<T>(
        &self,
        mut send: impl FnMut(bool) -> Result<T, SendError>,
    ) -> Result<T, AgentError> {
        let schema = match self.settings.format {
            AnswerFormat::Schema => true,
            AnswerFormat::Auto => !self.thinks_with_tools() && !self.limiter.text_only(),
            AnswerFormat::Text => false,
        };
        match send(schema) {
            Err(SendError::Schema { certain, .. }) if self.settings.format == AnswerFormat::Auto => {
                let sent = send(false)?;
                // The success without a schema confirms the schema as the cause.
                self.limiter.schema_refused(certain);
                Ok(sent)
            }
            other => other.map_err(AgentError::from),
        }
    }

    /// Creates the stored form of a call whose reply has not been judged yet.
    pub(super) fn entry(&self, purpose: &str, messages: Vec<ChatMessage>, sent: EndpointReply) -> Call {
        let settings = &self.settings;
        let EndpointReply { reply, ms, retries } = sent;
        let counted = || {
            let said: usize = messages.iter().map(|m| m.content.chars().count()).sum();
            [estimate(said), estimate(reply.answer.chars().count())]
        };
        let [input, out] = reply.tokens.unwrap_or_else(counted);
        let reasoning = reply.reasoning.or_else(|| parse_answer::thoughts(&reply.answer).map(str::to_owned));
        Call {
            purpose: purpose.to_owned(),
            model: settings.model.clone(),
            estimated: reply.tokens.is_none(),
            messages,
            answer: reply.answer,
            reasoning,
            reasoning_tokens: reply.reasoning_tokens,
            cached_tokens: reply.cache.read,
            cache_written_tokens: reply.cache.written,
            finish: reply.finish,
            tokens: Tokens { input, out },
            ms,
            retries,
            usd: settings.usd(input, reply.cache, out),
            ..Call::default()
        }
    }

    fn call(&self, body: &str, schema: bool, deadline: Option<Instant>) -> Outcome {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Outcome::Late;
        }
        let limit = left.map_or(self.settings.timeout, |left| left.min(self.settings.timeout));
        let headers = self.settings.api.headers(self.key.as_deref());
        let call = HttpRequest {
            url: &self.url,
            headers: &headers,
            body: Some(body.as_bytes()),
            limit,
            most: MAX_REPLY_BYTES,
        };
        match call.send() {
            Ok(answered) => self.outcome_of_response(&answered, schema),
            Err(HttpError::Slow) if left.is_some_and(|left| left <= limit) => Outcome::Late,
            Err(HttpError::Slow) => {
                Outcome::Later(format!("no reply within {} s (timeout)", limit.as_secs_f64()), None)
            }
            Err(HttpError::Later(why)) => Outcome::Later(why, None),
            Err(HttpError::Never(why)) => Outcome::Never(why),
        }
    }

    /// Converts the result of a batched request to an outcome.
    fn outcome_of_item(&self, result: ItemResult, schema: bool) -> Outcome {
        match result {
            ItemResult::Answer(answered) => self.outcome_of_response(&answered, schema),
            ItemResult::Later(why, wait) => Outcome::Later(why, wait),
            ItemResult::Never(why) => Outcome::Never(why),
            ItemResult::Late => Outcome::Late,
        }
    }

    /// Converts an HTTP response to an outcome.
    fn outcome_of_response(&self, answered: &HttpResponse, schema: bool) -> Outcome {
        let HttpResponse { status, wait, to, text } = answered;
        let said = excerpt(text, self.key.as_deref());
        let lower = text.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|w| lower.contains(w));
        match *status {
            200..=299 => {
                let read = serde_json::from_str(text).map_err(|e| e.to_string());
                match read.and_then(|body| self.settings.api.read(&body)) {
                    Ok(reply) => Outcome::Answered(reply),
                    Err(why) => Outcome::Later(format!("invalid reply ({why}): {said}"), None),
                }
            }
            // OpenAI's reasoning models use a different name for this limit.
            400 | 422 if lower.contains("max_completion_tokens") => Outcome::Never(format!(
                "the request is refused ({status}): {said}. \
                 Write extra='{{\"max_completion_tokens\":N}}' instead of max_tokens"
            )),
            400 | 413 | 422 if says(TOO_LONG) => Outcome::Never(format!(
                "the prompt is too long for the model ({status}): {said}. \
                 Try a model with a larger context, rules=short, or a smaller history"
            )),
            // Some servers return an error code instead of a refusal (llama.cpp returns 500 for a schema).
            400 | 422 if schema => Outcome::SchemaRefused {
                why: format!("the request is refused ({status}): {said}. Try format=text"),
                certain: true,
            },
            // Some servers return an error code instead of a refusal (llama.cpp returns 500 for a schema).
            500 | 501 if schema && self.settings.format == AnswerFormat::Auto => {
                Outcome::SchemaRefused { why: format!("HTTP status {status}: {said}"), certain: false }
            }
            401 | 403 => {
                let key = match &self.settings.key_env {
                    Some(name) => format!("the key in {name}"),
                    None => "a request without a key (set key_env to the environment variable with the key)".to_owned(),
                };
                Outcome::Never(format!("the endpoint refuses {key} ({status}): {said}"))
            }
            404 => Outcome::Never(format!(
                "not found (404) at {}: {said}. {} Is the model name {} correct?",
                self.url,
                match self.settings.api {
                    Api::OpenAi => "base_url should end in /v1 with most servers.",
                    Api::Anthropic => "base_url should end before /v1/messages.",
                },
                self.settings.model
            )),
            429 if says(&["insufficient_quota"]) => Outcome::Never(format!("the account has no quota left: {said}")),
            429 => Outcome::Later(format!("rate limit reached (429); lower rpm or concurrency: {said}"), *wait),
            408 | 409 | 500..=599 => Outcome::Later(format!("HTTP status {status}: {said}"), *wait),
            300..=399 => {
                let to = to.as_deref().unwrap_or("another address");
                Outcome::Never(format!("redirect ({status}) to {to}: set base_url to that address"))
            }
            _ => Outcome::Never(format!("the request is refused ({status}): {said}")),
        }
    }

    fn error(&self, why: &str) -> AgentError {
        AgentError::infrastructure(format!("{} at {}: {why}", self.settings.model, self.url))
    }

    fn infra(&self, why: &str) -> SendError {
        SendError::Agent(self.error(why))
    }
}

impl From<SendError> for AgentError {
    fn from(failure: SendError) -> Self {
        match failure {
            SendError::Agent(error) | SendError::Schema { error, .. } => error,
        }
    }
}

/// Returns the delay before the next retry. The maximum delay is 0.5 s at first, and doubles with every retry up to 30
/// s. `unit`, from 0 to 1, adds jitter: the delay is half the maximum at 0 and the maximum at 1.
fn backoff(retries: u64, unit: f64) -> Duration {
    let most = (0.5 * 2f64.powi(retries.min(6) as i32)).min(30.0);
    Duration::from_secs_f64(most * (0.5 + unit / 2.0))
}

fn times(n: u64) -> String {
    if n == 1 { "one try".to_owned() } else { format!("{n} tries") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_delays_grow_with_jitter() {
        assert_eq!(backoff(0, 0.0), Duration::from_millis(250));
        assert_eq!(backoff(0, 1.0), Duration::from_millis(500));
        assert_eq!(backoff(3, 1.0), Duration::from_secs(4));
        assert_eq!(backoff(90, 1.0), Duration::from_secs(30));
    }
}
