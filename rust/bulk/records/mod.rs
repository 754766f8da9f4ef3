//! Spans that other programs exported, as records of named values: rows of Arrow columns, or JSON objects.
//!
//! Every record becomes an encoded OTLP span, which an import then checks like one that was sent.
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
    /// The encoded spans, as the columns of [`super::span_schema`] that an import reads.
    pub batch: RecordBatch,
    /// The position of each record that is no span, and why. Of records on lines of their own it is the number of lines before
    /// the record.
    pub rejected: Vec<(usize, String)>,
    /// How many spans there are, the rejected ones included.
    pub count: usize,
}

/// A value, or why a record is no span.
type Checked<T> = std::result::Result<T, String>;

/// A span, encoded as OTLP, with what it shares with others.
#[derive(Debug, Default, Clone)]
struct EncodedSpan {
    span: Vec<u8>,
    resource: Vec<u8>,
    scope: Vec<u8>,
    /// When its trace was first received, in microseconds since 1970.
    created_at: Option<i64>,
}
