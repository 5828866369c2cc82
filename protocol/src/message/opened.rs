//! Answers `open` and `clone`.

use serde::{Deserialize, Serialize};

use super::FromServer;
use crate::envelope::Message;
use crate::spec::Spec;

/// `opened`: answers `open` and `clone`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HandleOpened {
    /// The handle.
    pub env: u32,
    /// How many environments it holds.
    pub count: u32,
    /// The game's spec.
    pub spec: Spec,
}

impl Message for HandleOpened {
    const TYPE: &'static str = "opened";
}

impl FromServer for HandleOpened {}
