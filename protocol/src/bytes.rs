//! Opaque bytes: bin in MessagePack, base64 text in JSON.

use std::fmt;
use std::ops::Deref;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Opaque bytes of a message.
///
/// Serialized as bin in binary formats and as base64 text (standard alphabet, padded) in human-readable formats. In
/// every format, deserialization accepts bytes, base64 text and lists of integers, because buffering in serde loses the
/// original format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bytes(pub Vec<u8>);

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes(bytes)
    }
}

impl From<Bytes> for Vec<u8> {
    fn from(bytes: Bytes) -> Self {
        bytes.0
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(&STANDARD.encode(&self.0))
        } else {
            serializer.serialize_bytes(&self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BytesVisitor).map(Bytes)
    }
}

struct BytesVisitor;

impl<'de> Visitor<'de> for BytesVisitor {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("bytes (bin, base64 text or a list of integers)")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
        Ok(bytes.to_vec())
    }

    fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Vec<u8>, E> {
        Ok(bytes)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<u8>, E> {
        STANDARD.decode(text).map_err(|e| E::custom(format_args!("expected base64 text: {e}")))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<u8>, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = list.next_element()? {
            bytes.push(byte);
        }
        Ok(bytes)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Bytes {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Bytes".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Bytes: base64 text in JSON, bin in MessagePack.",
            "type": "string",
            "contentEncoding": "base64"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Wrapper {
        bytes: Bytes,
    }

    /// A tagged enum, which serde buffers before deserialization, so that `is_human_readable` is unreliable.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "type", rename_all = "snake_case")]
    enum Tagged {
        Struct { bytes: Bytes, list: Vec<Bytes> },
        Newtype(Wrapper),
    }

    fn samples() -> Vec<Tagged> {
        let bytes = Bytes(vec![0, 255, 7]);
        vec![
            Tagged::Struct { bytes: bytes.clone(), list: vec![bytes.clone(), Bytes::default()] },
            Tagged::Newtype(Wrapper { bytes }),
        ]
    }

    #[test]
    fn json_form_is_base64_inside_tagged_enum() {
        for sample in samples() {
            let text = serde_json::to_string(&sample).unwrap();
            assert!(text.contains(r#""bytes":"AP8H""#), "{text}");
            assert_eq!(serde_json::from_str::<Tagged>(&text).unwrap(), sample);
        }
    }

    #[test]
    fn messagepack_form_is_bin_inside_tagged_enum() {
        for sample in samples() {
            let frame = rmp_serde::to_vec_named(&sample).unwrap();
            let bin = [0xc4, 3, 0, 255, 7];
            assert!(frame.windows(bin.len()).any(|w| w == bin), "{frame:x?}");
            assert_eq!(rmp_serde::from_slice::<Tagged>(&frame).unwrap(), sample);
        }
    }

    #[test]
    fn bytes_deserialize_from_every_form_in_both_encodings() {
        #[derive(Serialize)]
        struct As<T> {
            bytes: T,
        }
        let wanted = Wrapper { bytes: Bytes(vec![0, 255, 7]) };
        let list = rmp_serde::to_vec_named(&As { bytes: [0, 255, 7] }).unwrap();
        let text = rmp_serde::to_vec_named(&As { bytes: "AP8H" }).unwrap();
        assert_eq!(rmp_serde::from_slice::<Wrapper>(&list).unwrap(), wanted);
        assert_eq!(rmp_serde::from_slice::<Wrapper>(&text).unwrap(), wanted);
        assert_eq!(serde_json::from_str::<Wrapper>(r#"{"bytes":[0,255,7]}"#).unwrap(), wanted);
        for bad in [r#"{"bytes":"A"}"#, r#"{"bytes":[256]}"#, r#"{"bytes":{}}"#, r#"{"bytes":1.5}"#] {
            assert!(serde_json::from_str::<Wrapper>(bad).is_err(), "{bad}");
        }
    }
}
