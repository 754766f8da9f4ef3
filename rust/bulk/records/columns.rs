//! Rows of Arrow columns of any type, as records.

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use rayon::prelude::*;

use super::batch::{EncodedSpans, batch_of};
use super::generic::{PropertyValues, missing_among};
use super::langfuse::{self, Observation};
use super::properties::Record;
use super::value::{Object, Value};
use super::{Checked, RecordSpans};
use crate::error::{Error, Result};

/// The number of rows that one thread converts at a time.
const INLINE_ROW_BUDGET: usize = 256;

/// Returns the subset of the column names `names` that an import of columnar spans reads.
///
/// # Errors
/// [`Error::Decode`] if a required column is missing.
pub fn columns_read<'n>(names: &[&'n str]) -> Result<Vec<&'n str>> {
    if langfuse::is_observation(names.iter().copied()) {
        return Ok(names.iter().copied().filter(|name| Observation::name_of(name).is_some()).collect());
    }
    let missing = missing_among(names);
    if !missing.is_empty() {
        let available = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(Error::Decode(format!(
            "expected a column `span` of encoded spans, or spans in columns, found {available}: without `{}` a row is \
             no span",
            missing.join("`, `")
        )));
    }
    Ok(names.iter().copied().filter(|name| PropertyValues::name_of(name).is_some()).collect())
}

/// Returns the spans of the rows of `batch`. Runs on all cores.
///
/// # Errors
/// The errors of [`columns_read`]; [`Error::Batch`] if the bytes exceed the limit of a batch.
pub fn spans_of_columns(batch: &RecordBatch) -> Result<RecordSpans> {
    let fields = batch.schema_ref().fields().iter().map(|field| field.name().as_str());
    let names: Vec<&str> = fields.collect();
    columns_read(&names)?;
    let encoded = if langfuse::is_observation(names.iter().copied()) {
        encode::<Observation<'_>>(&names, batch)
    } else {
        encode::<PropertyValues<'_>>(&names, batch)
    };
    batch_of(encoded)
}

/// Returns the spans of the rows of `batch`, whose columns have these names.
fn encode<'a, R: Record<'a>>(names: &[&'a str], batch: &'a RecordBatch) -> Vec<EncodedSpans> {
    let columns = names.iter().zip(batch.columns());
    let read: Vec<_> =
        columns.filter_map(|(name, column)| Some((R::name_of(name)?, column.as_ref()))).collect();
    let span_of = |row| {
        let mut record = R::default();
        for (name, column) in &read {
            record.set(*name, value_at(*column, row)?);
        }
        record.into_span()
    };
    let parts = (0..batch.num_rows()).into_par_iter().step_by(INLINE_ROW_BUDGET);
    let rows = |first: usize| first..batch.num_rows().min(first + INLINE_ROW_BUDGET);
    parts.map(|first| rows(first).map(&span_of).collect()).collect()
}

/// Returns a row as an object without nulls.
fn object_of<'a>(
    columns: impl ExactSizeIterator<Item = (&'a str, &'a dyn Array)>,
    row: usize,
) -> Checked<Object<'a>> {
    let mut object = Object::with_capacity(columns.len());
    for (name, column) in columns {
        let value = value_at(column, row)?;
        if value != Value::Null {
            object.push((name.into(), value));
        }
    }
    Ok(object)
}

/// Returns the value in a row of a column. Instants are nanoseconds since 1970. Struct members that are null
/// are omitted.
fn value_at(column: &dyn Array, row: usize) -> Checked<Value<'_>> {
    if column.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match column.data_type() {
        DataType::Null => Value::Null,
        DataType::Boolean => Value::Bool(column.as_boolean().value(row)),
        DataType::Utf8 => Value::Text(column.as_string::<i32>().value(row).into()),
        DataType::LargeUtf8 => Value::Text(column.as_string::<i64>().value(row).into()),
        DataType::Utf8View => Value::Text(column.as_string_view().value(row).into()),
        DataType::Binary => Value::Bytes(column.as_binary::<i32>().value(row).into()),
        DataType::LargeBinary => Value::Bytes(column.as_binary::<i64>().value(row).into()),
        DataType::BinaryView => Value::Bytes(column.as_binary_view().value(row).into()),
        DataType::FixedSizeBinary(_) => Value::Bytes(column.as_fixed_size_binary().value(row).into()),
        DataType::Timestamp(unit, _) => Value::Int(nanos_at(column, *unit, row)?),
        kind if kind.is_numeric() => return number_at(column, row),
        DataType::Dictionary(_, _) => {
            let coded = column.as_any_dictionary();
            let Value::Int(key) = number_at(coded.keys(), row)? else { return Ok(Value::Null) };
            return value_at(coded.values().as_ref(), usize::try_from(key).unwrap_or(0));
        }
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(_, _) => list_at(column, row)?,
        DataType::Struct(fields) => {
            let parts = fields.iter().zip(column.as_struct().columns());
            Value::Object(object_of(parts.map(|(field, part)| (field.name().as_str(), part.as_ref())), row)?)
        }
        DataType::Map(_, _) => {
            let map = column.as_map();
            let offsets = map.value_offsets();
            let entries = (index(offsets[row])..index(offsets[row + 1])).map(|at| {
                let key = match value_at(map.keys().as_ref(), at)? {
                    Value::Text(key) => key,
                    other => other.to_string().into(),
                };
                Ok((key, value_at(map.values().as_ref(), at)?))
            });
            Value::Object(entries.collect::<Checked<_>>()?)
        }
        other => return Err(format!("values of the type {other} are not read")),
    })
}

fn list_at(column: &dyn Array, row: usize) -> Checked<Value<'_>> {
    let (values, range) = if let Some(list) = column.as_list_opt::<i32>() {
        (list.values(), index(list.value_offsets()[row])..index(list.value_offsets()[row + 1]))
    } else if let Some(list) = column.as_list_opt::<i64>() {
        let offsets = list.value_offsets();
        let at = |row: usize| usize::try_from(offsets[row]).unwrap_or(0);
        (list.values(), at(row)..at(row + 1))
    } else {
        let list = column.as_fixed_size_list();
        (list.values(), index(list.value_offset(row))..index(list.value_offset(row + 1)))
    };
    Ok(Value::List(range.map(|at| value_at(values.as_ref(), at)).collect::<Checked<_>>()?))
}

fn index(offset: i32) -> usize {
    usize::try_from(offset).unwrap_or(0)
}

fn number_at(column: &dyn Array, row: usize) -> Checked<Value<'_>> {
    fn at<T: ArrowPrimitiveType>(column: &dyn Array, row: usize) -> T::Native {
        column.as_primitive::<T>().value(row)
    }
    Ok(match column.data_type() {
        DataType::Int8 => Value::Int(at::<Int8Type>(column, row).into()),
        DataType::Int16 => Value::Int(at::<Int16Type>(column, row).into()),
        DataType::Int32 => Value::Int(at::<Int32Type>(column, row).into()),
        DataType::Int64 => Value::Int(at::<Int64Type>(column, row)),
        DataType::UInt8 => Value::Int(at::<UInt8Type>(column, row).into()),
        DataType::UInt16 => Value::Int(at::<UInt16Type>(column, row).into()),
        DataType::UInt32 => Value::Int(at::<UInt32Type>(column, row).into()),
        DataType::UInt64 => {
            let number = at::<UInt64Type>(column, row);
            i64::try_from(number).map_or_else(|_| Value::Text(number.to_string().into()), Value::Int)
        }
        DataType::Float16 => Value::Double(at::<Float16Type>(column, row).to_f64()),
        DataType::Float32 => Value::Double(at::<Float32Type>(column, row).into()),
        DataType::Float64 => Value::Double(at::<Float64Type>(column, row)),
        other => return Err(format!("values of the type {other} are not read")),
    })
}

fn nanos_at(column: &dyn Array, unit: TimeUnit, row: usize) -> Checked<i64> {
    let (count, nanos) = match unit {
        TimeUnit::Second => (column.as_primitive::<TimestampSecondType>().value(row), 1_000_000_000),
        TimeUnit::Millisecond => (column.as_primitive::<TimestampMillisecondType>().value(row), 1_000_000),
        TimeUnit::Microsecond => (column.as_primitive::<TimestampMicrosecondType>().value(row), 1_000),
        TimeUnit::Nanosecond => (column.as_primitive::<TimestampNanosecondType>().value(row), 1),
    };
    count.checked_mul(nanos).ok_or_else(|| "expected times from 1677 to 2262".to_owned())
}
