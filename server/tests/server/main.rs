//! Tests of tokens and of file permissions, without a network.

mod auth;
#[cfg(unix)]
mod permissions;
