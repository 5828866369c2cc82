//! Chain of thought: one call, whose reply contains reasoning and then the move.

use minijinja::context;

use crate::error::AgentError;
use crate::llm::call::{MoveAttempt, ParsedCall};
use crate::llm::prompts::{AnswerKind, Task};

pub(super) fn choose(attempt: &mut MoveAttempt<'_>) -> Result<ParsedCall, AgentError> {
    attempt.request_move("move", &task(attempt.llm.prompts.wording.variant))
}

/// Returns the task whose prompt has the given variant of the opening sentence.
pub(super) fn task(variant: usize) -> Task {
    Task { template: "cot.j2", wants: AnswerKind::Reasoned, more: context! { variant } }
}
