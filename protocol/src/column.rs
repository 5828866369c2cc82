//! Typed columns: packed little-endian bin in MessagePack, flat number arrays in JSON.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::{Error as _, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::serde_helpers::number;

mod sealed {
    #[cfg(not(feature = "ndarray"))]
    pub trait Sealed {}
    #[cfg(feature = "ndarray")]
    pub trait Sealed: bytemuck::Pod {}
}

/// A number type for columns and tensors.
pub trait Element: Copy + PartialEq + fmt::Debug + for<'de> Deserialize<'de> + sealed::Sealed + 'static {
    /// Name on the wire: `u1, i1, i2, u4, i4, f4` or `f8` (kind and bytes).
    const NAME: &'static str;
    /// Size of one element in bytes.
    const SIZE: usize;
    /// True for float types, whose values may be infinite or NaN.
    const FLOAT: bool;

    /// Writes the value, little-endian, into the first [`SIZE`](Self::SIZE) bytes of `to`.
    ///
    /// # Panics
    /// Panics if `to` is shorter than [`SIZE`](Self::SIZE).
    fn put(self, to: &mut [u8]);

    /// Reads a little-endian value from the first [`SIZE`](Self::SIZE) bytes of `from`.
    ///
    /// # Panics
    /// Panics if `from` is shorter than [`SIZE`](Self::SIZE).
    fn get(from: &[u8]) -> Self;

    /// Converts the value to `f64`. Exact for every element type.
    fn as_f64(self) -> f64;

    /// Converts `number` to this type. Integer types require an exact value; float types round. `None` if the value
    /// does not fit or is not finite.
    fn from_f64(number: f64) -> Option<Self>;
}

macro_rules! element {
    ($type:ty, $name:literal, $float:literal) => {
        impl sealed::Sealed for $type {}

        impl Element for $type {
            const NAME: &'static str = $name;
            const SIZE: usize = size_of::<$type>();
            const FLOAT: bool = $float;

            #[inline]
            fn put(self, to: &mut [u8]) {
                to[..Self::SIZE].copy_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn get(from: &[u8]) -> Self {
                let mut bytes = [0; size_of::<$type>()];
                bytes.copy_from_slice(&from[..Self::SIZE]);
                <$type>::from_le_bytes(bytes)
            }

            #[inline]
            fn as_f64(self) -> f64 {
                f64::from(self)
            }

            #[inline]
            fn from_f64(number: f64) -> Option<Self> {
                let value = number as $type;
                let fits = if $float { f64::from(value).is_finite() } else { f64::from(value) == number };
                fits.then_some(value)
            }
        }
    };
}

element!(u8, "u1", false);
element!(i8, "i1", false);
element!(i16, "i2", false);
element!(u32, "u4", false);
element!(i32, "i4", false);
element!(f32, "f4", true);
element!(f64, "f8", true);

/// Packs numbers into little-endian bytes.
pub(crate) fn pack<T: Element>(values: &[T]) -> Vec<u8> {
    let mut bytes = vec![0; values.len() * T::SIZE];
    for (to, value) in bytes.chunks_exact_mut(T::SIZE).zip(values) {
        value.put(to);
    }
    bytes
}

/// Iterates over packed numbers. Ignores an incomplete element at the end.
pub(crate) fn unpack<T: Element>(bytes: &[u8]) -> impl ExactSizeIterator<Item = T> + DoubleEndedIterator + '_ {
    bytes.chunks_exact(T::SIZE).map(T::get)
}

/// Returns the position of the first float that is not finite; `None` for integer types.
pub(crate) fn not_finite<T: Element>(bytes: &[u8]) -> Option<usize> {
    if !T::FLOAT || unpack::<T>(bytes).all(|x| x.as_f64().is_finite()) {
        return None;
    }
    unpack::<T>(bytes).position(|x| !x.as_f64().is_finite())
}

/// Returns true if `a` and `b` contain equal numbers.
pub(crate) fn same<T: Element>(a: &[u8], b: &[u8]) -> bool {
    a == b || (T::FLOAT && a.len() == b.len() && unpack::<T>(a).eq(unpack::<T>(b)))
}

/// Packed numbers that serialize as a flat list.
pub(crate) struct Flat<'a, T>(pub &'a [u8], pub PhantomData<T>);

impl<T: Element> Serialize for Flat<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len() / T::SIZE))?;
        for value in unpack::<T>(self.0) {
            list.serialize_element(&Entry(value))?;
        }
        list.end()
    }
}

/// One number of a list. An `f4` is written with the fewest digits that identify the value, and an integral value as an
/// integer.
struct Entry<T>(T);

impl<T: Element> Serialize for Entry<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = self.0.as_f64();
        if T::FLOAT && T::SIZE == 4 && value.is_finite() && value.fract() != 0.0 {
            return serializer.serialize_f32(value as f32);
        }
        number(&value, serializer)
    }
}

/// A column of a batch: packed numbers of one type, row after row.
///
/// Encoding to MessagePack copies the bytes. Float columns are also scanned once, because numbers that are not finite
/// are refused. Reuse a column to avoid allocations in a long series of batches; see [`clear`](Self::clear),
/// [`extend_from_slice`](Self::extend_from_slice) and [`as_bytes_mut`](Self::as_bytes_mut).
#[derive(Clone)]
pub struct Column<T> {
    bytes: Vec<u8>,
    of: PhantomData<T>,
}

/// The error for bytes that are not a valid column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnError(String);

impl fmt::Display for ColumnError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ColumnError {}

impl<T: Element> Column<T> {
    /// Creates an empty column.
    pub const fn new() -> Self {
        Column { bytes: Vec::new(), of: PhantomData }
    }

    /// Creates an empty column with capacity for `rows` numbers.
    pub fn with_capacity(rows: usize) -> Self {
        Column { bytes: Vec::with_capacity(rows * T::SIZE), of: PhantomData }
    }

    /// Creates a column of `rows` zeros, to be filled through [`as_bytes_mut`](Self::as_bytes_mut) or
    /// [`set`](Self::set).
    pub fn zeros(rows: usize) -> Self {
        Column { bytes: vec![0; rows * T::SIZE], of: PhantomData }
    }

    /// Packs numbers into a new column.
    pub fn from_slice(values: &[T]) -> Self {
        Column { bytes: pack(values), of: PhantomData }
    }

    /// Creates a column from packed little-endian bytes, without copying.
    ///
    /// # Errors
    /// Fails if the length is not a multiple of the element size, or a float is not finite.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, ColumnError> {
        if !bytes.len().is_multiple_of(T::SIZE) {
            return Err(ColumnError(format!(
                "expected a multiple of {} bytes for a column of {}, got {} bytes",
                T::SIZE,
                T::NAME,
                bytes.len()
            )));
        }
        if let Some(at) = not_finite::<T>(&bytes) {
            return Err(ColumnError(format!("entry {at}: expected a finite number")));
        }
        Ok(Column { bytes, of: PhantomData })
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.bytes.len() / T::SIZE
    }

    /// Returns true if the column has no entries.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the number at position `at`; `None` beyond the end.
    pub fn get(&self, at: usize) -> Option<T> {
        let from = at.checked_mul(T::SIZE)?;
        self.bytes.get(from..)?.get(..T::SIZE).map(T::get)
    }

    /// Replaces the number at position `at`.
    ///
    /// # Panics
    /// Panics if `at` is out of range.
    pub fn set(&mut self, at: usize, value: T) {
        value.put(&mut self.bytes[at * T::SIZE..]);
    }

    /// Appends one number to the column.
    pub fn push(&mut self, value: T) {
        self.extend_from_slice(&[value]);
    }

    /// Appends all numbers of a slice.
    pub fn extend_from_slice(&mut self, values: &[T]) {
        let from = self.bytes.len();
        self.bytes.resize(from + values.len() * T::SIZE, 0);
        for (to, value) in self.bytes[from..].chunks_exact_mut(T::SIZE).zip(values) {
            value.put(to);
        }
    }

    /// Resizes the column to `rows` numbers; new entries are zero.
    pub fn resize(&mut self, rows: usize) {
        self.bytes.resize(rows * T::SIZE, 0);
    }

    /// Removes all numbers but keeps the capacity.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Iterates over the numbers in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = T> + DoubleEndedIterator + '_ {
        unpack(&self.bytes)
    }

    /// Returns the numbers as a vector.
    pub fn to_vec(&self) -> Vec<T> {
        self.iter().collect()
    }

    /// Returns the packed bytes, little-endian.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the packed bytes for in-place modification.
    pub fn as_bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Returns the packed bytes, little-endian, without copying.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl<T: Element> Default for Column<T> {
    fn default() -> Self {
        Column::new()
    }
}

/// Compares numbers instead of bytes, so that 0 equals -0.
impl<T: Element> PartialEq for Column<T> {
    fn eq(&self, other: &Self) -> bool {
        same::<T>(&self.bytes, &other.bytes)
    }
}

impl<T: Element> Eq for Column<T> {}

impl<T: Element> fmt::Debug for Column<T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Element> From<&[T]> for Column<T> {
    fn from(values: &[T]) -> Self {
        Column::from_slice(values)
    }
}

impl<T: Element, const N: usize> From<[T; N]> for Column<T> {
    fn from(values: [T; N]) -> Self {
        Column::from_slice(&values)
    }
}

impl<T: Element> FromIterator<T> for Column<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut column = Column::new();
        column.extend(values);
        column
    }
}

impl<T: Element> Extend<T> for Column<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        let values = values.into_iter();
        self.bytes.reserve(values.size_hint().0.saturating_mul(T::SIZE));
        for value in values {
            self.push(value);
        }
    }
}

impl<T: Element> Serialize for Column<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return Flat::<T>(&self.bytes, PhantomData).serialize(serializer);
        }
        if let Some(at) = not_finite::<T>(&self.bytes) {
            return Err(S::Error::custom(format_args!("entry {at}: expected a finite number")));
        }
        serializer.serialize_bytes(&self.bytes)
    }
}

impl<'de, T: Element> Deserialize<'de> for Column<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ColumnVisitor(PhantomData))
    }
}

/// Deserializes a column from bytes or from a list.
pub(crate) struct ColumnVisitor<T>(pub PhantomData<T>);

impl<'de, T: Element> Visitor<'de> for ColumnVisitor<T> {
    type Value = Column<T>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "a column of {} (packed little-endian bytes or a flat list of numbers)", T::NAME)
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Column<T>, E> {
        self.visit_byte_buf(bytes.to_vec())
    }

    fn visit_byte_buf<E: serde::de::Error>(self, bytes: Vec<u8>) -> Result<Column<T>, E> {
        Column::from_bytes(bytes).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Column<T>, A::Error> {
        let mut column = Column::with_capacity(list.size_hint().unwrap_or(0).min(1 << 16));
        while let Some(value) = list.next_element::<T>()? {
            if !value.as_f64().is_finite() {
                return Err(A::Error::custom(format_args!("entry {}: expected a finite number", column.len())));
            }
            column.push(value);
        }
        Ok(column)
    }
}

#[cfg(feature = "schema")]
impl<T: Element> schemars::JsonSchema for Column<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Column_{}", T::NAME).into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let item = if T::FLOAT { "number" } else { "integer" };
        schemars::json_schema!({
            "description": format!("Column of {}: a flat list in JSON, packed little-endian bin in MessagePack.", T::NAME),
            "type": "array",
            "items": {"type": item}
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "type", rename_all = "snake_case")]
    enum Tagged {
        Step { a: Column<i32>, r: Column<f32>, b: Column<u8> },
    }

    fn sample() -> Tagged {
        Tagged::Step { a: [3, -1].into(), r: [0.1, -1.0].into(), b: [0, 255].into() }
    }

    #[test]
    fn column_json_form_is_flat_list() {
        let text = serde_json::to_string(&sample()).unwrap();
        assert_eq!(text, r#"{"type":"step","a":[3,-1],"r":[0.1,-1],"b":[0,255]}"#);
        assert_eq!(serde_json::from_str::<Tagged>(&text).unwrap(), sample());
    }

    #[test]
    fn column_messagepack_form_is_little_endian_bytes() {
        let frame = rmp_serde::to_vec_named(&sample()).unwrap();
        let bin = [0xc4, 8, 3, 0, 0, 0, 255, 255, 255, 255];
        assert!(frame.windows(bin.len()).any(|w| w == bin), "{frame:x?}");
        assert_eq!(rmp_serde::from_slice::<Tagged>(&frame).unwrap(), sample());
    }

    #[test]
    fn column_deserializes_from_messagepack_list() {
        let frame = rmp_serde::to_vec(&[3i64, -1, 70_000]).unwrap();
        assert_eq!(rmp_serde::from_slice::<Column<i32>>(&frame).unwrap().to_vec(), [3, -1, 70_000]);
        assert!(rmp_serde::from_slice::<Column<i8>>(&frame).is_err());
    }

    #[test]
    fn invalid_column_is_refused() {
        assert!(Column::<i32>::from_bytes(vec![0; 6]).is_err());
        assert!(Column::<f32>::from_bytes(f32::NAN.to_le_bytes().to_vec()).is_err());
        for bad in ["[1.5]", "[3000000000]", "[null]", "7", "\"AAAA\"", "{}"] {
            assert!(serde_json::from_str::<Column<i32>>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn non_finite_float_is_refused() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let column = Column::from([0.0, bad]);
            assert!(rmp_serde::to_vec(&column).is_err());
            assert!(serde_json::to_vec(&column).is_err());
        }
    }

    #[test]
    fn column_has_no_element_beyond_end() {
        let mut column = Column::<i16>::from([1, 2]);
        column.set(1, -2);
        assert_eq!(column.get(1), Some(-2));
        assert_eq!(column.get(2), None);
        assert_eq!(column.get(usize::MAX), None);
        assert_eq!(column.iter().rev().collect::<Vec<_>>(), [-2, 1]);
    }
}
