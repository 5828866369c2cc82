//! Chain of thought: one call, for reasoning before the move.

use minijinja::context;

use crate::error::AgentError;
use crate::llm::call::{MoveAttempt, ParsedCall};
use crate::llm::prompts::{Task, Wants};

pub(super) fn choose(asking: &mut MoveAttempt<'_>) -> Result<ParsedCall, AgentError> {
    asking.mv("move", &task(asking.llm.prompts.wording.variant))
}

/// Returns the prompt with one of the opening sentences.
pub(super) fn task(variant: usize) -> Task {
    Task { template: "cot.j2", wants: Wants::Reasoned, more: context! { variant } }
}
