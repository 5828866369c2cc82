//! The players: a random one, searchers, solvers, bots of single games, engines, language models, a person at the
//! terminal.
//!
//! An agent is written as one string everywhere ([`AgentSpec`]), is built for a game ([`build`]) and answers questions
//! ([`ask`], [`Agent::act`]).
//!
//! ```
//! let game = ludex_env::load("connect_four")?;
//! let spec = ludex_agents::AgentSpec::parse("mcts sims=200 c=1.4")?;
//! let agent = spec.build(&game)?;
//! let mut state = game.start();
//! let answer = ludex_agents::ask(&*agent, &*state, 0, 7)?;
//! let action = answer.action().expect("mcts answers with action ids");
//! state.play(0, action)?;
//! assert_eq!(answer.notes.more["sims"], 200);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What holds for all of them:
//!
//! - An agent sees what its seat sees ([`Ask::view`](ludex_env::Ask::view)), never a state, so a remote agent and one in
//!   this process play alike. Only an agent with `peek=true` looks at the state, and only where the host allows it.
//! - An answer is a function of the spec, the agent's key, the turn and the view. What an agent keeps between questions is
//!   a cache. [`Agent::reproducible`] is false for those that cannot promise this.
//! - A deadline is kept: [`Agent::act`] returns by then. Only a person is not hurried.
//! - Building an agent starts nothing and calls nothing. Programs and endpoints are asked when there is a question.
//! - Whatever a program or a model answers, nothing panics: it is a move, an illegal move or an error.
//! - Specs that are wrong, and agents that do not play a game, are a [`Refusal`](ludex_protocol::Refusal); an agent that
//!   does not answer is an [`AgentError`].
//!
//! [`Roster`] is the list of agents, to which a host adds its own.

#![forbid(unsafe_code)]

mod agent;
mod args;
pub mod bots;
mod digest;
mod engines;
mod error;
pub mod human;
pub mod llm;
mod parse_move;
pub mod process;
pub mod programs;
pub mod random;
mod refusal;
mod remote;
mod roster;
pub mod sandbox;
mod script;
pub mod search;
pub mod solve;
mod spec;
mod typed_access;

pub use agent::{Agent, InProcess, MoveReply, Wrapped, ask, wrap};
pub use args::{ArgDef, ArgKind, ArgValue};
pub use error::{AgentError, ErrorKind};
pub use refusal::does_not_play;
pub use roster::{Roster, build};
pub use spec::{AgentClass, AgentEntry, AgentSpec, Builder, SEED, SearchBudget};
