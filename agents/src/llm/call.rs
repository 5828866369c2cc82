//! Model calls of one attempt at a move. A call is looked up in the journal first. A new call is stored there once its
//! reply has been judged.

use ludex_env::dyn_state::DynView;
use ludex_env::recording::canonical;
use ludex_env::{Journal, MoveRequest, Stream};
use ludex_protocol::call::Call;
use ludex_protocol::record::Tokens;
use minijinja::context;
use sha2::{Digest as _, Sha256};

use super::api::{ChatRequest, FINISH_CONTENT_FILTER, FINISH_LENGTH};
use super::batch::ItemOrigin;
use super::endpoint::SendError;
use super::model::Llm;
use super::parse_answer::{self, ParsedAnswer};
use super::position;
use super::prompts::{AnswerKind, Task};
use super::settings::CacheTokens;
use crate::error::AgentError;

/// Model call with its parsed reply.
pub(super) struct ParsedCall {
    pub(super) call: Call,
    pub(super) reading: ParsedAnswer,
}

/// State of one attempt at a move.
pub(super) struct MoveAttempt<'a> {
    pub(super) llm: &'a Llm,
    ask: &'a MoveRequest<'a>,
    view: &'a dyn DynView,
    rng: Stream,
    /// Number of calls made so far, which is the index of the next call.
    pub(super) calls: u64,
    /// Total tokens of all calls.
    pub(super) tokens: Tokens,
    /// Total cost of all calls in USD; `None` if a price is unknown.
    pub(super) usd: Option<f64>,
    /// Running hash over the canonical JSON of all calls.
    sum: Sha256,
}

impl<'a> MoveAttempt<'a> {
    pub(super) fn new(llm: &'a Llm, ask: &'a MoveRequest<'a>, view: &'a dyn DynView) -> Self {
        let rng = ask.stream();
        let sum = Sha256::new();
        MoveAttempt { llm, ask, view, rng, calls: 0, tokens: Tokens::default(), usd: Some(0.0), sum }
    }

    /// Returns the digest of all calls so far: the first 16 bytes of SHA-256 over their canonical JSON, in hex.
    pub(super) fn digest(&self) -> String {
        hex::encode(&self.sum.clone().finalize()[..16])
    }

    /// Makes a call whose reply contains a move.
    pub(super) fn request_move(&mut self, purpose: &str, task: &Task) -> Result<ParsedCall, AgentError> {
        let (ask, view, names) = (self.ask, self.view, self.llm.prompts.names.as_ref());
        let (call, reading) = self.call_or_replay(purpose, task, |call| {
            let reading = parse_answer::read(ask, view, names, &call.answer, call.finish.as_deref());
            (reading.verdict, reading.read.clone(), reading)
        })?;
        Ok(ParsedCall { call, reading })
    }

    /// Makes a call whose reply is free text.
    pub(super) fn request_text(&mut self, purpose: &str, task: &Task) -> Result<String, AgentError> {
        let (call, ()) = self.call_or_replay(purpose, task, |call| {
            let verdict = match call.finish.as_deref() {
                Some(FINISH_CONTENT_FILTER) => "refused",
                _ if call.answer.trim().is_empty() => "empty",
                Some(FINISH_LENGTH) => "truncated",
                _ => "ok",
            };
            (verdict, None, ())
        })?;
        Ok(call.answer.trim().to_owned())
    }

    /// Asks the model for `votes` votes on the candidates. Returns the index of the candidate with the most votes; a
    /// tie goes to the first candidate.
    pub(super) fn request_vote(
        &mut self,
        kind: &str,
        candidates: &[String],
        votes: usize,
    ) -> Result<usize, AgentError> {
        let mut tally = vec![0usize; candidates.len()];
        if candidates.len() > 1 {
            for _ in 0..votes {
                let task = Task {
                    template: "vote.j2",
                    wants: AnswerKind::Words,
                    more: context! { kind, candidates => candidates.to_vec() },
                };
                let (_, chosen) = self.call_or_replay("vote", &task, |call| {
                    let chosen = parse_answer::vote(&call.answer, candidates.len());
                    (if chosen.is_some() { "ok" } else { "unparsed" }, chosen.map(|n| n.to_string()), chosen)
                })?;
                if let Some(n) = chosen {
                    tally[n - 1] += 1;
                }
            }
        }
        Ok(most(&tally))
    }

    /// Requests an emotion, for a reply that does not contain one.
    pub(super) fn emotion(&mut self, answer: &str) -> Result<Option<char>, AgentError> {
        let task = Task { template: "emotion.j2", wants: AnswerKind::Words, more: context! { answer } };
        let (_, letter) = self.call_or_replay("emotion", &task, |call| {
            let letter = parse_answer::emotion(&call.answer);
            (if letter.is_some() { "ok" } else { "unparsed" }, letter.map(String::from), letter)
        })?;
        Ok(letter)
    }

    /// Returns a call from the journal or, if the journal does not contain it, makes the call and stores it. `judge`
    /// returns the verdict on the reply, the text parsed as the move, and the parsed value.
    fn call_or_replay<T>(
        &mut self,
        purpose: &str,
        task: &Task,
        judge: impl FnOnce(&Call) -> (&'static str, Option<String>, T),
    ) -> Result<(Call, T), AgentError> {
        let key = self.key();
        let kept = self.ask.journal().and_then(|journal| journal.find(&key));
        let kept: Option<Call> = kept
            .map(serde_json::from_value)
            .transpose()
            .map_err(|e| AgentError::infrastructure(format!("stored call {key} is invalid: {e}")))?;
        let offline = self.llm.endpoint.offline;
        // In a repeated match, an opponent that is not reproducible may play differently. The stored reply then belongs
        // to the prompt of a different position.
        let kept = match kept {
            Some(call) if self.llm.endpoint.compares == self.asks_the_same(&call, task)? => Some(call),
            // Under another version, prompts should differ. An equal prompt shows that the declared version is wrong.
            Some(_) if offline && !self.llm.endpoint.compares => {
                return Err(AgentError::failed(format!(
                    "the prompt of call {key} has the current wording, but the run declares another prompt version"
                )));
            }
            Some(_) if offline => {
                return Err(AgentError::failed(format!("the prompt of call {key} does not match this position")));
            }
            None if offline => return Err(AgentError::failed(format!("model call {key} is missing from the journal"))),
            _ => None,
        };
        let fresh = kept.is_none();
        let mut call = match kept {
            Some(call) => call,
            None => self.send_call(purpose, task)?,
        };
        let (verdict, read, meaning) = judge(&call);
        if offline && let Some(why) = self.llm.contradiction(&call, purpose, verdict, read.as_deref()) {
            return Err(AgentError::failed(format!("call {key}: {why}")));
        }
        if fresh {
            (call.verdict, call.read) = (verdict.to_owned(), read);
            if let Some(journal) = self.ask.journal() {
                let entry = serde_json::to_value(&call).map_err(|e| AgentError::infrastructure(e.to_string()))?;
                journal
                    .keep(&key, &entry)
                    .map_err(|why| AgentError::infrastructure(format!("cannot store call {key}: {why}")))?;
            }
        }
        let bytes = canonical(&call).map_err(|e| AgentError::infrastructure(format!("call {key}: {e}")))?;
        self.sum.update(bytes);
        self.calls += 1;
        self.tokens.input += call.tokens.input;
        self.tokens.out += call.tokens.out;
        self.usd = self.usd.zip(call.usd).map(|(sum, usd)| sum + usd);
        Ok((call, meaning))
    }

    /// Returns the journal key of the next call.
    fn key(&self) -> String {
        format!("{}.{}.{}", self.ask.turn, self.ask.attempts().len(), self.calls)
    }

    /// Returns true if the prompt of a stored call equals the prompt for this task, with or without a schema.
    fn asks_the_same(&self, call: &Call, task: &Task) -> Result<bool, AgentError> {
        for schema in [true, false] {
            if self.llm.prompts.messages(self.ask, self.view, task, schema)? == call.messages {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Calls the endpoint. Requests JSON if the reply contains a move and the endpoint supports schemas, else text.
    fn send_call(&mut self, purpose: &str, task: &Task) -> Result<Call, AgentError> {
        let llm = self.llm;
        if task.wants == AnswerKind::Words {
            return self.send_request(purpose, task, false).map_err(AgentError::from);
        }
        llm.endpoint.send_in_best_format(|schema| self.send_request(purpose, task, schema))
    }

    fn send_request(&mut self, purpose: &str, task: &Task, schema: bool) -> Result<Call, SendError> {
        let llm = self.llm;
        let messages = llm.prompts.messages(self.ask, self.view, task, schema).map_err(SendError::Agent)?;
        let settings = &llm.endpoint.settings;
        let request = ChatRequest {
            messages: &messages,
            schema: schema.then(|| llm.prompts.schema(task.wants, position::schema(self.ask, self.view))),
            metadata: settings
                .stub
                .then(|| position::metadata(self.ask, self.view, purpose, llm.prompts.names.as_ref())),
            // Samples of one prompt must differ.
            seed: settings.seed.map(|seed| seed.wrapping_add(self.calls)),
            origin: Some(ItemOrigin::new(self.ask.journal().and_then(Journal::shelf), &self.key())),
        };
        let sent = llm.endpoint.send(&request, self.ask.budget().deadline(), &mut self.rng)?;
        Ok(llm.endpoint.entry(purpose, messages, sent))
    }
}

impl Llm {
    /// Describes the first field of a stored call that contradicts the model's spec, the prompt or the reply.
    fn contradiction(&self, call: &Call, purpose: &str, verdict: &str, read: Option<&str>) -> Option<String> {
        let settings = &self.endpoint.settings;
        let differs =
            |what: &str, said: &str, is: &str| (said != is).then(|| format!("expected {what} {is:?}, got {said:?}"));
        let cache = CacheTokens { read: call.cached_tokens, written: call.cache_written_tokens };
        let usd = settings.usd(call.tokens.input, cache, call.tokens.out);
        let price = |usd: Option<f64>| usd.map_or_else(|| "unknown".to_owned(), |usd| usd.to_string());
        differs("purpose", &call.purpose, purpose)
            .or_else(|| differs("model", &call.model, &settings.model))
            .or_else(|| differs("verdict", &call.verdict, verdict))
            .or_else(|| differs("move in the reply", call.read.as_deref().unwrap_or(""), read.unwrap_or("")))
            .or_else(|| differs("price", &price(call.usd), &price(usd)))
    }
}

/// Returns the index of the greatest number, the first in a tie.
pub(super) fn most(tally: &[usize]) -> usize {
    (0..tally.len()).rev().max_by_key(|&k| tally[k]).unwrap_or(0)
}
