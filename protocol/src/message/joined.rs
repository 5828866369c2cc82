//! Reply to `join`.

use serde::{Deserialize, Serialize};

use super::ServerBody;
use crate::envelope::Message;

/// `joined`: reply to `join`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Joined {
    /// Id of the new join.
    pub join: String,
}

impl Message for Joined {
    const TYPE: &'static str = "joined";
}

impl ServerBody for Joined {}
