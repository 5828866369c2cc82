//! One call for the move alone.

use minijinja::context;

use crate::error::AgentError;
use crate::llm::call::{Asking, Said};
use crate::llm::prompts::{Task, Wants};

pub(super) fn choose(asking: &mut Asking<'_>) -> Result<Said, AgentError> {
    asking.mv("move", &task())
}

pub(super) fn task() -> Task {
    Task { template: "prompt.j2", wants: Wants::Move, more: context! {} }
}
