//! Connection of a seat, as its match uses it.

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

/// Returns true if every client of a match has acknowledged the last frame.
pub(super) fn all_have_seen(lines: &[Line], handle: &MatchHandle) -> bool {
    lines.iter().enumerate().filter(|(seat, _)| handle.is_client(*seat)).all(|(_, line)| line.seen >= line.last)
}
