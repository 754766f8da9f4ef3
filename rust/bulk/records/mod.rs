//! Spans exported by other programs, as records of named values: rows of Arrow columns, or JSON objects.
//!
//! Every record becomes an encoded OTLP span. An import then checks it like a received span.
//!
//! ```text
//! rows of columns -> values \
//!                             -> span, with its resource and scope -> batch of encoded spans
//! JSON            -> values /    (generic, langfuse, jaeger)
//! ```

mod attributes;
mod batch;
mod columns;
mod generic;
mod ids;
mod jaeger;
mod json;
mod langfuse;
mod lines;
mod properties;
mod value;

use arrow_array::RecordBatch;

pub use columns::{columns_read, spans_of_columns};
pub use json::{spans_of_json, spans_of_json_lines};
pub use lines::{JsonPart, JsonSplit, PartKind, split_json};

/// The spans of some records.
#[derive(Debug)]
pub struct RecordSpans {
    /// The encoded spans, as the import columns of [`super::span_schema`].
    pub batch: RecordBatch,
    /// The position and reason of each invalid record. For records with one line each, the position is the
    /// number of lines before the record.
    pub rejected: Vec<(usize, String)>,
    /// The number of spans, including rejected ones.
    pub count: usize,
}

/// A value, or the reason why a record is not a span.
type Checked<T> = std::result::Result<T, String>;

/// A span encoded as OTLP, with its shared parts.
#[derive(Debug, Default, Clone)]
struct EncodedSpan {
    span: Vec<u8>,
    resource: Vec<u8>,
    scope: Vec<u8>,
    /// The time when its trace was first received, in microseconds since 1970.
    created_at: Option<i64>,
}
