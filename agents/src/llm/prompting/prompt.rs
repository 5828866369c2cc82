//! One call for the move alone.

use minijinja::context;

use crate::error::AgentError;
use crate::llm::call::{MoveAttempt, ParsedCall};
use crate::llm::prompts::{Task, Wants};

pub(super) fn choose(asking: &mut MoveAttempt<'_>) -> Result<ParsedCall, AgentError> {
    asking.mv("move", &task())
}

pub(super) fn task() -> Task {
    Task { template: "prompt.j2", wants: Wants::Move, more: context! {} }
}
