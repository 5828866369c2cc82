//! The players: a random one, searchers, bots of single games, engines, language models, a person at the terminal.
//!
//! An agent is written as one string everywhere ([`AgentSpec`]), is built for a game ([`build`]) and answers questions
//! ([`Agent::act`]). It sees its seat's view, never a state, so that a remote agent and an in-process one are the same.

#![forbid(unsafe_code)]

mod agent;
mod args;
pub mod bots;
mod engines;
mod error;
mod fit;
pub mod human;
pub mod llm;
pub mod process;
pub mod programs;
pub mod random;
mod reading;
mod roster;
pub mod sandbox;
pub mod search;
pub mod solve;
mod spec;

pub use agent::{Agent, Answer, InProcess, Wrapped, wrap};
pub use args::{ArgDef, ArgKind, ArgValue};
pub use error::{AgentError, ErrorKind};
pub use roster::{Roster, build};
pub use spec::{AgentClass, AgentEntry, AgentSpec, Budget, Builder, SEED};
