//! Matches without a network.

mod machine;
mod mirrors;
mod pictures;
