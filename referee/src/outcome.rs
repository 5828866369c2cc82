//! Who won: the outcome of each seat from the returns.

pub use ludex_env::history::{is_forfeit, outcomes};
