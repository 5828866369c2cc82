//! Prompting methods: the number of calls per move and their prompts.

mod chat;
mod cot;
mod parts;
mod prompt;
mod sc_cot;
mod self_refine;
mod tot;

use super::call::{MoveAttempt, ParsedCall};
use super::prompts::Task;
use super::settings::{Method, Wording};
use crate::error::AgentError;

/// Runs the prompting method and returns its final call.
pub(super) fn choose(attempt: &mut MoveAttempt<'_>) -> Result<ParsedCall, AgentError> {
    match attempt.llm.prompts.wording.method {
        Method::Prompt => prompt::choose(attempt),
        Method::Cot => cot::choose(attempt),
        Method::ScCot => sc_cot::choose(attempt),
        Method::Tot => tot::choose(attempt),
        Method::SelfRefine => self_refine::choose(attempt),
        Method::Parts => parts::choose(attempt),
        Method::Chat => chat::choose(attempt),
    }
}

/// Returns the task of the first call of a move.
pub(super) fn first(wording: &Wording) -> Task {
    match wording.method {
        Method::Prompt => prompt::task(),
        Method::Cot | Method::ScCot => cot::task(wording.variant),
        Method::Tot => tot::thought(),
        Method::SelfRefine => self_refine::draft(),
        Method::Parts => parts::task(),
        Method::Chat => chat::task(),
    }
}
