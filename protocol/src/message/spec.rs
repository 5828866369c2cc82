//! Reply to `describe`.

use serde::{Deserialize, Serialize};

use super::ServerBody;
use crate::envelope::Message;
use crate::spec::Spec;

/// `spec`: reply to `describe`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpecReply {
    /// Spec of the game under its parameters.
    pub spec: Spec,
}

impl Message for SpecReply {
    const TYPE: &'static str = "spec";
}

impl ServerBody for SpecReply {}
