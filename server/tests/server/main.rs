//! Tests of the server's store and tokens without a network.

mod auth;
#[cfg(unix)]
mod permissions;
mod store;
