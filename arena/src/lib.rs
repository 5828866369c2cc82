//! The match plane: sessions of clients, the joins and the lobby that seats them, the event loops that run their
//! matches, and the contests in which matches count: runs of suites, standing ladders and seasons.
//!
//! Each match drives a match machine of `ludex-play`. The crate that has the sockets passes decoded messages to
//! [`Hub`](matches::Hub) and sends the frames that a [`Mailbox`](mailbox::Mailbox) receives.
//!
//! ```
//! use std::sync::Arc;
//!
//! use ludex_arena::live::Live;
//! use ludex_arena::mailbox::Mailbox;
//! use ludex_arena::matches::{Hub, HubConfig};
//! use ludex_arena::metrics::Metrics;
//! use ludex_arena::sessions::{ClientInfo, SessionConnection};
//! use ludex_arena::settings::{Humans, PairMode};
//! use ludex_arena::suites::Suites;
//! use ludex_gym::catalogue::Catalogue;
//! use ludex_gym::compute::Compute;
//! use ludex_gym::opponents::Opponents;
//! use ludex_protocol::Encoding;
//! use ludex_store::Store;
//! use tokio::sync::mpsc;
//!
//! # fn main() -> anyhow::Result<()> {
//! # let data = tempfile::tempdir()?;
//! # let data = data.path();
//! # let local = tokio::task::LocalSet::new();
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(local.run_until(async {
//! let config = HubConfig {
//!     limits: Live::default(),
//!     catalogue: Arc::new(Catalogue::new(ludex_games::builtin())),
//!     opponents: Opponents::default().into(),
//!     pairs: PairMode::default(),
//!     humans: Humans::default(),
//!     data: data.to_owned(),
//!     suites: Suites::default(),
//!     consent: None,
//!     run_time: std::time::Duration::from_secs(3_600),
//!     seasons: Live::default(),
//!     ladders: Vec::new(),
//!     urls: Arc::default(),
//! };
//! let (store, compute) = (Store::open(data).await?, Compute::new(1)?);
//! let hub = Hub::new(store.clone(), config, compute, Arc::new(Metrics::new()?), 1).await?;
//! tokio::task::spawn_local(hub.clone().run_matches(0));
//!
//! // A client: its connection sends what the mailbox receives.
//! let session = hub.sessions.create("s_1".to_owned(), ClientInfo { agent: "ann".to_owned(), ..Default::default() });
//! let ((mail, mut received), (control, _control)) = (mpsc::channel(64), mpsc::unbounded_channel());
//! let (mailbox, generation) = (Mailbox::new(mail, Encoding::Json), hub.sessions.generation());
//! session.hold("k_1", SessionConnection { control, mailbox, generation, token: None });
//!
//! let join = serde_json::from_str(r#"{"game": "tic_tac_toe", "against": ["random"]}"#)?;
//! hub.join(&session, 1, join).await;
//! assert!(format!("{:?}", received.recv().await).contains("joined"));
//! assert!(format!("{:?}", received.recv().await).contains("match_start"));
//! assert_eq!(hub.live_matches(), 1);
//! # hub.settle().await;
//! # store.close().await?;
//! # Ok(())
//! # }))
//! # }
//! ```
//!
//! Invariants:
//! - The crate opens no socket and contains no game rules.
//! - Every output of a rated match is durable before it is delivered.
//! - Hidden information of a match stays hidden until every match with its seed has ended.
//! - Each match has one event loop.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "rows and fields have descriptive names; the crate is internal to the project")]

pub mod cells;
mod clock;
pub mod consent;
pub mod frame;
pub mod invited_run;
pub mod live;
pub mod mailbox;
pub mod matches;
pub mod metrics;
pub mod runs;
mod season_audit;
pub mod season_bundle;
pub mod seasons;
pub mod sessions;
pub mod settings;
pub mod stall_monitor;
pub mod standing_ladders;
pub mod suites;
