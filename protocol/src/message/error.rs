//! Reply to a refused request or an invalid frame.

use super::{ServerBody, ServerMessage};
use crate::envelope::Message;
use crate::error::Refusal;

impl Message for Refusal {
    const TYPE: &'static str = "error";
}

impl ServerBody for Refusal {}

impl From<Refusal> for ServerMessage {
    fn from(refusal: Refusal) -> Self {
        ServerMessage::Error(Box::new(refusal))
    }
}
