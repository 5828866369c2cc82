//! One call, whose reply has three parts: situation, reasons and answer.

use minijinja::context;

use crate::error::AgentError;
use crate::llm::call::{MoveAttempt, ParsedCall};
use crate::llm::prompts::{AnswerKind, Task};

pub(super) fn choose(attempt: &mut MoveAttempt<'_>) -> Result<ParsedCall, AgentError> {
    attempt.request_move("move", &task())
}

pub(super) fn task() -> Task {
    Task { template: "parts.j2", wants: AnswerKind::Parts, more: context! {} }
}
