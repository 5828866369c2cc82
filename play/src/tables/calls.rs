//! The table of the calls that a run's language models made.

use ludex_referee::read::{RejectedRecord, SourcedRecord};
use schemars::JsonSchema;
use serde::Serialize;

use super::{TableRow, document, gather};
use crate::runs::archive::Archive;
use crate::runs::run_files::CallLine;

/// A call.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CallRow {
    /// name of the run
    pub run: String,
    /// name of the match
    pub episode: String,
    /// seat, from 0
    pub seat: usize,
    /// the seat's own turn, from 0
    pub turn: u32,
    /// attempt of that turn, from 0
    pub attempt: u32,
    /// call of that attempt, from 0
    pub step: u32,
    /// what it was made for: move, sample, vote, critique, ...
    pub purpose: String,
    /// the model
    pub model: String,
    /// JSON: the prompt, role and content of each message
    pub messages: String,
    /// what the model thought before it answered, where its endpoint tells
    pub reasoning: Option<String>,
    /// the answer as it came
    pub answer: String,
    /// why the answer ended: stop, length, ...
    pub finish: Option<String>,
    /// tokens read
    pub tokens_in: u64,
    /// how many of the tokens read came from the endpoint's cache, where it counts them
    pub cached_tokens: Option<u64>,
    /// tokens written
    pub tokens_out: u64,
    /// how many of the tokens written were thoughts, where the endpoint tells
    pub reasoning_tokens: Option<u64>,
    /// whether tokens are a guess from the number of characters
    pub estimated: bool,
    /// time from request to answer, milliseconds
    pub ms: u64,
    /// requests that failed before
    pub retries: u64,
    /// price, US dollars; absent where it is not known
    pub usd: Option<f64>,
    /// what became of the answer: ok, unparsed, illegal, empty, ...
    pub verdict: String,
    /// the move read in it
    pub read: Option<String>,
}

impl TableRow for CallRow {
    const WHAT: &str = "calls";
    const ABOUT: &str = "One row is one call of a model's endpoint, in matches that are over.";
}

/// One row for each call of a match that is over; and the records that cannot be read.
pub fn calls(run: &Archive, records: &[&SourcedRecord]) -> (Vec<CallRow>, Vec<RejectedRecord>) {
    gather(records, |record, _| run.calls_of(&record.header.episode).iter().map(|line| row(run, line)).collect())
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
