//! One conversation over a match: what was asked and answered before a question, from the calls that the journal keeps.

use ludex_env::{Journal, MoveRequest};
use serde::Deserialize;

use super::api::{ChatMessage, ChatRole};

/// The questions of this match before `ask` with their answers, the oldest first, at most `most` of them.
///
/// Each kept call holds its own conversation, so the last one tells all before it. Nothing is in memory: a match that is played
/// again from its calls has the same conversation. Without a journal the conversation begins anew with each question.
pub(super) fn before(ask: &MoveRequest<'_>, most: usize) -> Vec<ChatMessage> {
    let Some(journal) = ask.journal() else { return Vec::new() };
    let turns = (0..=ask.turn).rev();
    let of_turn = |turn: u32| {
        let attempts = if turn == ask.turn { ask.attempts().len() } else { usize::MAX };
        last_of(journal, turn, attempts)
    };
    let Some(call) = turns.into_iter().find_map(of_turn) else { return Vec::new() };
    let mut all: Vec<ChatMessage> = call.messages.into_iter().filter(|m| m.role != ChatRole::System).collect();
    // An endpoint does not take an empty message.
    let said = if call.answer.trim().is_empty() { "(no answer)".to_owned() } else { call.answer };
    all.push(ChatMessage::new(ChatRole::Assistant, said));
    all.drain(..all.len().saturating_sub(2 * most));
    all
}

/// What is needed of a kept call.
#[derive(Deserialize)]
struct Said {
    messages: Vec<ChatMessage>,
    answer: String,
}

/// The last call of a turn that asked for the move, among the first `attempts`.
fn last_of(journal: &dyn Journal, turn: u32, attempts: usize) -> Option<Said> {
    let call = |attempt: usize| journal.recall(&format!("{turn}.{attempt}.0"));
    let last = (0..attempts).map_while(call).last()?;
    serde_json::from_value(last).ok()
}
