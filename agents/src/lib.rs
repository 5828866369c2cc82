//! Agents: random play, search, solvers, bots for single games, external engines, language models and a person at the
//! terminal.
//!
//! An agent is specified by a string ([`AgentSpec`]). [`build`] creates the agent for a game; [`ask`] and
//! [`Agent::act`] request a move.
//!
//! ```
//! let game = ludex_games::load("connect_four")?;
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
//! All agents guarantee:
//!
//! - An agent receives the view of its seat ([`MoveRequest::view`](ludex_env::MoveRequest::view)), never the full
//!   state. Local and remote agents therefore have the same information. Only `peek=true` grants access to the state,
//!   and only where the host allows it.
//! - A reply is a function of the spec, the agent's key, the turn and the view. State that an agent stores between
//!   requests is a cache. [`Agent::reproducible`] returns false for agents that cannot guarantee this.
//! - [`Agent::act`] returns by its deadline. Only a person may exceed the deadline.
//! - Building an agent starts no program and opens no connection. Programs and connections start on the first move
//!   request.
//! - No output of a program or model causes a panic: every output becomes a move, an illegal move or an error.
//! - An invalid spec, or an agent that does not support the game, is a [`Refusal`](ludex_protocol::Refusal). An agent
//!   that fails to reply is an [`AgentError`].
//!
//! [`Roster`] lists the available agents. Hosts can add agents.

#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "rows and fields have descriptive names; the crate is internal to the project")]

mod agent;
mod args;
pub mod bots;
mod digest;
mod engines;
mod error;
pub mod human;
pub mod llm;
pub mod net;
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

pub use agent::{Agent, AgentPolicy, MoveReply, WrappedAgent, ask, wrap};
pub use args::{ArgDef, ArgKind, ArgValue};
pub use error::{AgentError, ErrorKind};
pub use refusal::does_not_play;
pub use roster::{Roster, build};
pub use spec::{AgentClass, AgentEntry, AgentSpec, Builder, SEED, SearchBudget};
