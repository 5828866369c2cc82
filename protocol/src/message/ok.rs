//! Reply to requests without a result.

use serde::{Deserialize, Serialize};

use super::ServerBody;
use crate::envelope::Message;

/// `ok`: the request succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OkReply {}

impl Message for OkReply {
    const TYPE: &'static str = "ok";
}

impl ServerBody for OkReply {}
