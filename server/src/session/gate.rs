//! Checks of each frame: decoding, rate limit, request window, idempotent repeats, scopes, limits and shutdown.

use std::sync::Arc;

use ludex_protocol::error::{Close, close};
use ludex_protocol::message::Ack;
use ludex_protocol::{ClientMessage, DecodeError, Encoding, ErrorCode, Id, Refusal};
use tokio_tungstenite::tungstenite::Message;

use crate::auth::Scopes;
use crate::limits::Bucket;
use crate::server_state::ServerState;
use ludex_arena::frame::WireFrame;
use ludex_arena::sessions::reply_cache::{Admission, Replies, RequestFingerprint};

/// The connection is closed after this many consecutive frames that cannot be decoded.
const GARBAGE: u32 = 100;

/// Action to take for a frame.
pub(super) enum Passed {
    Request(Id, RequestFingerprint, ClientMessage),
    /// Record an acknowledgment of match frames.
    Seen(Ack),
    /// Send the cached reply of a completed request.
    Again(WireFrame),
    /// Refuse the request as forbidden, and cache the refusal.
    Forbidden(Id, RequestFingerprint, Box<Refusal>),
    /// Refuse the request without caching the refusal, so that the client may repeat the request.
    Refused(Option<Id>, Box<Refusal>),
    Nothing,
    Close(Close),
}

/// Decoded frame, or the decoding error.
pub(super) type DecodedFrame = Result<(Option<Id>, ClientMessage), DecodeError>;

/// Frame size in bytes above which a frame is decoded in the compute pool, since decoding may take milliseconds.
const LARGE: usize = 64 << 10;

/// Decodes a large frame in the compute pool, so that the connection's thread can serve other connections meanwhile.
/// Returns `None` for other frames.
pub(super) fn read_large(
    message: &Message,
    encoding: Encoding,
    owner: &Arc<str>,
    shared: &ServerState,
) -> Option<impl Future<Output = Option<DecodedFrame>> + use<>> {
    if message.len() <= LARGE || payload(message, encoding).is_none() {
        return None;
    }
    let (message, limits) = (message.clone(), shared.limits.clone());
    let read = move || payload(&message, encoding).map(|bytes| encoding.read_client(bytes, &limits));
    let (compute, owner) = (shared.gym.compute.clone(), owner.clone());
    Some(async move { compute.run(&owner, read).await.ok().flatten() })
}

/// Request checks of one connection.
pub(super) struct RequestGate {
    /// Scopes of the client.
    pub scopes: Scopes,
    /// Request budget of the client's address; `None` without a rate limit.
    bucket: Option<Arc<Bucket>>,
    /// Number of consecutive undecodable frames.
    garbage: u32,
    /// Number of consecutive requests above the rate limit.
    limited: u32,
    /// True once the client has sent a message.
    pub heard: bool,
}

impl RequestGate {
    pub fn new(scopes: Scopes, bucket: Option<Arc<Bucket>>) -> Self {
        RequestGate { scopes, bucket, garbage: 0, limited: 0, heard: false }
    }

    /// Returns the action for a frame. Large frames must be decoded beforehand.
    pub fn pass(
        &mut self,
        message: &Message,
        read: Option<DecodedFrame>,
        encoding: Encoding,
        replies: &mut Replies,
        shared: &ServerState,
    ) -> Passed {
        let bytes = match message {
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) | Message::Close(_) => return Passed::Nothing,
            Message::Text(_) | Message::Binary(_) => payload(message, encoding),
        };
        let Some(bytes) = bytes else { return Passed::Close(close::UNSUPPORTED) };
        let read = read.unwrap_or_else(|| encoding.read_client(bytes, &shared.limits));
        let (id, message) = match self.judge(read) {
            Ok(read) => read,
            Err(passed) => return *passed,
        };
        if let Some(wait) = self.bucket.as_ref().and_then(|bucket| bucket.take()) {
            return self.too_fast(id, wait, replies, shared);
        }
        self.limited = 0;
        match (id, message) {
            // An `ack` gets no reply, even with an id.
            (_, ClientMessage::Ack(ack)) if self.may(Scopes::PLAY) => Passed::Seen(ack),
            (_, ClientMessage::Pong(_) | ClientMessage::Ack(_)) | (None, _) => Passed::Nothing,
            (Some(id), message) => {
                let asked = RequestFingerprint::new(encoding, &message, bytes);
                self.admit(id, asked, message, replies, shared)
            }
        }
    }

    fn judge(&mut self, read: DecodedFrame) -> Result<(Option<Id>, ClientMessage), Box<Passed>> {
        let read = read.map_err(|rejected| {
            let too_long = rejected.error.code == ErrorCode::TooLarge;
            self.garbage += u32::from(rejected.id.is_none() && !too_long);
            Box::new(match self.garbage > GARBAGE {
                true => Passed::Close(close::PROTOCOL),
                false => Passed::Refused(rejected.id, rejected.error),
            })
        })?;
        (self.garbage, self.heard) = (0, true);
        Ok(read)
    }

    fn too_fast(&mut self, id: Option<Id>, wait: u32, replies: &mut Replies, shared: &ServerState) -> Passed {
        self.limited += 1;
        if self.limited > shared.limits.window {
            return Passed::Close(close::RATE);
        }
        let Some(id) = id else { return Passed::Nothing };
        replies.postpone(id);
        let message =
            format!("expected at most {} requests per second; continue in {wait} ms", shared.limits.requests_per_s);
        Passed::Refused(Some(id), Box::new(Refusal::new(ErrorCode::RateLimited, message).after_ms(wait)))
    }

    fn admit(
        &self,
        id: Id,
        asked: RequestFingerprint,
        message: ClientMessage,
        replies: &mut Replies,
        shared: &ServerState,
    ) -> Passed {
        let window = shared.limits.window as usize;
        if replies.unanswered() >= window && replies.is_new(id) {
            replies.postpone(id);
            let message = format!("expected at most {window} requests without a reply; read some replies first");
            return Passed::Refused(Some(id), Box::new(Refusal::new(ErrorCode::WindowFull, message).allowed(window)));
        }
        let conflict = |message| {
            Passed::Refused(Some(id), Box::new(Refusal::new(ErrorCode::Conflict, message).path("id").got(id)))
        };
        match replies.admit(id, asked) {
            Admission::New => {}
            Admission::InFlight => return Passed::Nothing,
            Admission::Answered(frame) => return Passed::Again(frame),
            Admission::Other => {
                return conflict(format!(
                    "expected an unused id, got {id} (used by a different request); repeat a request unchanged, use a \
                     higher id for a new one, and open a connection for each process or thread"
                ));
            }
            Admission::Old => {
                return conflict(format!(
                    "expected an id above the previous ones, got {id}; its reply is no longer cached"
                ));
            }
        }
        shared.metrics.request(asked.kind);
        match self.allowed(&message, shared) {
            Ok(()) => Passed::Request(id, asked, message),
            Err(error) => Passed::Forbidden(id, asked, error),
        }
    }

    /// Returns true if the client has a scope. The scope admin includes all other scopes.
    fn may(&self, scope: Scopes) -> bool {
        self.scopes.contains(scope) || self.scopes.contains(Scopes::ADMIN)
    }

    /// Checks that the client's scopes and the limits allow a message, and that a message during shutdown asks for no
    /// new work.
    fn allowed(&self, message: &ClientMessage, shared: &ServerState) -> Result<(), Box<Refusal>> {
        if let Some(scope) = message.scope().map(crate::auth::scopes_of)
            && !self.may(scope)
        {
            let name = scope.to_string();
            let message = format!("expected a token with the scope {name:?}");
            return Err(Box::new(Refusal::new(ErrorCode::Forbidden, message).allowed(name)));
        }
        if message.starts_work() && shared.is_draining() {
            let message = "server is shutting down; try again after the restart";
            return Err(Box::new(Refusal::new(ErrorCode::Draining, message)));
        }
        message.check(&shared.limits).map_err(Box::new)
    }
}

/// Returns the payload of a message whose type (text or binary) fits the encoding.
pub(super) fn payload(message: &Message, encoding: Encoding) -> Option<&[u8]> {
    match (message, encoding) {
        (Message::Text(text), Encoding::Json) => Some(text.as_bytes()),
        (Message::Binary(bytes), Encoding::MsgPack) => Some(bytes),
        _ => None,
    }
}
