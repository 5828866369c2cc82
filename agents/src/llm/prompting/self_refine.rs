//! Self-refinement: a draft, a critique of the draft, and a refined answer.

use minijinja::context;

use crate::error::AgentError;
use crate::llm::call::{MoveAttempt, ParsedCall};
use crate::llm::prompts::{AnswerKind, Task};

/// Returns the refined answer. If only the draft has a legal move, returns the draft.
pub(super) fn choose(attempt: &mut MoveAttempt<'_>) -> Result<ParsedCall, AgentError> {
    let first = attempt.request_move("draft", &draft())?;
    let draft = first.call.answer.trim().to_owned();
    let critique =
        Task { template: "critique.j2", wants: AnswerKind::Words, more: context! { draft => draft.as_str() } };
    let critique = attempt.request_text("critique", &critique)?;
    let refine = Task { template: "refine.j2", wants: AnswerKind::Reasoned, more: context! { draft, critique } };
    let refined = attempt.request_move("refine", &refine)?;
    Ok(if !refined.reading.ok() && first.reading.ok() { first } else { refined })
}

/// Returns the task of the first call.
pub(super) fn draft() -> Task {
    Task { template: "prompt.j2", wants: AnswerKind::Reasoned, more: context! {} }
}
