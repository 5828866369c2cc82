//! A call and its retries. Blocking, as [`Agent::act`](crate::Agent::act) is: a host that plays several matches has a thread
//! for each, so no runtime is needed here.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ludex_env::Stream;
use ludex_protocol::Refusal;

use super::api::{ChatReply, Request};
use super::batch::{BatchClient, ItemResult};
use super::http::{HttpError, HttpResponse, ONE, Outgoing, excerpt};
use super::limiter::EndpointLimiter;
use super::settings::{Format, Settings};
use crate::error::AgentError;

/// The longest `Retry-After` that is honoured. An endpoint that asks for more is treated as unavailable.
const MOST_WAIT: Duration = Duration::from_secs(120);
/// What endpoints say when a prompt does not fit, in small letters.
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

/// An endpoint that is ready to be called.
pub(super) struct Endpoint {
    pub(super) settings: Settings,
    pub(super) gate: Arc<EndpointLimiter>,
    url: String,
    key: Option<String>,
    /// Where questions are gathered, if they are.
    pub(super) batches: Option<BatchClient>,
    /// Whether it is never called: kept calls take the place of new ones.
    pub(super) offline: bool,
    /// Whether kept calls must ask what would be asked now.
    pub(super) compares: bool,
}

/// An answer, and what it took.
pub(super) struct Sent {
    pub(super) reply: ChatReply,
    /// How long the call took that was answered.
    pub(super) ms: u64,
    /// Calls before it that failed.
    pub(super) retries: u64,
}

/// Why a request has no answer.
pub(super) enum Failure {
    /// No answer will come.
    Agent(AgentError),
    /// The endpoint does not take a request with a schema; it may take one without. It is not certain that the schema is the
    /// cause if the endpoint failed instead of refusing.
    Schema { error: AgentError, certain: bool },
}

/// What a single call came to.
enum Outcome {
    Answered(ChatReply),
    /// A later call may succeed; after the given time, if the endpoint names one.
    Later(String, Option<Duration>),
    Never(String),
    /// The same as [`Failure::Schema`].
    SchemaRefused {
        why: String,
        certain: bool,
    },
    /// The deadline passed while the endpoint was thinking.
    Late,
}

impl Endpoint {
    /// The endpoint that the settings name.
    ///
    /// # Errors
    /// The key is missing.
    pub(super) fn new(settings: Settings) -> Result<Self, Refusal> {
        let key = settings.key()?;
        let gate = EndpointLimiter::of(&settings.base_url, &settings.model);
        let url = settings.api.url(&settings.base_url);
        let batches = settings.batch.map(|batching| BatchClient::new(&settings, batching, key.clone()));
        Ok(Endpoint { settings, gate, url, key, batches, offline: false, compares: true })
    }

    /// An endpoint that is never called, and so needs no key.
    pub(super) fn offline(settings: Settings, compares: bool) -> Self {
        let gate = EndpointLimiter::of(&settings.base_url, &settings.model);
        Endpoint { gate, url: String::new(), key: None, batches: None, offline: true, compares, settings }
    }

    /// Asks until there is an answer, a failure that will not pass, or no tries or time left. `rng` spreads the waits, so
    /// that many games do not come back in step.
    pub(super) fn send(
        &self,
        request: &Request<'_>,
        deadline: Option<Instant>,
        rng: &mut Stream,
    ) -> Result<Sent, Failure> {
        let settings = &self.settings;
        let body = settings.api.body(settings, request).to_string();
        let late = || Failure::Agent(AgentError::late(format!("{} did not answer in time", settings.model)));
        let gathered = self.batches.as_ref().zip(request.origin.as_ref());
        let gathered = gathered.map(|(batches, origin)| (batches, batches.question(origin, &body)));
        let mut retries = 0;
        loop {
            // Earlier calls of the same move may have used the time up. That is lateness, not a lack of free calls.
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return Err(late());
            }
            let (begun, outcome) = match &gathered {
                Some((batches, question)) => {
                    (Instant::now(), self.hear(batches.ask(question, &body, deadline), request.schema.is_some()))
                }
                None => {
                    let Some(_pass) = self.gate.enter(settings.concurrency, settings.rpm, deadline) else {
                        let why = "no call was free before the time was up: raise rpm, concurrency or the limit";
                        return Err(self.infra(why));
                    };
                    (Instant::now(), self.call(&body, request.schema.is_some(), deadline))
                }
            };
            let (why, asked) = match outcome {
                Outcome::Answered(reply) => {
                    return Ok(Sent { reply, ms: begun.elapsed().as_millis() as u64, retries });
                }
                Outcome::Late => return Err(late()),
                Outcome::Never(why) => return Err(self.infra(&why)),
                Outcome::SchemaRefused { why, certain } => {
                    return Err(Failure::Schema { error: self.error(&why), certain });
                }
                Outcome::Later(why, asked) => (why, asked),
            };
            if retries >= u64::from(settings.retries) {
                return Err(self.infra(&format!("{why}; given up after {}", times(retries + 1))));
            }
            let wait = asked.unwrap_or_else(|| backoff(retries, rng.unit()));
            if wait > MOST_WAIT {
                return Err(self.infra(&format!("{why}; it asks to wait for {} s", wait.as_secs())));
            }
            if deadline.is_some_and(|deadline| Instant::now() + wait > deadline) {
                return Err(self.infra(&format!("{why}; there is no time for another try")));
            }
            std::thread::sleep(wait);
            retries += 1;
        }
    }

    fn call(&self, body: &str, schema: bool, deadline: Option<Instant>) -> Outcome {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Outcome::Late;
        }
        let limit = left.map_or(self.settings.timeout, |left| left.min(self.settings.timeout));
        let headers = self.settings.api.headers(self.key.as_deref());
        let call = Outgoing { url: &self.url, headers: &headers, body: Some(body.as_bytes()), limit, most: ONE };
        match call.send() {
            Ok(answered) => self.judge(&answered, schema),
            Err(HttpError::Slow) if left.is_some_and(|left| left <= limit) => Outcome::Late,
            Err(HttpError::Slow) => {
                Outcome::Later(format!("it did not answer within {} s (timeout)", limit.as_secs_f64()), None)
            }
            Err(HttpError::Later(why)) => Outcome::Later(why, None),
            Err(HttpError::Never(why)) => Outcome::Never(why),
        }
    }

    /// What the word of a batch means.
    fn hear(&self, word: ItemResult, schema: bool) -> Outcome {
        match word {
            ItemResult::Answer(answered) => self.judge(&answered, schema),
            ItemResult::Later(why, wait) => Outcome::Later(why, wait),
            ItemResult::Never(why) => Outcome::Never(why),
            ItemResult::Late => Outcome::Late,
        }
    }

    /// What an answer of the endpoint means.
    fn judge(&self, answered: &HttpResponse, schema: bool) -> Outcome {
        let HttpResponse { status, wait, to, text } = answered;
        let said = excerpt(text, self.key.as_deref());
        let lower = text.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|w| lower.contains(w));
        match *status {
            200..=299 => {
                let read = serde_json::from_str(text).map_err(|e| e.to_string());
                match read.and_then(|body| self.settings.api.read(&body)) {
                    Ok(reply) => Outcome::Answered(reply),
                    Err(why) => Outcome::Later(format!("its answer cannot be read ({why}): {said}"), None),
                }
            }
            // OpenAI's reasoning models take another name for the limit.
            400 | 422 if lower.contains("max_completion_tokens") => Outcome::Never(format!(
                "it refuses the request ({status}): {said}. \
                 Write extra='{{\"max_completion_tokens\":N}}' in the place of max_tokens"
            )),
            400 | 413 | 422 if says(TOO_LONG) => Outcome::Never(format!(
                "the prompt is too long for the model ({status}): {said}. \
                 Try a model with a larger context, rules=short, or a smaller history"
            )),
            // Some servers fail instead of refusing (llama.cpp's answers 500 to a schema).
            400 | 422 if schema => Outcome::SchemaRefused {
                why: format!("it refuses the request ({status}): {said}. Try format=text"),
                certain: true,
            },
            // Some servers fail where they should refuse (llama.cpp's answers 500 to a schema).
            500 | 501 if schema && self.settings.format == Format::Auto => {
                Outcome::SchemaRefused { why: format!("it answers {status}: {said}"), certain: false }
            }
            401 | 403 => {
                let key = match &self.settings.key_env {
                    Some(name) => format!("the key in {name}"),
                    None => "a request without a key; name the variable that holds one with key_env".to_owned(),
                };
                Outcome::Never(format!("it refuses {key} ({status}): {said}"))
            }
            404 => Outcome::Never(format!(
                "it does not know this page or model (404) at {}: {said}. {} Does it know the model {}?",
                self.url,
                match self.settings.api {
                    super::settings::Api::OpenAi => "base_url should end in /v1 with most servers.",
                    super::settings::Api::Anthropic => "base_url should end before /v1/messages.",
                },
                self.settings.model
            )),
            429 if says(&["insufficient_quota"]) => Outcome::Never(format!("the account has no quota left: {said}")),
            429 => Outcome::Later(
                format!("the rate limit is reached (429; rpm and concurrency keep below it): {said}"),
                *wait,
            ),
            408 | 409 | 500..=599 => Outcome::Later(format!("it answers {status}: {said}"), *wait),
            300..=399 => {
                let to = to.as_deref().unwrap_or("another address");
                Outcome::Never(format!("it redirects ({status}) to {to}: give that address as base_url"))
            }
            _ => Outcome::Never(format!("it refuses the request ({status}): {said}")),
        }
    }

    fn error(&self, why: &str) -> AgentError {
        AgentError::infrastructure(format!("{} at {}: {why}", self.settings.model, self.url))
    }

    fn infra(&self, why: &str) -> Failure {
        Failure::Agent(self.error(why))
    }
}

impl From<Failure> for AgentError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Agent(error) | Failure::Schema { error, .. } => error,
        }
    }
}

/// Half a second, doubled with every retry up to half a minute, of which `unit` (0 to 1) decides the second half.
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
    fn waits_grow_and_are_spread() {
        assert_eq!(backoff(0, 0.0), Duration::from_millis(250));
        assert_eq!(backoff(0, 1.0), Duration::from_millis(500));
        assert_eq!(backoff(3, 1.0), Duration::from_secs(4));
        assert_eq!(backoff(90, 1.0), Duration::from_secs(30));
    }
}
