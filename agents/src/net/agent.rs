//! `net`: the policy of a network without search.

use std::sync::Arc;

use ludex_env::{Action, GameRef, MoveRequest, Stream};
use ludex_protocol::Refusal;
use ndarray::{Array2, ArrayView1};

use super::network::Network;
use super::recurrent::StateMemory;
use super::shared::{SharedNetwork, open};
use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::spec::AgentSpec;

pub(super) fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    let network = open(spec, "file", game)?;
    let is_recurrent = !network.network.initial_states().is_empty();
    Ok(Arc::new(NetworkAgent {
        temperature: spec.number("temperature").unwrap_or(0.0),
        memory: is_recurrent.then(StateMemory::new),
        bounds: (game.spec().min_return, game.spec().max_return),
        network,
    }))
}

struct NetworkAgent {
    network: Arc<SharedNetwork>,
    temperature: f64,
    /// States of a recurrent network.
    memory: Option<StateMemory>,
    /// Least and greatest return of the game.
    bounds: (f64, f64),
}

impl Agent for NetworkAgent {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let legal = legal(ask)?;
        let row = observation(&self.network.network, ask);
        let mut is_restarted = false;
        let states = match (&self.memory, ask.past()) {
            (None, _) => Vec::new(),
            (Some(_), None) => {
                return Err(AgentError::failed("net: a recurrent network requires the history of the match"));
            }
            (Some(memory), Some(past)) => memory.previous(ask, past).unwrap_or_else(|| {
                is_restarted = ask.turn > 0;
                self.network.network.initial_states()
            }),
        };
        let mut found = self.network.evaluate(row, states)?;
        let weights = found.probabilities(0, legal);
        let chosen = choose(weights.view(), self.temperature, &mut ask.stream());
        let mut reply = MoveReply::id(legal[chosen]).note("probability", rounded(f64::from(weights[chosen])));
        if let Some(value) = &found.value {
            reply = reply.note("value", rounded(unscaled(f64::from(value[[0, 0]]), self.bounds)));
        }
        if let (Some(memory), Some(past)) = (&self.memory, ask.past()) {
            memory.insert(ask, past, std::mem::take(&mut found.states));
        }
        Ok(if is_restarted { reply.note("state_lost", true) } else { reply })
    }

    fn reproducible(&self) -> bool {
        false
    }

    fn version(&self) -> Option<String> {
        Some(self.network.network.short_digest())
    }

    fn needs_history(&self) -> bool {
        self.memory.is_some()
    }
}

/// Returns the legal actions.
///
/// # Errors
/// Fails where only documents are legal.
pub(super) fn legal<'a>(ask: &MoveRequest<'a>) -> Result<&'a [Action], AgentError> {
    if ask.legal.is_empty() {
        return Err(AgentError::failed("net: expected at least one legal action id, got none"));
    }
    Ok(ask.legal)
}

/// Returns the observation of the seat that is to move, as an array of shape `[1, len]`.
fn observation(network: &Network, ask: &MoveRequest<'_>) -> Array2<f32> {
    // A state that the seat cannot distinguish from the true state has the same arrays.
    let state = ask.view().world(&mut ask.stream());
    let array = network.kind().spec(state.spec()).map_or(0, |array| array.bytes());
    let mut bytes = vec![0; array];
    network.kind().write(&*state, ask.seat, &mut bytes);
    let mut row = Array2::zeros((1, network.observation_len()));
    network.observe(&bytes, row.row_mut(0));
    row
}

/// Returns the index of the greatest weight, the first in a tie, or an index sampled in proportion to
/// `weight^(1 / temperature)`.
pub(super) fn choose(weights: ArrayView1<'_, f32>, temperature: f64, rng: &mut Stream) -> usize {
    let most = weights.iter().copied().fold(0.0, f32::max);
    let favorite = weights.iter().position(|&w| w == most).unwrap_or(0);
    if temperature == 0.0 || most <= 0.0 {
        return favorite;
    }
    let shares: Vec<f64> = weights.iter().map(|&w| f64::from(w / most).powf(temperature.recip())).collect();
    let mut left = rng.unit() * shares.iter().sum::<f64>();
    let sampled = shares.iter().position(|share| {
        left -= share;
        left < 0.0
    });
    sampled.unwrap_or(favorite)
}

/// Converts a value from the scale of networks to returns.
pub(super) fn unscaled(value: f64, (least, greatest): (f64, f64)) -> f64 {
    least + (value + 1.0) / 2.0 * (greatest - least)
}

pub(super) fn rounded(x: f64) -> f64 {
    (x * 1e4).round() / 1e4
}
