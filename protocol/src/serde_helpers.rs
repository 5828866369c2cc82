//! Serialization of single fields: defaults for absent and `null` values, and finite numbers.

use serde::ser::{Error, SerializeSeq};
use serde::{Deserialize, Deserializer, Serializer};

/// Largest magnitude of an `int`: 2^53 - 1, the range in which a JavaScript number is exact.
pub const MAX_INT: i64 = (1 << 53) - 1;

/// Deserializes a field that is `T::default()` if absent or `null`.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    or_else(deserializer, T::default)
}

/// Deserializes a field that is `default()` if absent or `null`.
pub(crate) fn or_else<'de, D, T>(deserializer: D, default: fn() -> T) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_else(default))
}

/// Returns true if a value is the default, so that its field can be omitted.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Returns 1, the default of optional counts.
pub(crate) fn one() -> u32 {
    1
}

/// Returns true if a count is one, so that its field can be omitted.
pub(crate) fn is_one(count: &u32) -> bool {
    *count == 1
}

/// Deserializes a count that is one if absent or `null`.
pub(crate) fn or_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    or_else(deserializer, one)
}

/// Returns true, the default of flags that are set unless a client clears them.
pub(crate) fn yes() -> bool {
    true
}

/// Returns the flag itself, so that its field can be omitted if set.
pub(crate) fn is_yes(flag: &bool) -> bool {
    *flag
}

/// Deserializes a flag that is set if absent or `null`.
pub(crate) fn or_yes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    or_else(deserializer, yes)
}

/// Serializes a number as an integer if possible: `[1,-1]`, not `[1.0,-1.0]`.
///
/// # Errors
/// Fails if the number is not finite.
pub(crate) fn number<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    let value = *value;
    if !value.is_finite() {
        return Err(S::Error::custom(format_args!("expected a finite number, got {value}")));
    }
    if value.trunc() == value && value.abs() <= MAX_INT as f64 {
        return serializer.serialize_i64(value as i64);
    }
    serializer.serialize_f64(value)
}

/// Serializes a list of numbers, each like [`number`].
pub(crate) fn numbers<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    let mut list = serializer.serialize_seq(Some(values.len()))?;
    for value in values {
        list.serialize_element(&Number(*value))?;
    }
    list.end()
}

/// A number that serializes like [`number`].
pub(crate) struct Number(pub f64);

impl serde::Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        number(&self.0, serializer)
    }
}
