//! The program `ludex`: arguments in, one library call, printing out.
#![forbid(unsafe_code)]

mod commands;
pub mod stub;

pub use commands::main;
