//! Self-consistency: a majority vote over several chains of thought.

use super::cot;
use crate::error::AgentError;
use crate::llm::call::{MoveAttempt, ParsedCall, most};

/// Samples replies, and returns one with the most frequent legal move. The earliest move wins a tie. If no reply has a
/// legal move, returns the last reply.
pub(super) fn choose(attempt: &mut MoveAttempt<'_>) -> Result<ParsedCall, AgentError> {
    let task = cot::task(attempt.llm.prompts.wording.variant);
    let mut samples = vec![attempt.request_move("sample", &task)?];
    while samples.len() < attempt.llm.endpoint.settings.n {
        samples.push(attempt.request_move("sample", &task)?);
    }
    let agree = |s: &ParsedCall| {
        let same = |other: &&ParsedCall| other.reading.mv == s.reading.mv;
        if s.reading.ok() { samples.iter().filter(same).count() } else { 0 }
    };
    let votes: Vec<usize> = samples.iter().map(agree).collect();
    let winner = if votes.iter().all(|&v| v == 0) { samples.len() - 1 } else { most(&votes) };
    Ok(samples.swap_remove(winner))
}
