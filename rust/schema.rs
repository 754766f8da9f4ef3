//! The fields of a trace row, as one table.
//!
//! All code that depends on a field reads this table: its filter operators, its column in a batch, and its
//! entry in `/traces/filter-schema`. A new field is a new row.

use std::sync::{Arc, LazyLock};

use arrow_schema::{DataType, Field as ArrowField, Schema, SchemaRef, TimeUnit};

/// The type of a field, which determines the operators it supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    /// Any text, compared by code point.
    Text,
    /// `OK` or `ERROR`.
    Status,
    /// An integer.
    Number,
    /// An amount of money, in dollars.
    Dollars,
    /// An instant.
    Time,
    /// True or false.
    Boolean,
    /// Texts of any length, matched by content search.
    Content,
}

/// A comparison of a field with a value (`docs/reference/filter.md#operators`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// Equal.
    Eq,
    /// Not equal.
    Neq,
    /// Greater.
    Gt,
    /// Greater or equal.
    Gte,
    /// Less.
    Lt,
    /// Less or equal.
    Lte,
    /// One of several.
    In,
    /// Contains the text.
    Contains,
    /// Starts with the text.
    StartsWith,
    /// Has a value.
    Exists,
}

impl Operator {
    /// Every operator with its name in filters.
    pub const WORDS: [(&'static str, Self); 10] = [
        ("EQ", Self::Eq),
        ("NEQ", Self::Neq),
        ("GT", Self::Gt),
        ("GTE", Self::Gte),
        ("LT", Self::Lt),
        ("LTE", Self::Lte),
        ("IN", Self::In),
        ("CONTAINS", Self::Contains),
        ("STARTSWITH", Self::StartsWith),
        ("EXISTS", Self::Exists),
    ];

    /// Returns the operator's name in filters.
    pub fn word(self) -> &'static str {
        Self::WORDS[self as usize].0
    }

    /// Returns the operator named `word`, which must be in upper case.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(name, _)| *name == word).map(|(_, operator)| *operator)
    }
}

impl FieldType {
    /// Returns the operators that a field of this type supports.
    pub fn operators(self) -> &'static [Operator] {
        use Operator::{Contains, Eq, Exists, Gt, Gte, In, Lt, Lte, Neq, StartsWith};
        match self {
            Self::Text => &[Eq, Neq, Gt, Gte, Lt, Lte, In, Contains, StartsWith, Exists],
            Self::Status => &[Eq, Neq, In, Exists],
            Self::Number | Self::Dollars | Self::Time => &[Eq, Neq, Gt, Gte, Lt, Lte, In, Exists],
            Self::Boolean => &[Eq, Neq, Exists],
            Self::Content => &[Contains, Exists],
        }
    }

    /// Returns the type's name in `/traces/filter-schema`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Status => "enum",
            Self::Number | Self::Dollars => "number",
            Self::Time => "datetime",
            Self::Boolean => "boolean",
            Self::Content => "text",
        }
    }
}

/// A filterable field. Its discriminant is its column in a trace batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the variants are the names of the fields")]
pub enum Field {
    Status,
    UserId,
    AgentId,
    TeamId,
    WorkflowId,
    SessionId,
    RunId,
    Name,
    Service,
    Environment,
    Release,
    TraceId,
    DurationMs,
    StartTime,
    EndTime,
    CreatedAt,
    TotalSpans,
    ErrorCount,
    InputTokens,
    OutputTokens,
    TotalTokens,
    CachedTokens,
    ReasoningTokens,
    LlmCalls,
    ToolCalls,
}

/// The type of a column in batches of this store. Filters also accept other text layouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnType {
    /// Mostly distinct text: plain UTF-8.
    Plain,
    /// Recurring text, dictionary-encoded.
    Coded,
    /// A 64-bit integer.
    Whole,
    /// Microseconds since 1970, UTC.
    Micros,
}

/// A row of the table of fields.
#[derive(Debug)]
pub struct FieldInfo {
    /// The field.
    pub field: Field,
    /// Its name in filters, batches and responses.
    pub key: &'static str,
    /// Its display name.
    pub label: &'static str,
    /// Its type.
    pub field_type: FieldType,
    /// True if a trace may lack the field.
    pub nullable: bool,
    column_type: ColumnType,
}

const fn info(
    field: Field,
    names: (&'static str, &'static str),
    field_type: FieldType,
    nullable: bool,
    column_type: ColumnType,
) -> FieldInfo {
    FieldInfo { field, key: names.0, label: names.1, field_type, nullable, column_type }
}

/// Returns the table row of a numeric field that every trace has.
const fn whole(field: Field, key: &'static str, label: &'static str) -> FieldInfo {
    info(field, (key, label), FieldType::Number, false, ColumnType::Whole)
}

/// The table of fields, in the order of the columns and of `/traces/filter-schema`.
pub static FIELDS: [FieldInfo; 25] = [
    info(Field::Status, ("status", "Status"), FieldType::Status, false, ColumnType::Coded),
    info(Field::UserId, ("user_id", "User ID"), FieldType::Text, true, ColumnType::Coded),
    info(Field::AgentId, ("agent_id", "Agent ID"), FieldType::Text, true, ColumnType::Coded),
    info(Field::TeamId, ("team_id", "Team ID"), FieldType::Text, true, ColumnType::Coded),
    info(Field::WorkflowId, ("workflow_id", "Workflow ID"), FieldType::Text, true, ColumnType::Coded),
    info(Field::SessionId, ("session_id", "Session ID"), FieldType::Text, true, ColumnType::Coded),
    info(Field::RunId, ("run_id", "Run ID"), FieldType::Text, true, ColumnType::Plain),
    info(Field::Name, ("name", "Trace Name"), FieldType::Text, false, ColumnType::Coded),
    info(Field::Service, ("service", "Service"), FieldType::Text, true, ColumnType::Coded),
    info(Field::Environment, ("environment", "Environment"), FieldType::Text, true, ColumnType::Coded),
    info(Field::Release, ("release", "Release"), FieldType::Text, true, ColumnType::Coded),
    info(Field::TraceId, ("trace_id", "Trace ID"), FieldType::Text, false, ColumnType::Plain),
    whole(Field::DurationMs, "duration_ms", "Duration (ms)"),
    info(Field::StartTime, ("start_time", "Start Time"), FieldType::Time, false, ColumnType::Micros),
    info(Field::EndTime, ("end_time", "End Time"), FieldType::Time, false, ColumnType::Micros),
    info(Field::CreatedAt, ("created_at", "Created At"), FieldType::Time, false, ColumnType::Micros),
    whole(Field::TotalSpans, "total_spans", "Spans"),
    whole(Field::ErrorCount, "error_count", "Failed Spans"),
    whole(Field::InputTokens, "input_tokens", "Input Tokens"),
    whole(Field::OutputTokens, "output_tokens", "Output Tokens"),
    whole(Field::TotalTokens, "total_tokens", "Tokens"),
    whole(Field::CachedTokens, "cached_tokens", "Cached Tokens"),
    whole(Field::ReasoningTokens, "reasoning_tokens", "Reasoning Tokens"),
    whole(Field::LlmCalls, "llm_calls", "LLM Calls"),
    whole(Field::ToolCalls, "tool_calls", "Tool Calls"),
];

/// The values of `status`.
pub const STATUSES: [&str; 2] = ["OK", "ERROR"];

impl Field {
    /// Returns the field's row of the table.
    pub fn info(self) -> &'static FieldInfo {
        &FIELDS[self as usize]
    }

    /// Returns the field's name in filters, batches and responses.
    pub fn key(self) -> &'static str {
        self.info().key
    }

    /// Returns the field's type.
    pub fn field_type(self) -> FieldType {
        self.info().field_type
    }

    /// Returns the field's column in a trace batch.
    pub fn column(self) -> usize {
        self as usize
    }

    /// Returns the field named `key`.
    pub fn from_key(key: &str) -> Option<Self> {
        FIELDS.iter().find(|info| info.key == key).map(|info| info.field)
    }
}

fn data_type(column_type: ColumnType) -> DataType {
    match column_type {
        ColumnType::Plain => DataType::Utf8,
        ColumnType::Coded => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        ColumnType::Whole => DataType::Int64,
        ColumnType::Micros => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
    }
}

static TRACE_SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let fields =
        FIELDS.iter().map(|info| ArrowField::new(info.key, data_type(info.column_type), info.nullable));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
});

/// Returns the schema of a trace batch, built from [`FIELDS`].
pub fn trace_schema() -> SchemaRef {
    TRACE_SCHEMA.clone()
}
