//! Connection of a seat, as its match uses it.

use ludex_env::Seat;
use ludex_protocol::message::{MatchEnd, ServerMessage};
use ludex_protocol::record::{EndReason, Outcome};

use crate::mailbox::{Mailbox, OutgoingFrame};
use crate::sessions::match_handle::MatchHandle;

/// Connection of a seat.
#[derive(Default)]
pub(super) struct Line {
    pub mailbox: Option<Mailbox>,
    pub generation: u64,
    /// Sequence number of the last frame of the seat; `None` before the first frame, and if it is not known yet.
    pub last: Option<u64>,
    /// Sequence number of the last frame that the client acknowledged.
    pub seen: Option<u64>,
    /// Total stall time of the connection's thread at the last check, in milliseconds.
    pub lost: u64,
    /// Messages of the current command.
    pub frames: Vec<OutgoingFrame>,
}

/// Returns the `match_end` with number `seq` for a seat of a match whose log or record is lost.
pub(super) fn failed_end(handle: &MatchHandle, seat: Seat, seq: u64) -> ServerMessage {
    let (match_id, seats) = (handle.entry().match_id.clone(), handle.entry().seats.len());
    ServerMessage::MatchEnd(Box::new(MatchEnd {
        seq,
        seat: Some(seat as u32),
        returns: vec![0.0; seats],
        outcome: vec![Outcome::None; seats],
        reason: EndReason::InfraError,
        at_fault: None,
        rated: false,
        digest: None,
        seed: None,
        salt: None,
        record: format!("/episodes/{match_id}"),
        match_id,
    }))
}
