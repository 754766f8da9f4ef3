//! The Arrow columns of spans, as one table.
//!
//! `span`, `resource` and `scope` with their schema URLs are the span as it is stored: encoded OTLP messages,
//! including unknown fields. An import reads only these columns and `created_at`. The other columns repeat
//! parts of them, for queries without decoding OTLP.

use std::sync::{Arc, LazyLock};

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

/// The Arrow type of a column of spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SpanColumnType {
    /// UTF-8.
    Text,
    /// UTF-8 with few distinct values, dictionary-encoded.
    Word,
    /// Bytes.
    Bytes,
    /// Bytes that many spans share, dictionary-encoded.
    Shared,
    /// Text that many spans share, dictionary-encoded.
    SharedText,
    /// Nanoseconds since 1970, UTC.
    Nanos,
    /// Microseconds since 1970, UTC.
    Micros,
}

/// The table: name, type, and `true` for a nullable column.
const COLUMNS: [(&str, SpanColumnType, bool); 15] = [
    ("trace_id", SpanColumnType::Text, false),
    ("span_id", SpanColumnType::Text, false),
    ("parent_span_id", SpanColumnType::Text, true),
    ("name", SpanColumnType::Text, false),
    ("kind", SpanColumnType::Word, false),
    ("start_time", SpanColumnType::Nanos, false),
    ("end_time", SpanColumnType::Nanos, true),
    ("status", SpanColumnType::Word, false),
    ("status_message", SpanColumnType::Text, true),
    (CREATED_AT, SpanColumnType::Micros, false),
    (SPAN, SpanColumnType::Bytes, false),
    (RESOURCE, SpanColumnType::Shared, true),
    (RESOURCE_SCHEMA_URL, SpanColumnType::SharedText, true),
    (SCOPE, SpanColumnType::Shared, true),
    (SCOPE_SCHEMA_URL, SpanColumnType::SharedText, true),
];

/// The time when the span's trace was first received.
pub(super) const CREATED_AT: &str = "created_at";
/// An encoded OTLP `Span`.
pub(super) const SPAN: &str = "span";
/// An encoded OTLP `Resource`.
pub(super) const RESOURCE: &str = "resource";
pub(super) const RESOURCE_SCHEMA_URL: &str = "resource_schema_url";
/// An encoded OTLP `InstrumentationScope`.
pub(super) const SCOPE: &str = "scope";
pub(super) const SCOPE_SCHEMA_URL: &str = "scope_schema_url";

/// The values of `kind`, indexed by their OTLP numbers.
pub(super) const KINDS: [&str; 6] = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];
/// The values of `status`, indexed by their OTLP numbers.
pub(super) const STATUSES: [&str; 3] = ["UNSET", "OK", "ERROR"];

fn data_type(column_type: SpanColumnType) -> DataType {
    let coded = |values| DataType::Dictionary(Box::new(DataType::Int32), Box::new(values));
    match column_type {
        SpanColumnType::Text => DataType::Utf8,
        SpanColumnType::Word | SpanColumnType::SharedText => coded(DataType::Utf8),
        SpanColumnType::Bytes => DataType::Binary,
        SpanColumnType::Shared => coded(DataType::Binary),
        SpanColumnType::Nanos => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
        SpanColumnType::Micros => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
    }
}

static SPAN_SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let fields =
        COLUMNS.map(|(name, column_type, nullable)| Field::new(name, data_type(column_type), nullable));
    Arc::new(Schema::new(fields.to_vec()))
});

/// Returns the Arrow schema of spans.
pub fn span_schema() -> SchemaRef {
    SPAN_SCHEMA.clone()
}
