//! Answers `join`.

use serde::{Deserialize, Serialize};

use super::FromServer;
use crate::envelope::Message;

/// `joined`: answers `join`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Joined {
    /// The join.
    pub join: String,
}

impl Message for Joined {
    const TYPE: &'static str = "joined";
}

impl FromServer for Joined {}
