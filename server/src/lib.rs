//! The ludex server.
#![forbid(unsafe_code)]

pub mod auth;
pub mod store;
