//! The columns of spans in Arrow, as one table.
//!
//! `span`, `resource` and `scope` with their schemas are the span as it is stored: encoded OTLP messages,
//! unknown fields included. They and `created_at` are all that an import reads. The others say the same
//! in a form that can be asked for without knowing OTLP.

use std::sync::{Arc, LazyLock};

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

/// How a column of spans is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// UTF-8.
    Text,
    /// UTF-8 of few distinct values: dictionary codes.
    Word,
    /// Bytes.
    Bytes,
    /// Bytes that many spans have in common: dictionary codes.
    Shared,
    /// Text that many spans have in common.
    SharedText,
    /// Nanoseconds since 1970, UTC.
    Nanos,
    /// Microseconds since 1970, UTC.
    Micros,
}

/// The table: the name of a column, its layout, and whether a span may be without it.
const COLUMNS: [(&str, Layout, bool); 15] = [
    ("trace_id", Layout::Text, false),
    ("span_id", Layout::Text, false),
    ("parent_span_id", Layout::Text, true),
    ("name", Layout::Text, false),
    ("kind", Layout::Word, false),
    ("start_time", Layout::Nanos, false),
    ("end_time", Layout::Nanos, true),
    ("status", Layout::Word, false),
    ("status_message", Layout::Text, true),
    (CREATED_AT, Layout::Micros, false),
    (SPAN, Layout::Bytes, false),
    (RESOURCE, Layout::Shared, true),
    (RESOURCE_SCHEMA_URL, Layout::SharedText, true),
    (SCOPE, Layout::Shared, true),
    (SCOPE_SCHEMA_URL, Layout::SharedText, true),
];

/// When the span's trace was first received.
pub(super) const CREATED_AT: &str = "created_at";
/// An encoded OTLP `Span`.
pub(super) const SPAN: &str = "span";
/// An encoded OTLP `Resource`.
pub(super) const RESOURCE: &str = "resource";
pub(super) const RESOURCE_SCHEMA_URL: &str = "resource_schema_url";
/// An encoded OTLP `InstrumentationScope`.
pub(super) const SCOPE: &str = "scope";
pub(super) const SCOPE_SCHEMA_URL: &str = "scope_schema_url";

/// What `kind` says, by the number OTLP has for it.
pub(super) const KINDS: [&str; 6] = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];
/// What `status` says, by the number OTLP has for it.
pub(super) const STATUSES: [&str; 3] = ["UNSET", "OK", "ERROR"];

fn data_type(layout: Layout) -> DataType {
    let coded = |values| DataType::Dictionary(Box::new(DataType::Int32), Box::new(values));
    match layout {
        Layout::Text => DataType::Utf8,
        Layout::Word | Layout::SharedText => coded(DataType::Utf8),
        Layout::Bytes => DataType::Binary,
        Layout::Shared => coded(DataType::Binary),
        Layout::Nanos => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
        Layout::Micros => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
    }
}

static SPAN_SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let fields = COLUMNS.map(|(name, layout, nullable)| Field::new(name, data_type(layout), nullable));
    Arc::new(Schema::new(fields.to_vec()))
});

/// Returns the schema of spans in Arrow.
pub fn span_schema() -> SchemaRef {
    SPAN_SCHEMA.clone()
}
