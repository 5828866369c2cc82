//! Table of a run's language model calls.

use ludex_referee::read::{RejectedRecord, SourcedRecord};
use schemars::JsonSchema;
use serde::Serialize;

use super::{TableRow, collect_rows, document};
use crate::runs::archive::Archive;
use crate::runs::run_files::CallLine;

/// Call of a language model.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CallRow {
    /// name of the run
    pub run: String,
    /// name of the match
    pub episode: String,
    /// index of the seat, from 0
    pub seat: usize,
    /// index of the seat's own turn, from 0
    pub turn: u32,
    /// index of the attempt in the turn, from 0
    pub attempt: u32,
    /// index of the call in the attempt, from 0
    pub step: u32,
    /// purpose: move, sample, vote, critique, ...
    pub purpose: String,
    /// name of the model
    pub model: String,
    /// JSON: messages of the prompt, each with role and content
    pub messages: String,
    /// reasoning before the reply, if the endpoint reports it
    pub reasoning: Option<String>,
    /// text of the reply
    pub answer: String,
    /// reason for the end of the reply: stop, length, ...
    pub finish: Option<String>,
    /// number of input tokens
    pub tokens_in: u64,
    /// input tokens read from the endpoint's cache, if the endpoint reports them
    pub cached_tokens: Option<u64>,
    /// number of output tokens
    pub tokens_out: u64,
    /// output tokens used for reasoning, if the endpoint reports them
    pub reasoning_tokens: Option<u64>,
    /// true if tokens are estimated from the number of characters
    pub estimated: bool,
    /// time from request to reply, milliseconds
    pub ms: u64,
    /// number of failed requests before the successful request
    pub retries: u64,
    /// price in US dollars; absent if unknown
    pub usd: Option<f64>,
    /// verdict on the reply: ok, unparsed, illegal, empty, ...
    pub verdict: String,
    /// move parsed from the reply
    pub read: Option<String>,
}

impl TableRow for CallRow {
    const WHAT: &str = "calls";
    const ABOUT: &str = "One row is one call of a model's endpoint in a finished match.";
}

/// Returns one row for each call of a finished match. Also returns the records that cannot be read.
pub fn calls(run: &Archive, records: &[&SourcedRecord]) -> (Vec<CallRow>, Vec<RejectedRecord>) {
    collect_rows(records, |record, _| run.calls_of(&record.header.episode).iter().map(|line| row(run, line)).collect())
}

fn row(run: &Archive, line: &CallLine) -> Result<CallRow, String> {
    let CallLine { episode, seat, key, call, .. } = line;
    Ok(CallRow {
        run: run.about.run.clone(),
        episode: episode.clone(),
        seat: *seat,
        turn: key.turn,
        attempt: key.attempt,
        step: key.step,
        purpose: call.purpose.clone(),
        model: call.model.clone(),
        messages: document(&call.messages)?,
        reasoning: call.reasoning.clone(),
        answer: call.answer.clone(),
        finish: call.finish.clone(),
        tokens_in: call.tokens.input,
        cached_tokens: call.cached_tokens,
        tokens_out: call.tokens.out,
        reasoning_tokens: call.reasoning_tokens,
        estimated: call.estimated,
        ms: call.ms,
        retries: call.retries,
        usd: call.usd,
        verdict: call.verdict.clone(),
        read: call.read.clone(),
    })
}
