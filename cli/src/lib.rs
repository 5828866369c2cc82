//! The program `ludex`: arguments in, one library call, printing out.
#![forbid(unsafe_code)]

mod commands;
pub mod llm_stub;

pub use commands::main;
