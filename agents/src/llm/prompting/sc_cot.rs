//! Self-consistency: several chains of thought and a majority vote.

use super::cot;
use crate::error::AgentError;
use crate::llm::call::{MoveAttempt, ParsedCall, most};

/// Samples without a legal move do not vote. Ties go to the first move. If no sample has a move, the last one is
/// returned.
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
