//! One call, which asks for three parts: the situation, the reasons, the answer.

use minijinja::context;

use crate::error::AgentError;
use crate::llm::call::{MoveAttempt, ParsedCall};
use crate::llm::prompts::{Task, Wants};

pub(super) fn choose(asking: &mut MoveAttempt<'_>) -> Result<ParsedCall, AgentError> {
    asking.mv("move", &task())
}

pub(super) fn task() -> Task {
    Task { template: "parts.j2", wants: Wants::Parts, more: context! {} }
}
