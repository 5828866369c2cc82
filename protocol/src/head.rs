//! The first pass over a frame, which finds `type` and `id` and then stops.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The result of the first pass. Filled while the pass runs, so the result may be complete even if the pass fails.
#[derive(Debug)]
pub(crate) struct Head<'a> {
    id_name: &'static str,
    /// Value of `type`, if present and not `null`.
    pub kind: Option<Scalar<'a>>,
    /// Value of the field `id_name`, if present and not `null`.
    pub id: Option<Scalar<'a>>,
}

impl<'a> Head<'a> {
    /// Starts a search for `type` and the field `id_name`.
    pub fn new(id_name: &'static str) -> Self {
        Head { id_name, kind: None, id: None }
    }

    /// Returns true if both fields were found.
    pub fn is_complete(&self) -> bool {
        self.kind.is_some() && self.id.is_some()
    }
}

impl<'de> DeserializeSeed<'de> for &mut Head<'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Head<'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Scalar>()? {
            match key {
                Scalar::Text(key) if key == "type" => self.kind = map.next_value()?,
                Scalar::Text(key) if key == self.id_name => self.id = map.next_value()?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            if self.is_complete() {
                break;
            }
        }
        Ok(())
    }
}

/// A scalar value in the head of a message.
#[derive(Debug, PartialEq)]
pub(crate) enum Scalar<'a> {
    /// A string; borrowed if it needs no unescaping.
    Text(Cow<'a, str>),
    /// An integer in the range of `i64`.
    Int(i64),
    /// A value that is neither a string nor an integer.
    Other,
}

impl<'de> Deserialize<'de> for Scalar<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_i64<E: Error>(self, int: i64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Int(int))
    }

    fn visit_u64<E: Error>(self, int: u64) -> Result<Scalar<'de>, E> {
        Ok(i64::try_from(int).map_or(Scalar::Other, Scalar::Int))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Other)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Other)
    }

    fn visit_unit<E: Error>(self) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Other)
    }

    fn visit_bytes<E: Error>(self, _: &[u8]) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Scalar<'de>, A::Error> {
        IgnoredAny.visit_seq(list).map(|_| Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Scalar<'de>, A::Error> {
        IgnoredAny.visit_map(map).map(|_| Scalar::Other)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<Scalar<'de>, D::Error> {
        IgnoredAny::deserialize(inner).map(|_| Scalar::Other)
    }
}
