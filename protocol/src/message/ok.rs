//! Answers a request that needs no other answer.

use serde::{Deserialize, Serialize};

use super::FromServer;
use crate::envelope::Message;

/// `ok`: done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OkReply {}

impl Message for OkReply {
    const TYPE: &'static str = "ok";
}

impl FromServer for OkReply {}
