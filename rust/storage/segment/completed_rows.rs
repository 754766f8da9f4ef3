//! Completes rows of format 1 from the documents: they lack the columns of [`ADDED`].
//!
//! Only segments from an older version have such rows, and each merge writes the newest format.

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::UInt64Type;
use arrow_array::{Array as _, RecordBatch};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use crate::error::{Error, Result};
use crate::otlp::TraceId;
use crate::priority;
use crate::schema::{FIELDS, Field, trace_schema};
use crate::storage::segment::documents::{DocumentLocation, SegmentDocuments};
use crate::trace::row::to_batch;
use crate::trace::{Trace, TraceRow};

/// The fields that format 2 added.
const ADDED: [Field; 8] = [
    Field::Service,
    Field::Environment,
    Field::Release,
    Field::TotalTokens,
    Field::CachedTokens,
    Field::ReasoningTokens,
    Field::LlmCalls,
    Field::ToolCalls,
];

/// The number of documents that one thread reads at a time.
const CHUNK_ROWS: usize = 4_096;

/// Returns the schema of a trace batch in format 1.
pub(super) fn first_schema() -> SchemaRef {
    let stored = FIELDS.iter().map(|info| info.field).filter(|field| !ADDED.contains(field));
    let stored: Vec<_> = stored.map(|field| trace_schema().fields()[field.column()].clone()).collect();
    Arc::new(Schema::new(stored))
}

/// Converts rows of [`first_schema`] to rows of [`trace_schema`]. `locations` are the offset, stored length
/// and decoded size of each document. A row with a damaged document keeps its columns, and its added columns
/// are empty.
///
/// # Errors
/// [`Error::Storage`] if a document cannot be read.
pub(super) fn complete(
    first: &RecordBatch,
    locations: [&arrow_array::PrimitiveArray<UInt64Type>; 3],
    documents: &SegmentDocuments,
) -> Result<RecordBatch> {
    let ids = first.column_by_name(Field::TraceId.key()).and_then(|column| column.as_string_opt::<i32>());
    let id = |row: usize| ids.filter(|ids| row < ids.len()).and_then(|ids| TraceId::from_hex(ids.value(row)));
    let row_of = |row: usize| {
        let malformed = || Error::damage(&documents.path, 0, format!("expected a trace id in row {row}"));
        let id = id(row).ok_or_else(malformed)?;
        let [offset, length, decoded] = locations.map(|column| column.value(row));
        let trace = documents
            .read(DocumentLocation { offset, length, decoded })
            .and_then(|document| Trace::from_document(id, 0, document));
        match trace {
            Ok(trace) => Ok(TraceRow::of(&trace)),
            Err(Error::Damage { .. } | Error::Decode(_)) => Ok(TraceRow::of(&Trace::new(id, 0))),
            Err(error) => Err(error),
        }
    };
    let starts: Vec<usize> = (0..first.num_rows()).step_by(CHUNK_ROWS).collect();
    let read = |start: usize| {
        let end = first.num_rows().min(start + CHUNK_ROWS);
        Ok(to_batch(&(start..end).map(row_of).collect::<Result<Vec<_>>>()?))
    };
    let chunks =
        priority::POOL.install(|| starts.into_par_iter().map(read).collect::<Result<Vec<RecordBatch>>>())?;
    join(first, &chunks).map_err(|error| Error::storage(&documents.path, error))
}

/// Returns the columns of `first` with the added columns of `chunks`.
fn join(first: &RecordBatch, chunks: &[RecordBatch]) -> std::result::Result<RecordBatch, ArrowError> {
    let added = concat_batches(&trace_schema(), chunks)?;
    let column = |field: Field| first.column_by_name(field.key()).unwrap_or(added.column(field.column()));
    RecordBatch::try_new(trace_schema(), FIELDS.iter().map(|info| column(info.field).clone()).collect())
}
