//! One call, whose reply contains only the move.

use minijinja::context;

use crate::error::AgentError;
use crate::llm::call::{MoveAttempt, ParsedCall};
use crate::llm::prompts::{AnswerKind, Task};

pub(super) fn choose(attempt: &mut MoveAttempt<'_>) -> Result<ParsedCall, AgentError> {
    attempt.request_move("move", &task())
}

pub(super) fn task() -> Task {
    Task { template: "prompt.j2", wants: AnswerKind::Move, more: context! {} }
}
