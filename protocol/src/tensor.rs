//! Arrays with a shape: `{d, s, b}` in MessagePack, `{d, s, v}` in JSON.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use serde::de::Error as _;
use serde::ser::{Error as _, SerializeStruct};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::bytes::Bytes;
use crate::column::{Column, Element, Flat, not_finite, pack, same, unpack};
use crate::spec::Dtype;

/// Arrays by name, such as the field `obs` of a batch or `tensor` of a view.
pub type Tensors = BTreeMap<String, Tensor>;

/// A number type for tensors.
pub trait TensorElement: Element {
    /// Element type on the wire.
    const DTYPE: Dtype;
}

impl TensorElement for u8 {
    const DTYPE: Dtype = Dtype::U1;
}
impl TensorElement for i8 {
    const DTYPE: Dtype = Dtype::I1;
}
impl TensorElement for i16 {
    const DTYPE: Dtype = Dtype::I2;
}
impl TensorElement for i32 {
    const DTYPE: Dtype = Dtype::I4;
}
impl TensorElement for f32 {
    const DTYPE: Dtype = Dtype::F4;
}

/// An array of numbers with a shape, in C order, packed and little-endian.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Element type of the array.
    pub d: Dtype,
    /// Shape of the array, in C order.
    pub s: Vec<u32>,
    /// Packed elements: `product(s) * d.size()` bytes.
    pub b: Vec<u8>,
}

impl Tensor {
    /// Creates an array of `values` in C order.
    pub fn from_slice<T: TensorElement>(shape: &[u32], values: &[T]) -> Self {
        Tensor { d: T::DTYPE, s: shape.to_vec(), b: pack(values) }
    }

    /// Returns the number of elements that the shape implies; `None` if the number overflows `usize`.
    pub fn elements(&self) -> Option<usize> {
        self.s.iter().try_fold(1usize, |n, &side| n.checked_mul(side as usize))
    }

    /// Returns true if the number of bytes matches the shape. Check this before relying on the shape of a received
    /// message.
    pub fn is_whole(&self) -> bool {
        self.elements().and_then(|n| n.checked_mul(self.d.size())) == Some(self.b.len())
    }

    /// Returns the elements, if they are of type `T`.
    pub fn to_vec<T: TensorElement>(&self) -> Option<Vec<T>> {
        (T::DTYPE == self.d).then(|| unpack(&self.b).collect())
    }
}

/// Compares type, shape and numbers, so that 0 equals -0.
impl PartialEq for Tensor {
    fn eq(&self, other: &Self) -> bool {
        let numbers = match self.d {
            Dtype::F4 => same::<f32>(&self.b, &other.b),
            _ => self.b == other.b,
        };
        self.d == other.d && self.s == other.s && numbers
    }
}

impl Eq for Tensor {}

impl Serialize for Tensor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let as_list = serializer.is_human_readable();
        if self.d == Dtype::F4
            && let Some(at) = not_finite::<f32>(&self.b)
        {
            return Err(S::Error::custom(format_args!("entry {at}: expected a finite number")));
        }
        let mut map = serializer.serialize_struct("Tensor", 3)?;
        map.serialize_field("d", &self.d)?;
        map.serialize_field("s", &self.s)?;
        if as_list {
            match self.d {
                Dtype::U1 => map.serialize_field("v", &Flat::<u8>(&self.b, PhantomData))?,
                Dtype::I1 => map.serialize_field("v", &Flat::<i8>(&self.b, PhantomData))?,
                Dtype::I2 => map.serialize_field("v", &Flat::<i16>(&self.b, PhantomData))?,
                Dtype::I4 => map.serialize_field("v", &Flat::<i32>(&self.b, PhantomData))?,
                Dtype::F4 => map.serialize_field("v", &Flat::<f32>(&self.b, PhantomData))?,
            }
        } else {
            map.serialize_field("b", serde_bytes::Bytes::new(&self.b))?;
        }
        map.end()
    }
}

/// Wire form of a tensor, with either packed bytes `b` or a flat list `v`.
#[derive(Deserialize)]
struct Read {
    d: Dtype,
    s: Vec<u32>,
    b: Option<Bytes>,
    v: Option<Column<f64>>,
}

impl<'de> Deserialize<'de> for Tensor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Read { d, s, b, v } = Read::deserialize(deserializer)?;
        let b = match (b, v) {
            (Some(Bytes(b)), None) if b.len().is_multiple_of(d.size()) => b,
            (Some(b), None) => {
                let (size, got) = (d.size(), b.len());
                let text = format!("expected a multiple of {size} bytes for type {d:?}, got {got} bytes");
                return Err(D::Error::custom(text));
            }
            (None, Some(v)) => match d {
                Dtype::U1 => from_numbers::<u8>(&v),
                Dtype::I1 => from_numbers::<i8>(&v),
                Dtype::I2 => from_numbers::<i16>(&v),
                Dtype::I4 => from_numbers::<i32>(&v),
                Dtype::F4 => from_numbers::<f32>(&v),
            }
            .map_err(D::Error::custom)?,
            _ => {
                return Err(D::Error::custom("expected a tensor with either `b` (bytes) or `v` (a flat list)"));
            }
        };
        if d == Dtype::F4
            && let Some(at) = not_finite::<f32>(&b)
        {
            return Err(D::Error::custom(format_args!("entry {at}: expected a finite number")));
        }
        Ok(Tensor { d, s, b })
    }
}

fn from_numbers<T: TensorElement>(numbers: &Column<f64>) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; numbers.len() * T::SIZE];
    for ((at, number), to) in numbers.iter().enumerate().zip(bytes.chunks_exact_mut(T::SIZE)) {
        let value = T::from_f64(number)
            .ok_or_else(|| format!("entry {at}: expected a number of type {}, got {number}", T::NAME))?;
        value.put(to);
    }
    Ok(bytes)
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Tensor {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Tensor".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let dtype = generator.subschema_for::<Dtype>();
        schemars::json_schema!({
            "description": "Array with a shape, C order: `v` in JSON, `b` (packed little-endian bin) in MessagePack.",
            "type": "object",
            "properties": {
                "d": dtype,
                "s": {"type": "array", "items": {"type": "integer", "minimum": 0}},
                "v": {"type": "array", "items": {"type": "number"}}
            },
            "required": ["d", "s", "v"]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "type", rename_all = "snake_case")]
    enum Tagged {
        Batch { obs: Tensors },
    }

    fn samples() -> [Tensor; 5] {
        [
            Tensor::from_slice(&[2, 2], &[0u8, 1, 2, 255]),
            Tensor::from_slice(&[3], &[-128i8, 0, 127]),
            Tensor::from_slice(&[2], &[-30_000i16, 30_000]),
            Tensor::from_slice(&[2, 1], &[i32::MIN, i32::MAX]),
            Tensor::from_slice(&[2], &[0.1f32, -2.0]),
        ]
    }

    #[test]
    fn tensor_of_every_element_type_round_trips() {
        for tensor in samples() {
            assert!(tensor.is_whole());
            let sample = Tagged::Batch { obs: BTreeMap::from([("board".to_owned(), tensor)]) };
            let text = serde_json::to_string(&sample).unwrap();
            assert!(text.contains(r#""v":["#), "{text}");
            assert_eq!(serde_json::from_str::<Tagged>(&text).unwrap(), sample);
            let frame = rmp_serde::to_vec_named(&sample).unwrap();
            assert_eq!(rmp_serde::from_slice::<Tagged>(&frame).unwrap(), sample);
        }
    }

    #[test]
    fn tensor_messagepack_form_is_bin() {
        let frame = rmp_serde::to_vec_named(&samples()[2]).unwrap();
        assert!(frame.ends_with(&[0xa1, b'b', 0xc4, 4, 0xd0, 0x8a, 0x30, 0x75]), "{frame:x?}");
    }

    #[test]
    fn invalid_tensor_map_is_refused() {
        for bad in [
            r#"{"d":"u1","s":[1],"v":[256]}"#,
            r#"{"d":"u1","s":[1],"v":[0.5]}"#,
            r#"{"d":"u1","s":[1]}"#,
            r#"{"d":"u3","s":[1],"v":[1]}"#,
            r#"{"d":"f4","s":[1],"v":[1e300]}"#,
            r#"{"d":"i4","s":[1],"b":"AAA="}"#,
        ] {
            assert!(serde_json::from_str::<Tensor>(bad).is_err(), "{bad}");
        }
        let nan = Tensor { d: Dtype::F4, s: vec![1], b: f32::NAN.to_le_bytes().to_vec() };
        assert!(serde_json::to_string(&nan).is_err());
        assert!(rmp_serde::to_vec_named(&nan).is_err());
    }

    #[test]
    fn tensor_with_oversized_shape_is_not_whole() {
        let tensor = Tensor { d: Dtype::U1, s: vec![u32::MAX; 4], b: vec![] };
        assert_eq!(tensor.elements(), None);
        assert!(!tensor.is_whole());
    }
}
