//! Tree of thoughts, searched breadth first over two steps. Votes select one of several plans, then one of several
//! moves for that plan.

use minijinja::context;

use crate::error::AgentError;
use crate::llm::call::{MoveAttempt, ParsedCall};
use crate::llm::prompts::{AnswerKind, Task};

/// Returns the reply whose move won the vote. Only replies with a legal move are candidates; without candidates,
/// returns the last reply.
pub(super) fn choose(attempt: &mut MoveAttempt<'_>) -> Result<ParsedCall, AgentError> {
    let (width, votes) = (attempt.llm.endpoint.settings.width, attempt.llm.endpoint.settings.votes);
    let mut thoughts = Vec::new();
    for _ in 0..width {
        thoughts.push(attempt.request_text("thought", &thought())?);
    }
    let best = attempt.request_vote("plans", &thoughts, votes)?;
    let mut drafts = Vec::new();
    for _ in 0..width {
        drafts.push(attempt.request_move("draft", &act(&thoughts[best]))?);
    }
    let mut legal: Vec<usize> = (0..drafts.len()).filter(|&k| drafts[k].reading.ok()).collect();
    if legal.is_empty() {
        legal.push(drafts.len() - 1);
    }
    let answers: Vec<String> = legal.iter().map(|&k| drafts[k].call.answer.trim().to_owned()).collect();
    let best = attempt.request_vote("answers", &answers, votes)?;
    Ok(drafts.swap_remove(legal[best]))
}

/// Returns the task of the first step, which requests a plan.
pub(super) fn thought() -> Task {
    Task { template: "thought.j2", wants: AnswerKind::Words, more: context! {} }
}

/// Returns the task of the second step, which requests a move for the plan `thought`.
fn act(thought: &str) -> Task {
    Task { template: "act.j2", wants: AnswerKind::Reasoned, more: context! { thought } }
}
