//! Finds the columns of a batch that a predicate reads, and checks their types.

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;

use super::planner::SpanRows;
use super::predicate::Predicate;
use crate::error::{Error, Result};
use crate::schema::{FIELDS, Field, FieldType};
use crate::trace::Trace;

/// The source that decides conditions on spans in a batch.
#[derive(Clone, Copy)]
pub(super) enum SpanSource<'a> {
    /// No source: a condition on spans is an error.
    None,
    /// No traces: the possible or the certain rows stand for the result.
    Rows(SpanRows),
    /// The trace of each row.
    Traces(&'a (dyn Fn(usize) -> &'a Trace + Sync)),
}

/// The columns of one batch, by field.
pub(super) struct Columns<'a> {
    by_field: [Option<&'a ArrayRef>; FIELDS.len()],
}

impl<'a> Columns<'a> {
    /// Finds every column that `predicate` reads, whether evaluation reaches it or not.
    pub(super) fn find(predicate: &Predicate, batch: &'a RecordBatch, spans: SpanSource<'_>) -> Result<Self> {
        if matches!(spans, SpanSource::None) && predicate.reads_spans() {
            let message = "a batch does not have what conditions on spans, texts and attributes ask for, expected \
                           conditions on columns";
            return Err(Error::Batch(message.into()));
        }
        let mut by_field = [None; FIELDS.len()];
        let mut found = Ok(());
        predicate.for_each_field(&mut |field| {
            if found.is_ok() && by_field[field.column()].is_none() {
                match column(field, batch) {
                    Ok(array) => by_field[field.column()] = Some(array),
                    Err(error) => found = Err(error),
                }
            }
        });
        found.map(|()| Self { by_field })
    }

    pub(super) fn get(&self, field: Field) -> &'a ArrayRef {
        self.by_field[field.column()].expect("every field of the predicate was found")
    }
}

fn column(field: Field, batch: &RecordBatch) -> Result<&ArrayRef> {
    let Some(array) = batch.column_by_name(field.key()) else {
        let expected = expected(field.field_type());
        return Err(Error::Batch(format!("column `{}` is missing, expected {expected}", field.key())));
    };
    if holds(array.data_type(), field.field_type()) {
        Ok(array)
    } else {
        Err(mistyped(field, array.data_type()))
    }
}

/// Returns the error for a column whose type cannot hold its field.
pub(super) fn mistyped(field: Field, found: &DataType) -> Error {
    let (key, expected) = (field.key(), expected(field.field_type()));
    Error::Batch(format!("column `{key}` is of type `{found}`, expected {expected}"))
}

fn expected(kind: FieldType) -> &'static str {
    match kind {
        FieldType::Text | FieldType::Status => "text, plain or in a dictionary",
        FieldType::Number => "whole or floating-point numbers",
        FieldType::Time => "timestamps or dates",
        FieldType::Dollars | FieldType::Boolean | FieldType::Content => "no column",
    }
}

/// Returns `true` if a column of this type can hold a field of this kind. A column of type `Null` can hold
/// any field, because it has no values.
fn holds(found: &DataType, kind: FieldType) -> bool {
    let is_text =
        |found: &DataType| matches!(found, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    match (kind, found) {
        (_, DataType::Null) => true,
        (FieldType::Text | FieldType::Status, DataType::Dictionary(_, values)) => is_text(values),
        (FieldType::Text | FieldType::Status, found) => is_text(found),
        (FieldType::Number, found) => {
            found.is_integer() || matches!(found, DataType::Float32 | DataType::Float64)
        }
        (FieldType::Time, found) => {
            matches!(found, DataType::Timestamp(_, _) | DataType::Date32 | DataType::Date64)
        }
        (FieldType::Dollars | FieldType::Boolean | FieldType::Content, _) => false,
    }
}
