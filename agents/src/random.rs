//! The weakest agent, from which every scale of strength starts.

use std::time::Instant;

use ludex_env::Ask;

use crate::agent::{Agent, Answer};
use crate::error::AgentError;

/// Plays a uniformly random legal action.
pub struct Random;

impl Agent for Random {
    fn act(&self, ask: &Ask<'_>, _deadline: Option<Instant>) -> Result<Answer, AgentError> {
        let at = ask.stream().below(ask.legal.len());
        ask.legal
            .get(at)
            .map(|&a| Answer::id(a))
            .ok_or_else(|| AgentError::failed("there is no action id to choose from"))
    }
}
