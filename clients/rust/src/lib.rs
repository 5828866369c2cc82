#![doc = include_str!("../README.md")]
//! # Contents
//!
//! - [`Client`] is a connection to a server. If the connection is lost, the client reconnects and repeats all requests
//!   that have no reply yet, with their original ids.
//! - [`play`] and [`Player`] are the match plane: an agent takes seats in matches and receives a request for every move.
//! - [`Env`] is the gym plane: environments that are reset and stepped.
//! - [`protocol`] has all messages with their fields.
//!
//! # Invariants
//!
//! - The client implements no game rules: legal actions, views and results come from the server.
//! - A player calls [`Handler::turn`] at most once per turn and try of a match, and never sends two different acts for
//!   the same turn and try, even if a connection or a session is lost. The only exception is a `resync` that moves the
//!   match back.
//! - Messages from a server never make the client panic. An unknown message is ignored or, if it is a reply, makes the
//!   request fail.
//! - The crate depends on `ludex-protocol`, but on no other crate of Ludex, and on no crate under the GPL.
//!
//! # Environments
//!
//! The following program steps a thousand environments in parallel:
//!
//! ```no_run
//! use ludex_client::protocol::message::{Autoreset, Open};
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
//! let board = batch.observation::<u8>("board")?; // [1000, 2, 6, 7]
//! let legal = env.legal_actions(&batch)?; // [1000, 7]
//! let rewards = batch.rewards()?; // [1000, 2]
//! println!("{:?} {:?} {}", board.shape(), legal.row(0), rewards[[0, 0]]);
//! # Ok(())
//! # }
//! ```
//!
//! Observations, masks and rewards are [`ndarray`] arrays. To view other tensors and columns as arrays, use
//! [`Tensor::view`](protocol::Tensor::view) and [`Column::view_rows`](protocol::Column::view_rows).
//!
//! # Tasks, threads and certificates
//!
//! A [`Client`] can be cloned and used by many tasks and threads; a background task owns the connection. If you drop a
//! future of [`Env::step`], the server may still execute the step: call [`Env::reset`] before the next step. A closed
//! client fails all requests immediately with [`Error::ClientClosed`]. If your program forks, create the client after
//! the `fork`, because tokio runtimes do not survive a fork.
//!
//! For `wss://`, the client trusts the certificates that browsers trust and those of the operating system. The
//! environment variable `SSL_CERT_FILE` can name a file that replaces those of the operating system. To trust other
//! certificates, use [`Options::ca`].
#![forbid(unsafe_code)]

mod client;
mod env;
mod error;
mod handler;
mod metered;
mod options;
mod player;
mod session;
mod tls;
mod transport;
mod wire;

pub use client::{Client, Events, Reply};
pub use env::Env;
pub use error::Error;
pub use handler::{Failure, Handler, MatchResult, TurnReply, TurnRequest};
pub use ludex_protocol as protocol;
pub use ndarray;
pub use options::Options;
pub use player::{Player, evaluate, play};
pub use session::Event;
pub use transport::LocalConnector;
