//! The Rust client of Ludex, an environment server for games.
//!
//! [`Client`] is a connection that survives being cut: requests are numbered, matched with their replies, and sent again
//! under the same numbers when the connection comes back. [`Env`] is the gym plane: environments that are reset and
//! stepped. [`play`] and [`Player`] are the match plane: one agent on one seat, asked whenever it is to move. The
//! messages themselves, with all their fields, are [`protocol`].
//!
//! A bot that plays twenty matches against a server's own agent:
//!
//! ```no_run
//! use ludex_client::protocol::client::Join;
//! use ludex_client::{Answer, Ask, Options, play};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), ludex_client::Error> {
//! let join = Join { against: Some(vec!["anchor level=1".into()]), count: 20, ..Join::new("connect_four") };
//! let options = Options::default().agent("first-legal");
//! let played = play("ws://127.0.0.1:7878", options, join, |ask: Ask| async move {
//!     let first = ask.legal.iter().next().ok_or("nothing is legal")?;
//!     Ok(Answer::action(first))
//! })
//! .await?;
//! let total: f64 = played.iter().filter_map(|played| played.own_return()).sum();
//! println!("{} matches, {total} points", played.len());
//! # Ok(())
//! # }
//! ```
//!
//! A thousand environments, stepped together:
//!
//! ```no_run
//! use ludex_client::protocol::client::{Autoreset, Open};
//! use ludex_client::{Client, Options};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), ludex_client::Error> {
//! let (client, _) = Client::connect("ws://127.0.0.1:7878", Options::default()).await?;
//! let open = Open { count: 1_000, autoreset: Autoreset::SameStep, ..Open::new("connect_four") };
//! let env = client.open(open).await?;
//! let mut batch = env.reset(Some(7)).await?;
//! for column in 0..7 {
//!     batch = env.step(&[column; 1_000]).await?;
//! }
//! println!("{:?}", batch.reward.get(0));
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod client;
mod env;
mod error;
mod handler;
mod options;
mod player;
mod session;
mod wire;

pub use client::{Client, Events, Reply};
pub use env::Env;
pub use error::Error;
pub use handler::{Answer, Ask, Failure, Handler, Played};
pub use ludex_protocol as protocol;
pub use options::Options;
pub use player::{Player, play};
pub use session::Event;
