//! Says which events of a match were seen.

use serde::{Deserialize, Serialize};

use super::FromClient;
use crate::envelope::Message;

/// `ack`: the messages of a match up to here were seen. The server may forget them. It is optional and gets no reply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ack {
    /// The match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// The last `seq` seen.
    pub seq: u64,
}

impl Message for Ack {
    const TYPE: &'static str = "ack";
}

impl FromClient for Ack {
    fn is_request(&self) -> bool {
        false
    }
}
