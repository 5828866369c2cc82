//! Tests of matches without a network.

mod machine;
mod mirrors;
mod pictures;
mod prompts;
