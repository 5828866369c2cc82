//! Values of PostgreSQL.

use bytes::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::value::{ColumnValue, Row};

type Failed = Box<dyn std::error::Error + Sync + Send>;

impl ToSql for ColumnValue<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Failed> {
        match self {
            ColumnValue::Null => Ok(IsNull::Yes),
            ColumnValue::Int(n) if *ty == Type::INT4 => i32::try_from(*n)?.to_sql(ty, out),
            ColumnValue::Int(n) => n.to_sql_checked(ty, out),
            ColumnValue::Text(text) => text.to_sql_checked(ty, out),
            ColumnValue::Blob(bytes) => bytes.as_ref().to_sql_checked(ty, out),
        }
    }

    /// Accepts every type, since the value checks its own.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Parameter of a request: a value, or the values of a column.
#[derive(Debug)]
pub(super) enum Param<'a> {
    One(&'a ColumnValue<'a>),
    Many(Vec<&'a ColumnValue<'a>>),
}

impl ToSql for Param<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Failed> {
        match self {
            Param::One(value) => value.to_sql(ty, out),
            Param::Many(values) => values.to_sql_checked(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl FromSql<'_> for ColumnValue<'static> {
    fn from_sql(ty: &Type, raw: &[u8]) -> Result<Self, Failed> {
        Ok(match *ty {
            Type::BOOL => bool::from_sql(ty, raw)?.into(),
            Type::INT4 => i64::from(i32::from_sql(ty, raw)?).into(),
            Type::INT8 => i64::from_sql(ty, raw)?.into(),
            Type::BYTEA => Vec::<u8>::from_sql(ty, raw)?.into(),
            _ => String::from_sql(ty, raw)?.into(),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Failed> {
        Ok(ColumnValue::Null)
    }

    fn accepts(ty: &Type) -> bool {
        matches!(*ty, Type::BOOL | Type::INT4 | Type::INT8 | Type::BYTEA | Type::TEXT | Type::VARCHAR | Type::NAME)
    }
}

/// Reads all columns of a row.
pub(super) fn row(row: &tokio_postgres::Row) -> Result<Row, tokio_postgres::Error> {
    (0..row.len()).map(|k| row.try_get(k)).collect::<Result<_, _>>().map(Row::new)
}
