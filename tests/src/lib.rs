//! Test utilities: a server in the test's process, and a raw client that writes its JSON by hand.
#![forbid(unsafe_code)]

pub mod balancer;
pub mod bot;
pub mod client;
pub mod data;
pub mod process;
pub mod proxy;
pub mod run;
pub mod server;

pub use bot::Bot;
pub use client::Client;
pub use process::Process;
pub use server::Server;

/// Code of the guide for new games, compiled and run as doctests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/adding-a-game.md")]
struct AddingAGame;
