//! Encoded messages.

use std::sync::{Arc, OnceLock};

use ludex_protocol::message::SeatView;
use ludex_protocol::{Encoding, Id, ServerMessage};
use tokio_tungstenite::tungstenite::{Bytes, Message, Utf8Bytes};

use ludex_gym::compute::internal;

/// Encoded message. Its bytes are shared with the socket's buffer.
#[derive(Clone, Debug)]
pub struct WireFrame {
    pub encoding: Encoding,
    pub message: Message,
}

impl WireFrame {
    pub fn new(encoding: Encoding, bytes: Vec<u8>) -> Self {
        let message = match encoding {
            Encoding::MsgPack => Message::Binary(Bytes::from(bytes)),
            Encoding::Json => Message::Text(Utf8Bytes::try_from(bytes).unwrap_or_default()),
        };
        WireFrame { encoding, message }
    }

    /// Encodes a message. A message that cannot be encoded is logged and replaced by an internal error. `re` is the id of
    /// the request to which the message replies, if any.
    pub fn encode(encoding: Encoding, re: Option<Id>, message: &ServerMessage) -> Self {
        let bytes = encoding.encode_server(re, message).unwrap_or_else(|error| {
            tracing::error!(%error, "message encoding failed");
            encoding.encode_server(re, &(*internal()).into()).unwrap_or_default()
        });
        WireFrame::new(encoding, bytes)
    }

    /// Returns the message in `encoding`, reencoded if necessary: a session may resume with a different encoding.
    /// `depth` is the maximum nesting depth of the message.
    pub fn speaking(&self, encoding: Encoding, depth: u32) -> WireFrame {
        if self.encoding == encoding {
            return self.clone();
        }
        let bytes: &[u8] = match &self.message {
            Message::Text(text) => text.as_bytes(),
            Message::Binary(bytes) => bytes,
            _ => &[],
        };
        let again = self.encoding.decode_server(bytes, depth).ok();
        match again.and_then(|(re, message)| encoding.encode_server(re, &message).ok()) {
            Some(bytes) => WireFrame::new(encoding, bytes),
            None => self.clone(),
        }
    }
}

/// Events to send in one batch.
pub type EventBatch = Arc<[Arc<Broadcast>]>;

/// Event for many watchers. The first connection that needs an encoding computes it, and all
/// connections share the result.
#[derive(Debug)]
pub struct Broadcast {
    message: ServerMessage,
    packed: OnceLock<Option<WireFrame>>,
    json: OnceLock<Option<WireFrame>>,
}

impl Broadcast {
    pub fn new(message: ServerMessage) -> Self {
        Broadcast { message, packed: OnceLock::new(), json: OnceLock::new() }
    }

    /// Returns true if the event contains a picture.
    pub fn pictured(&self) -> bool {
        matches!(&self.message, ServerMessage::Event(event) if event.view.as_ref().is_some_and(|view| view.picture.is_some()))
    }

    /// Removes the picture. Must be called before the event is encoded.
    pub fn leave_out_picture(&mut self) {
        let ServerMessage::Event(event) = &mut self.message else { return };
        let mut view = event.view.take().unwrap_or_default();
        view.picture = None;
        event.view = Some(view).filter(|view| *view != SeatView::default());
    }

    /// Returns the event in an encoding; `None` if encoding fails.
    pub fn frame(&self, encoding: Encoding) -> Option<WireFrame> {
        let made = match encoding {
            Encoding::MsgPack => &self.packed,
            Encoding::Json => &self.json,
        };
        let make = || match encoding.encode_server(None, &self.message) {
            Ok(bytes) => Some(WireFrame::new(encoding, bytes)),
            Err(error) => {
                tracing::error!(%error, "event encoding failed");
                None
            }
        };
        made.get_or_init(make).clone()
    }
}

#[cfg(test)]
mod tests {
    use ludex_protocol::message::{EventKind, MatchEvent, PictureView, Queued};

    use super::*;

    #[test]
    fn event_can_be_sent_without_its_picture() {
        let view = SeatView { picture: Some(PictureView::default()), ..SeatView::default() };
        let of = |view: SeatView| {
            let kind = EventKind::Phase { phase: "talk".into() };
            Broadcast::new(ServerMessage::Event(Box::new(MatchEvent {
                seq: 1,
                match_id: "m".into(),
                viewer: None,
                kind,
                view: Some(view),
            })))
        };
        for (view, left) in [
            (view.clone(), None),
            (
                SeatView { text: Some("t".into()), ..view },
                Some(SeatView { text: Some("t".into()), ..SeatView::default() }),
            ),
        ] {
            let mut event = of(view);
            assert!(event.pictured());
            event.leave_out_picture();
            assert!(!event.pictured());
            let ServerMessage::Event(event) = event.message else { panic!("an event") };
            assert_eq!((event.seq, event.view), (1, left));
        }
    }

    #[test]
    fn broadcast_is_encoded_once() {
        let event = Broadcast::new(ServerMessage::Queued(Queued { join: "j".into(), waiting: 1, eta_ms: None }));
        for encoding in [Encoding::Json, Encoding::MsgPack] {
            let bytes = || match event.frame(encoding).unwrap().message {
                Message::Text(text) => Bytes::from(text),
                Message::Binary(bytes) => bytes,
                other => panic!("{other:?}"),
            };
            assert_eq!(bytes().as_ptr(), bytes().as_ptr(), "{encoding:?}");
            let (_, back) = encoding.decode_server(&bytes(), 32).unwrap();
            assert!(matches!(back, ServerMessage::Queued(queued) if queued.waiting == 1));
        }
    }
}
