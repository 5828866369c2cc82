//! Values of columns, and rows of results, independent of the database.

use std::borrow::Cow;

use super::StoreError;

/// ColumnValue of a column or a parameter. Booleans are the integers 0 and 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum ColumnValue<'a> {
    #[default]
    Null,
    Int(i64),
    Text(Cow<'a, str>),
    Blob(Cow<'a, [u8]>),
}

impl ColumnValue<'_> {
    /// Returns the name of the value's type, for errors.
    fn kind(&self) -> &'static str {
        match self {
            ColumnValue::Null => "null",
            ColumnValue::Int(_) => "an integer",
            ColumnValue::Text(_) => "text",
            ColumnValue::Blob(_) => "bytes",
        }
    }
}

impl From<i64> for ColumnValue<'_> {
    fn from(n: i64) -> Self {
        ColumnValue::Int(n)
    }
}

impl From<u32> for ColumnValue<'_> {
    fn from(n: u32) -> Self {
        ColumnValue::Int(i64::from(n))
    }
}

impl From<bool> for ColumnValue<'_> {
    fn from(is_true: bool) -> Self {
        ColumnValue::Int(i64::from(is_true))
    }
}

impl From<String> for ColumnValue<'_> {
    fn from(text: String) -> Self {
        ColumnValue::Text(Cow::Owned(text))
    }
}

impl<'a> From<&'a str> for ColumnValue<'a> {
    fn from(text: &'a str) -> Self {
        ColumnValue::Text(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a String> for ColumnValue<'a> {
    fn from(text: &'a String) -> Self {
        ColumnValue::Text(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a [u8]> for ColumnValue<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        ColumnValue::Blob(Cow::Borrowed(bytes))
    }
}

impl From<Vec<u8>> for ColumnValue<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        ColumnValue::Blob(Cow::Owned(bytes))
    }
}

impl<'a, T: Into<ColumnValue<'a>>> From<Option<T>> for ColumnValue<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(ColumnValue::Null, Into::into)
    }
}

/// Converts to the signed integers of columns. Overflow yields null, which the schema rejects.
pub(crate) fn column_int(n: u64) -> Option<i64> {
    i64::try_from(n).ok()
}

/// Converts to the signed integers of conditions. Overflow yields the maximum.
pub(crate) fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Row of a result. Its columns are taken in order.
pub(crate) struct Row(std::vec::IntoIter<ColumnValue<'static>>);

impl Row {
    pub(crate) fn new(values: Vec<ColumnValue<'static>>) -> Self {
        Row(values.into_iter())
    }

    /// Returns the value of the next column.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unreadable`] for a value of another type.
    pub(crate) fn take<T: FromValue>(&mut self) -> Result<T, StoreError> {
        let value = self.0.next().unwrap_or_default();
        let got = value.kind();
        T::from_value(value).ok_or_else(|| unreadable("a value", format!("expected {}, got {got}", T::EXPECTED)))
    }

    /// Returns the values of all columns that are left.
    pub(crate) fn values(self) -> Vec<ColumnValue<'static>> {
        self.0.collect()
    }
}

/// Error for a value that cannot be read.
pub(crate) fn unreadable(what: &str, why: impl ToString) -> StoreError {
    StoreError::Unreadable { what: what.to_owned(), message: why.to_string() }
}

/// Type of values that columns can hold.
pub(crate) trait FromValue: Sized {
    /// Name of the type, for errors.
    const EXPECTED: &'static str;

    /// Converts a value; `None` for a value of another type.
    fn from_value(value: ColumnValue<'static>) -> Option<Self>;
}

impl FromValue for i64 {
    const EXPECTED: &'static str = "an integer";

    fn from_value(value: ColumnValue<'static>) -> Option<Self> {
        match value {
            ColumnValue::Int(n) => Some(n),
            _ => None,
        }
    }
}

impl FromValue for u64 {
    const EXPECTED: &'static str = "an integer";

    /// Converts an integer; a negative one yields 0.
    fn from_value(value: ColumnValue<'static>) -> Option<Self> {
        i64::from_value(value).map(|n| n.max(0).cast_unsigned())
    }
}

impl FromValue for u32 {
    const EXPECTED: &'static str = "an integer below 2^32";

    fn from_value(value: ColumnValue<'static>) -> Option<Self> {
        i64::from_value(value).and_then(|n| u32::try_from(n).ok())
    }
}

impl FromValue for bool {
    const EXPECTED: &'static str = "0 or 1";

    fn from_value(value: ColumnValue<'static>) -> Option<Self> {
        i64::from_value(value).map(|n| n != 0)
    }
}

impl FromValue for String {
    const EXPECTED: &'static str = "text";

    fn from_value(value: ColumnValue<'static>) -> Option<Self> {
        match value {
            ColumnValue::Text(text) => Some(text.into_owned()),
            _ => None,
        }
    }
}

impl FromValue for Vec<u8> {
    const EXPECTED: &'static str = "bytes";

    fn from_value(value: ColumnValue<'static>) -> Option<Self> {
        match value {
            ColumnValue::Blob(bytes) => Some(bytes.into_owned()),
            _ => None,
        }
    }
}

impl<T: FromValue> FromValue for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn from_value(value: ColumnValue<'static>) -> Option<Self> {
        match value {
            ColumnValue::Null => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}
