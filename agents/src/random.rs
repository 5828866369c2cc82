//! Uniformly random play, the reference point of every strength scale.

use ludex_env::{MoveRequest, Stream};
use ludex_protocol::Move;

use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;

/// Agent that plays a uniformly random legal action.
pub struct Random;

/// Variant of [`Random`] that sometimes submits a random document, in games that can generate documents.
pub(crate) struct Speaker {
    /// Probability of submitting a document instead of an action.
    pub(crate) share: f64,
}

impl Agent for Speaker {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let mut rng = ask.stream();
        // The document comes from a sampled state that is consistent with the view.
        let draw = |rng: &mut Stream| ask.view().world(rng).sample(ask.seat, rng);
        let document = if rng.unit() < self.share { draw(&mut rng) } else { None };
        document.map_or_else(|| Random.act(ask), |document| Ok(MoveReply::new(Move::Document(document))))
    }
}

impl Agent for Random {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let at = ask.stream().below(ask.legal.len());
        ask.legal
            .get(at)
            .map(|&a| MoveReply::id(a))
            .ok_or_else(|| AgentError::failed("expected at least one legal action id, got none"))
    }
}
