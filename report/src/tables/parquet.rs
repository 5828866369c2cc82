//! Tables in Apache Parquet: columns of optional values, compressed with Snappy.

use std::io::Write;
use std::sync::Arc;

use anyhow::Context as _;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use serde_json::Value;

use super::{ColumnDoc, ColumnKind, TableRow, columns};

/// Number of rows per row group. Readers load a whole row group into memory.
const GROUP: usize = 10_000;

/// Writes a table, with `about` as the key-value metadata.
///
/// # Errors
/// Returns an error if the file cannot be written, or if a value does not have the kind of its column.
pub fn write<R: TableRow>(rows: &[R], about: &[(&str, &str)], out: impl Write + Send) -> anyhow::Result<()> {
    let columns = columns::<R>();
    let fields = columns.iter().map(|column| field(column).map(Arc::new)).collect::<Result<_, _>>()?;
    let schema = Type::group_type_builder(R::WHAT).with_fields(fields).build()?;
    let notes = about.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), (*value).to_owned())).collect();
    let settings = WriterProperties::builder()
        .set_created_by(crate::PROGRAM.to_owned())
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(notes))
        .build();
    let mut file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(settings))?;
    for rows in rows.chunks(GROUP) {
        let rows = rows.iter().map(serde_json::to_value).collect::<Result<Vec<Value>, _>>()?;
        let mut group = file.next_row_group()?;
        for column in &columns {
            let mut writer = group.next_column()?.context("expected a parquet column for each table column")?;
            put(&mut writer, column, &rows).with_context(|| format!("column {}", column.name))?;
            writer.close()?;
        }
        group.close()?;
    }
    file.close()?;
    Ok(())
}

fn field(column: &ColumnDoc) -> Result<Type, parquet::errors::ParquetError> {
    let (physical, logical) = match column.kind {
        // Lists and objects are JSON text.
        ColumnKind::Text | ColumnKind::Nested => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        ColumnKind::Integer => (Physical::INT64, None),
        ColumnKind::Number => (Physical::DOUBLE, None),
        ColumnKind::Flag => (Physical::BOOLEAN, None),
    };
    let builder = Type::primitive_type_builder(&column.name, physical).with_repetition(Repetition::OPTIONAL);
    builder.with_logical_type(logical).build()
}

/// Writes one column of a row group.
fn put(writer: &mut SerializedColumnWriter, column: &ColumnDoc, rows: &[Value]) -> anyhow::Result<()> {
    let cells = || rows.iter().map(|row| &row[&column.name]);
    let levels: Vec<i16> = cells().map(|value| i16::from(!value.is_null())).collect();
    let wrong = |value: &Value| format!("expected a value of kind {}, got {value}", column.kind.name());
    let there = || cells().filter(|value| !value.is_null());
    let written = match column.kind {
        ColumnKind::Text => {
            let text = |v: &Value| v.as_str().map(ByteArray::from).with_context(|| wrong(v));
            let values = there().map(text).collect::<anyhow::Result<Vec<_>>>()?;
            writer.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?
        }
        ColumnKind::Nested => {
            let values: Vec<ByteArray> = there().map(|v| ByteArray::from(v.to_string().as_str())).collect();
            writer.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?
        }
        ColumnKind::Integer => {
            let values = there().map(|v| v.as_i64().with_context(|| wrong(v))).collect::<anyhow::Result<Vec<_>>>()?;
            writer.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?
        }
        ColumnKind::Number => {
            let values = there().map(|v| v.as_f64().with_context(|| wrong(v))).collect::<anyhow::Result<Vec<_>>>()?;
            writer.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?
        }
        ColumnKind::Flag => {
            let values = there().map(|v| v.as_bool().with_context(|| wrong(v))).collect::<anyhow::Result<Vec<_>>>()?;
            writer.typed::<BoolType>().write_batch(&values, Some(&levels), None)?
        }
    };
    debug_assert_eq!(written, levels.iter().filter(|&&level| level == 1).count(), "every value is written");
    Ok(())
}
