//! Conversation history of a match, read from the calls in the journal.

use ludex_env::{Journal, MoveRequest};
use ludex_protocol::call::{ChatMessage, ChatRole};
use serde::Deserialize;

/// Returns at most `most` earlier prompts of this match with their replies, oldest first.
///
/// Each stored call contains its own conversation, so the last call contains all earlier calls. Nothing is held in
/// memory: a match that is rebuilt from its calls has the same conversation as the original. Without a journal, every
/// conversation is empty.
pub(super) fn before(ask: &MoveRequest<'_>, most: usize) -> Vec<ChatMessage> {
    let Some(journal) = ask.journal() else { return Vec::new() };
    let turns = (0..=ask.turn).rev();
    let of_turn = |turn: u32| {
        let attempts = if turn == ask.turn { ask.attempts().len() } else { usize::MAX };
        last_of(journal, turn, attempts)
    };
    let Some(call) = turns.into_iter().find_map(of_turn) else { return Vec::new() };
    let mut all: Vec<ChatMessage> = call.messages.into_iter().filter(|m| m.role != ChatRole::System).collect();
    // Endpoints reject empty messages.
    let said = if call.answer.trim().is_empty() { "(no answer)".to_owned() } else { call.answer };
    all.push(ChatMessage::new(ChatRole::Assistant, said));
    all.drain(..all.len().saturating_sub(2 * most));
    all
}

/// Fields of a stored call that a conversation uses.
#[derive(Deserialize)]
struct StoredCall {
    messages: Vec<ChatMessage>,
    answer: String,
}

/// Returns the first call of the last stored attempt in a turn. Considers only the first `attempts` attempts.
fn last_of(journal: &dyn Journal, turn: u32, attempts: usize) -> Option<StoredCall> {
    let call = |attempt: usize| journal.recall(&format!("{turn}.{attempt}.0"));
    let last = (0..attempts).map_while(call).last()?;
    serde_json::from_value(last).ok()
}
