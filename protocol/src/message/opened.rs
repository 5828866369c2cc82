//! Reply to `open` and `clone`.

use serde::{Deserialize, Serialize};

use super::ServerBody;
use crate::envelope::Message;
use crate::spec::Spec;

/// `opened`: reply to `open` and `clone`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HandleOpened {
    /// Handle of the environments.
    pub env: u32,
    /// Number of environments of the handle.
    pub count: u32,
    /// Spec of the game under its parameters.
    pub spec: Spec,
}

impl Message for HandleOpened {
    const TYPE: &'static str = "opened";
}

impl ServerBody for HandleOpened {}
