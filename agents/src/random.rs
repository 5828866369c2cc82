//! The weakest agent, from which every scale of strength starts.

use std::time::Instant;

use ludex_env::{MoveRequest, Stream};
use ludex_protocol::Move;

use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;

/// Plays a uniformly random legal action.
pub struct Random;

/// As [`Random`], but says a document now and then, in games that draw some.
pub(crate) struct Speaker {
    /// How often.
    pub(crate) share: f64,
}

impl Agent for Speaker {
    fn act(&self, ask: &MoveRequest<'_>, deadline: Option<Instant>) -> Result<MoveReply, AgentError> {
        let mut rng = ask.stream();
        // The game draws in a world that the seat cannot tell from the true one.
        let draw = |rng: &mut Stream| ask.view().world(rng).sample(ask.seat, rng);
        let document = if rng.unit() < self.share { draw(&mut rng) } else { None };
        document.map_or_else(|| Random.act(ask, deadline), |document| Ok(MoveReply::new(Move::Document(document))))
    }
}

impl Agent for Random {
    fn act(&self, ask: &MoveRequest<'_>, _deadline: Option<Instant>) -> Result<MoveReply, AgentError> {
        let at = ask.stream().below(ask.legal.len());
        ask.legal
            .get(at)
            .map(|&a| MoveReply::id(a))
            .ok_or_else(|| AgentError::failed("there is no action id to choose from"))
    }
}
