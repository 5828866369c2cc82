//! The Rust client of Ludex, an environment server for games.
//!
//! - [`Client`] is a connection to a server. Requests are numbered and matched with their replies. If the connection is
//!   lost, the client connects again and repeats requests without a reply under their old numbers.
//! - [`play`] and [`Player`] are the match plane: an agent takes seats in matches and receives a request for every move.
//! - [`Env`] is the gym plane: environments that are reset and stepped.
//! - [`protocol`] has the messages with all their fields.
//!
//! # Invariants
//!
//! - The client knows no rules: it takes legal actions, views and results from the server as they are.
//! - A player calls [`Handler::turn`] at most once for each turn and try of a match, and it never sends two different
//!   acts for one, even if a connection or a session is lost. Only a `resync` that moves the match back starts over.
//! - No message of a server makes the client panic. An unknown message is ignored, or fails the request that it replies
//!   to.
//! - The crate depends on `ludex-protocol` and on no other crate of Ludex, and on nothing under the GPL.
//!
//! # Join and play
//!
//! This bot plays twenty matches against an agent of the server:
//!
//! ```no_run
//! use ludex_client::protocol::message::Join;
//! use ludex_client::{Options, TurnReply, TurnRequest, play};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), ludex_client::Error> {
//! let join = Join { against: Some(vec!["anchor level=1".into()]), count: 20, ..Join::new("connect_four") };
//! let options = Options::default().agent("first-legal");
//! let played = play("ws://127.0.0.1:7878", options, join, |request: TurnRequest| async move {
//!     let first = request.legal.iter().next().ok_or("nothing is legal")?;
//!     Ok(TurnReply::action(first))
//! })
//! .await?;
//! let total: f64 = played.iter().filter_map(|played| played.own_return()).sum();
//! println!("{} matches, {total} points", played.len());
//! # Ok(())
//! # }
//! ```
//!
//! # Environments
//!
//! These are a thousand environments that are stepped together:
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
//! Observations, masks and rewards are arrays of [`ndarray`]. [`Tensor::view`](protocol::Tensor::view) views any other
//! tensor, and [`Column::view_rows`](protocol::Column::view_rows) any column.
//!
//! # Tasks, threads and certificates
//!
//! A [`Client`] may be cloned and used by many tasks and threads: a task of its own owns the connection, and each reply goes
//! to its own request. If a future of [`Env::step`] is dropped, the server may make the move all the same: call
//! [`Env::reset`] before the next step. A closed client answers [`Error::ClientClosed`] at once. Create the client after a `fork`: tokio
//! does not survive one, and neither does the connection's task.
//!
//! For `wss://` the client trusts the certificates of the system (or those in the file that `SSL_CERT_FILE` names) and those
//! that browsers trust; [`Options::ca`] names others.
#![forbid(unsafe_code)]

mod client;
mod env;
mod error;
mod handler;
mod options;
mod player;
mod session;
mod tls;
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
