//! Chain of thought: one call, for reasoning before the move.

use minijinja::context;

use crate::error::AgentError;
use crate::llm::call::{MoveAttempt, ParsedCall};
use crate::llm::prompts::{AnswerKind, Task};

pub(super) fn choose(attempt: &mut MoveAttempt<'_>) -> Result<ParsedCall, AgentError> {
    attempt.request_move("move", &task(attempt.llm.prompts.wording.variant))
}

/// Returns the prompt with one of the opening sentences.
pub(super) fn task(variant: usize) -> Task {
    Task { template: "cot.j2", wants: AnswerKind::Reasoned, more: context! { variant } }
}
