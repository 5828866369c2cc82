//! Strict decoder of server frames: a frame must equal what this project's own types would write.
//!
//! The types alone are lenient: they accept lists for columns and defaults for absent fields. Clients in other
//! languages may not be.

use std::fmt;

use ludex_protocol::{Encoding, Id, ServerMessage};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

/// Maximum nesting depth of a frame. Many JSON parsers stop at 127. The limit in `welcome` applies only to messages
/// from clients.
const DEPTH: u32 = 127;

/// Maps whose absent fields are checked by other laws.
const ELSEWHERE: [&str; 2] = ["limits", "spec"];

/// Fields of server messages for which the protocol page defines a default.
const DEFAULTED: [&str; 1] = ["illegal"];

/// Decoded frame: id, message, and the frame as JSON, with MessagePack bins as `{"bin": hex}`.
pub(super) type Read = (Option<Id>, ServerMessage, Value);

/// Decodes a frame. The error is a sentence and the part of the frame that could be decoded.
pub(super) fn read(encoding: Encoding, frame: &[u8]) -> Result<Read, (String, Value)> {
    let came = plain(encoding, frame).map_err(|why| (why, Value::Null))?;
    let understood = encoding.decode_server(frame, DEPTH);
    let (re, message) = understood.map_err(|rejected| (rejected.to_string(), came.clone()))?;
    let written = encoding.encode_server(re, &message).map_err(|e| e.to_string());
    match written.and_then(|ours| plain(encoding, &ours)).and_then(|ours| fits(&ours, &came, "", true)) {
        Ok(()) => Ok((re, message, came)),
        Err(why) => Err((why, came)),
    }
}

fn plain(encoding: Encoding, frame: &[u8]) -> Result<Value, String> {
    match encoding {
        Encoding::Json => serde_json::from_slice(frame).map_err(|e| format!("the frame is not JSON: {e}")),
        Encoding::MsgPack => rmp_serde::from_slice(frame)
            .map(|Marked(value)| value)
            .map_err(|e| format!("the frame is not MessagePack: {e}")),
    }
}

/// Checks that a frame has every field that `ours` has, in the same form. Unknown fields are ignored.
fn fits(ours: &Value, came: &Value, path: &str, whole: bool) -> Result<(), String> {
    match (ours, came) {
        (Value::Object(ours), Value::Object(came)) => ours.iter().try_for_each(|(name, ours)| {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            match came.get(name).filter(|value| !value.is_null()) {
                Some(came) => fits(ours, came, &path, whole && !ELSEWHERE.contains(&name.as_str())),
                None if ours.is_null() || !whole || DEFAULTED.contains(&name.as_str()) => Ok(()),
                None => Err(format!("{path} is missing")),
            }
        }),
        (Value::Array(ours), Value::Array(came)) if ours.len() == came.len() => {
            let all = ours.iter().zip(came).enumerate();
            all.into_iter().try_for_each(|(at, (ours, came))| fits(ours, came, &format!("{path}[{at}]"), whole))
        }
        (Value::Number(a), Value::Number(b)) if near(a.as_f64(), b.as_f64()) => Ok(()),
        _ if ours == came => Ok(()),
        _ => Err(format!("{path} is {}, expected {}", value_text(came), value_text(ours))),
    }
}

/// Returns true if two values are equal, where 5 equals 5.0.
pub(super) fn alike(a: &Value, b: &Value) -> bool {
    fits(a, b, "", true).and_then(|()| fits(b, a, "", true)).is_ok()
}

/// Returns true if two numbers are equal, or if they are decimal forms of the same 32-bit float, written with different
/// numbers of digits.
fn near(a: Option<f64>, b: Option<f64>) -> bool {
    matches!((a, b), (Some(a), Some(b)) if a == b || a as f32 == b as f32 && a.fract() != 0.0)
}

fn value_text(value: &Value) -> String {
    ludex_protocol::error::truncate_text(&value.to_string())
}

/// MessagePack value whose bins are marked, because JSON values cannot hold bins.
struct Marked(Value);

impl<'de> Deserialize<'de> for Marked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MarkedVisitor).map(Marked)
    }
}

struct MarkedVisitor;

impl<'de> Visitor<'de> for MarkedVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of the protocol")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_bytes<E>(self, value: &[u8]) -> Result<Value, E> {
        Ok(json!({ "bin": hex::encode(value) }))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(Marked(value)) = list.next_element()? {
            all.push(value);
        }
        Ok(all.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some((name, Marked(value))) = map.next_entry()? {
            all.insert(name, value);
        }
        Ok(all.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Result<Read, (String, Value)> {
        read(Encoding::Json, text.as_bytes())
    }

    #[test]
    fn unknown_fields_are_accepted() {
        let (re, ..) = json(r#"{"type":"pong","re":1,"now_ms":5,"later":{"a":[1]},"never":null}"#).expect("a pong");
        assert_eq!(re, Some(1));
        assert!(json(r#"{"type":"ok","re":1}"#).is_ok());
    }

    #[test]
    fn missing_and_mistyped_fields_are_reported() {
        let why = |text: &str| json(text).expect_err("a fault").0;
        assert_eq!(why(r#"{"type":"accepted","re":1,"match":"m","seat":0,"turn":0,"text":"a"}"#), "bank_ms is missing");
        assert!(why(r#"{"type":"pong","re":1}"#).contains("now_ms"));
        assert!(why(r#"{"type":"gong","re":1}"#).contains("unknown_type"));
        assert!(why("{").contains("not JSON"));
        assert!(why(r#"{"type":"ok","re":"1"}"#).contains("`re`"));
    }

    #[test]
    fn batch_columns_must_be_binary_in_messagepack() {
        let list = json!({
            "type": "batch", "re": 1, "env": 1, "to_move": [0], "reward": [0, 0], "terminated": [0], "truncated": [0],
            "length": [0], "episode": [0],
        });
        assert!(json(&list.to_string()).is_ok());
        let frame = rmp_serde::to_vec_named(&list).expect("MessagePack");
        let (why, _) = read(Encoding::MsgPack, &frame).expect_err("a fault");
        assert!(why.contains("is [0]") && why.contains("bin"), "{why}");
        let ours = json(&list.to_string()).expect("a batch").1;
        let packed = Encoding::MsgPack.encode_server(Some(1), &ours).expect("a frame");
        assert!(read(Encoding::MsgPack, &packed).is_ok());
    }
}
