//! Clients of a server in the same process, over real sockets.

mod client;
mod fair;
mod gym;
mod join;
mod kit;
mod ladder;
mod matches;
mod operators;
mod secrecy;
mod session;
mod tokens;
