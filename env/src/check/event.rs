//! Events of an episode.

use serde_json::Value;

use super::Fault;
use crate::dyn_state::DynState;
use crate::game::{Action, ParsedMove, Seat};

/// One event: a move or a chance outcome.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Event {
    Chance(Action),
    Move(Seat, Action),
    Together(Vec<Option<ParsedMove>>),
    Document(Seat, Value),
}

impl Event {
    /// Plays the event with checks.
    pub(super) fn play(&self, s: &mut dyn DynState) -> Result<(), Fault> {
        let done = match self {
            Event::Chance(a) => s.play_chance(*a),
            Event::Move(seat, a) => s.play(*seat, *a),
            Event::Together(joint) => s.play_joint(joint),
            Event::Document(seat, document) => s.play_document(*seat, document),
        };
        done.map_err(|refusal| format!("{self:?} was refused: {}", refusal.message))
    }

    /// Plays the event without checks, if the state has an unchecked method for such events.
    pub(super) fn play_unchecked(&self, s: &mut dyn DynState) -> Result<(), Fault> {
        match self {
            Event::Chance(a) | Event::Move(_, a) => s.play_unchecked(*a),
            Event::Together(joint) => s.play_joint_unchecked(joint),
            Event::Document(..) => return self.play(s),
        }
        Ok(())
    }
}
