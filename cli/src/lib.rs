//! The program `ludex`: each command parses arguments, makes one library call, and prints the result.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "names of rows and fields say it; the crate is used inside the project alone")]

mod commands;

pub use commands::main;
