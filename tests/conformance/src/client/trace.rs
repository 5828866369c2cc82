//! Decoded frames of a check, for finding the cause of a fault.

use std::sync::Arc;

use ludex_protocol::Encoding;
use parking_lot::Mutex;
use serde_json::{Value, json};

/// Trace of one check; clones share its lines.
#[derive(Clone)]
pub(super) struct Trace {
    check: &'static str,
    lines: Arc<Mutex<Vec<Value>>>,
}

impl Trace {
    pub fn new(check: &'static str) -> Self {
        Trace { check, lines: Arc::default() }
    }

    /// Records a frame that `from` sent, decoded.
    pub fn frame(&mut self, from: &str, encoding: Encoding, bytes: &[u8]) {
        let frame = decoded(encoding, bytes).unwrap_or_else(|| frame_text(encoding, bytes).into());
        self.push(json!({ "check": self.check, "from": from, "frame": frame }));
    }

    /// Records an occurrence other than a frame.
    pub fn note(&mut self, note: &str) {
        self.push(json!({ "check": self.check, "note": note }));
    }

    fn push(&self, line: Value) {
        self.lines.lock().push(line);
    }

    /// Returns the whole trace, one JSON object per line.
    pub fn text(&self) -> String {
        self.lines.lock().iter().map(|line| format!("{line}\n")).collect()
    }
}

fn decoded(encoding: Encoding, bytes: &[u8]) -> Option<Value> {
    match encoding {
        Encoding::Json => serde_json::from_slice(bytes).ok(),
        Encoding::MsgPack => rmp_serde::from_slice(bytes).ok(),
    }
}

/// Returns a frame as printable text.
pub(super) fn frame_text(encoding: Encoding, bytes: &[u8]) -> String {
    match (decoded(encoding, bytes), encoding) {
        (Some(value), _) => value.to_string(),
        (None, Encoding::Json) => String::from_utf8_lossy(bytes).escape_debug().to_string(),
        (None, Encoding::MsgPack) => {
            format!(
                "{} bytes that are not a MessagePack value: {}",
                bytes.len(),
                hex::encode(&bytes[..bytes.len().min(32)])
            )
        }
    }
}
