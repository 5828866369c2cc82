//! Clients over real sockets, with the server in the same process.

mod access;
mod client;
mod doors;
mod fair;
mod gym;
mod join;
mod kit;
mod ladder;
mod matches;
mod mcp;
mod operators;
mod reload;
mod secrecy;
mod session;
mod specs;
mod tokens;
