//! The store and the tokens of the server, without a network.

mod auth;
mod store;
