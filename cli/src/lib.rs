//! The program `ludex`: each command parses arguments, makes one library call, and prints the result.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "rows and fields have descriptive names; the crate is internal to the project")]

mod commands;
mod doors;

pub use commands::main;
pub use doors::doors;
