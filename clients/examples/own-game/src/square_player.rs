//! Agent that plays `subtract_square` perfectly.

use std::sync::Arc;

use ludex_agents::{Agent, AgentEntry, AgentError, MoveReply, does_not_play};
use ludex_env::{Game as _, MoveRequest};

use crate::subtract_square::{SubtractSquare, View, objects_of, squares};

/// Roster entry of the agent. Agent specs start with the name of the entry.
pub const ENTRY: AgentEntry = AgentEntry::new("square_player", "subtract_square: plays perfectly", |spec, game| {
    let id = &game.spec().game;
    if id != SubtractSquare::INFO.id {
        return Err(does_not_play(spec.name(), id, "it plays a different game", "it plays subtract_square"));
    }
    Ok(Arc::new(SquarePlayer))
});

struct SquarePlayer;

/// Returns a vector indexed by pile size, from 0 to `pile`, that is true for losing sizes. A size is losing for the
/// player to move if no move leaves the opponent a losing size.
pub fn losing_sizes(pile: u32) -> Vec<bool> {
    let mut losing = vec![true; pile as usize + 1];
    for size in 1..=pile {
        losing[size as usize] = (0..squares(size)).all(|a| !losing[(size - objects_of(a)) as usize]);
    }
    losing
}

impl Agent for SquarePlayer {
    /// Takes objects so that the opponent gets a losing size. If no legal move does so, takes one object.
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let view = ask.view();
        let Some(&View { pile, .. }) = view.as_any().downcast_ref() else {
            return Err(AgentError::failed(format!("expected subtract_square, got {}", view.spec().game)));
        };
        let losing = losing_sizes(pile);
        let wins = |a: &&u32| pile.checked_sub(objects_of(**a)).is_some_and(|left| losing[left as usize]);
        let choice = ask.legal.iter().find(wins).or(ask.legal.first());
        choice.map(|&a| MoveReply::id(a)).ok_or_else(|| AgentError::failed("expected a legal action, got none"))
    }
}
