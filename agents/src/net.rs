//! Networks: agents that play by the policy of a neural network in an ONNX file, with or without search.
//!
//! A file describes a function of a batch of N observations. The first axis of every input and output is N.
//!
//! | name | type and shape | content |
//! |---|---|---|
//! | input `obs` | `f32` `[N, *S]` or `[N, len]` | the game's observation array of shape S, converted to floats without scaling; `len` is its size |
//! | output `policy` | `f32` `[N, A]` | logits of all A action ids; the agent ignores illegal ones |
//! | output `value` | `f32` `[N]`, `[N, 1]` or `[N, P]` | expected return, scaled so that -1 and 1 are the bounds of the game's returns; P values begin with the observing seat and continue in seat order |
//! | input `state_K`, output `next_state_K` | `f32` `[N, ...]` | recurrent state, zeros at the start of an episode |
//!
//! A file with one input, or one output, may name it as it likes. `value` is required by `puct` only. One value is
//! enough if the other seats' values follow from it: a game with one seat, a zero-sum game of two, or identical
//! returns.
//!
//! Floating-point results depend on the processor, so replies of networks are not reproducible, and networks are no
//! anchors of ladders and suites.

#[cfg(feature = "onnx")]
mod agent;
#[cfg(feature = "onnx")]
mod cache;
#[cfg(feature = "onnx")]
mod network;
#[cfg(feature = "onnx")]
mod puct;
#[cfg(feature = "onnx")]
mod recurrent;
#[cfg(feature = "onnx")]
pub mod self_play;
#[cfg(feature = "onnx")]
mod shared;
#[cfg(feature = "onnx")]
mod shipped;
#[cfg(feature = "onnx")]
mod tree;

use std::sync::Arc;

use ludex_env::GameRef;
use ludex_protocol::Refusal;

use crate::agent::Agent;
use crate::args::{ArgDef, ArgKind};
use crate::spec::{AgentClass, AgentEntry, AgentSpec};

#[cfg(feature = "onnx")]
pub use network::{ArrayKind, Network, NetworkOutput};

const FILE: ArgDef =
    ArgDef::new("file", ArgKind::Text, "ONNX file of the network, or `ludex:NAME` for one that is part of the program")
        .required();
const VIEW: ArgDef =
    ArgDef::new("view", ArgKind::Text, "array that the network reads: tensor, or info (perfect recall)")
        .default("tensor");
const TEMPERATURE: ArgDef = ArgDef::new(
    "temperature",
    ArgKind::Number { min: 0.0, max: 100.0 },
    "0 plays the preferred action; 1 samples by the probabilities; larger values flatten them",
)
.default("0");

pub(crate) const NET: AgentEntry =
    AgentEntry::new("net", "plays by the policy of a neural network in an ONNX file", build_net)
        .class(AgentClass::Network)
        .args(&[FILE, VIEW, TEMPERATURE]);

pub(crate) const PUCT: AgentEntry = AgentEntry::new(
    "puct",
    "AlphaZero's tree search with the policy and value of a neural network in an ONNX file",
    build_puct,
)
.class(AgentClass::Network)
.args(&[
    ArgDef { name: "net", ..FILE },
    VIEW,
    ArgDef::new("sims", ArgKind::Int { min: 1, max: 1_000_000 }, "simulations per move").default_unless("200", "ms"),
    ArgDef::new("ms", ArgKind::Int { min: 1, max: 86_400_000 }, "milliseconds per move"),
    ArgDef::new("c", ArgKind::Number { min: 0.0, max: 1e6 }, "exploration constant").default("1.25"),
    ArgDef::new("leaves", ArgKind::Int { min: 1, max: 256 }, "positions evaluated at once").default("8"),
    ArgDef::new("worlds", ArgKind::Int { min: 1, max: 10_000 }, "number of sampled states if information is hidden")
        .default("16"),
    ArgDef::new("noise", ArgKind::Number { min: 0.0, max: 1.0 }, "share of Dirichlet noise in the priors of the root")
        .default("0"),
    ArgDef::new(
        "alpha",
        ArgKind::Number { min: 1e-3, max: 1e3 },
        "parameter of the Dirichlet noise [10 / number of legal actions]",
    ),
    TEMPERATURE,
]);

#[cfg(feature = "onnx")]
fn build_net(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    agent::build(spec, game)
}

#[cfg(feature = "onnx")]
fn build_puct(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    puct::build(spec, game)
}

#[cfg(not(feature = "onnx"))]
fn build_net(spec: &AgentSpec, _game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    let message = format!(
        "{}: this program was built without networks; build it with `cargo build --release --features onnx`",
        spec.name()
    );
    Err(crate::refusal::bad_spec(message))
}

#[cfg(not(feature = "onnx"))]
use build_net as build_puct;
