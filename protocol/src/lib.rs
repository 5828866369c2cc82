//! What travels between Ludex and its clients: messages of both planes, game specs, episode records, error codes.
#![forbid(unsafe_code)]

pub mod spec;
