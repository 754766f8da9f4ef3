//! The fields of a trace row, as one table.
//!
//! Everything that must agree about a field reads it here: which filter operators it takes, which
//! column of a batch it is, how `/traces/filter-schema` shows it. A new field is a new row.

use std::sync::{Arc, LazyLock};

use arrow_schema::{DataType, Field as ArrowField, Schema, SchemaRef, TimeUnit};

/// What kind of value a field holds, and so what may be asked of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any text, compared by code point.
    Text,
    /// `OK` or `ERROR`.
    Status,
    /// A whole number of milliseconds.
    Number,
    /// An instant.
    Time,
}

/// An operator that stands between a field and a value (specification, "Filter expression").
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
    /// Has the text within it.
    Contains,
    /// Begins with the text.
    StartsWith,
    /// Is there at all.
    Exists,
}

impl Operator {
    /// Every operator, with the word a filter uses for it.
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

    /// Returns the word a filter uses for this operator.
    pub fn word(self) -> &'static str {
        Self::WORDS[self as usize].0
    }

    /// Returns the operator that `word` names; upper case only.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(name, _)| *name == word).map(|(_, operator)| *operator)
    }
}

impl Kind {
    /// Returns the operators a field of this kind takes.
    pub fn operators(self) -> &'static [Operator] {
        use Operator::{Contains, Eq, Exists, Gt, Gte, In, Lt, Lte, Neq, StartsWith};
        match self {
            Self::Text => &[Eq, Neq, Gt, Gte, Lt, Lte, In, Contains, StartsWith, Exists],
            Self::Status => &[Eq, Neq, In, Exists],
            Self::Number | Self::Time => &[Eq, Neq, Gt, Gte, Lt, Lte, In, Exists],
        }
    }

    /// Returns the word `/traces/filter-schema` uses for this kind.
    pub fn word(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Status => "enum",
            Self::Number => "number",
            Self::Time => "datetime",
        }
    }
}

/// A filterable field. Its number is its column in a trace batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the variants are the field names of the specification")]
pub enum Field {
    Status,
    UserId,
    AgentId,
    TeamId,
    WorkflowId,
    SessionId,
    RunId,
    Name,
    TraceId,
    DurationMs,
    StartTime,
    EndTime,
    CreatedAt,
}

/// How a text column is stored in our own batches. Batches of others may hold text in any layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Mostly distinct values: plain UTF-8.
    Plain,
    /// Values that recur: dictionary codes.
    Coded,
    /// A 64-bit whole number.
    Whole,
    /// Microseconds since 1970, UTC.
    Micros,
}

/// One row of the table of fields.
#[derive(Debug)]
pub struct FieldInfo {
    /// Which field this is.
    pub field: Field,
    /// Its name in filters, batches and answers.
    pub key: &'static str,
    /// Its name for people.
    pub label: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Whether a trace may be without it.
    pub nullable: bool,
    layout: Layout,
}

const fn info(
    field: Field,
    names: (&'static str, &'static str),
    kind: Kind,
    nullable: bool,
    layout: Layout,
) -> FieldInfo {
    FieldInfo { field, key: names.0, label: names.1, kind, nullable, layout }
}

/// The table of fields, in the order of the columns and of `/traces/filter-schema`.
pub static FIELDS: [FieldInfo; 13] = [
    info(Field::Status, ("status", "Status"), Kind::Status, false, Layout::Coded),
    info(Field::UserId, ("user_id", "User ID"), Kind::Text, true, Layout::Coded),
    info(Field::AgentId, ("agent_id", "Agent ID"), Kind::Text, true, Layout::Coded),
    info(Field::TeamId, ("team_id", "Team ID"), Kind::Text, true, Layout::Coded),
    info(Field::WorkflowId, ("workflow_id", "Workflow ID"), Kind::Text, true, Layout::Coded),
    info(Field::SessionId, ("session_id", "Session ID"), Kind::Text, true, Layout::Coded),
    info(Field::RunId, ("run_id", "Run ID"), Kind::Text, true, Layout::Plain),
    info(Field::Name, ("name", "Trace Name"), Kind::Text, false, Layout::Coded),
    info(Field::TraceId, ("trace_id", "Trace ID"), Kind::Text, false, Layout::Plain),
    info(Field::DurationMs, ("duration_ms", "Duration (ms)"), Kind::Number, false, Layout::Whole),
    info(Field::StartTime, ("start_time", "Start Time"), Kind::Time, false, Layout::Micros),
    info(Field::EndTime, ("end_time", "End Time"), Kind::Time, false, Layout::Micros),
    info(Field::CreatedAt, ("created_at", "Created At"), Kind::Time, false, Layout::Micros),
];

/// The columns of a trace row that are shown and summed but not filtered: all whole numbers, never null.
pub const AGGREGATES: [&str; 4] = ["total_spans", "error_count", "input_tokens", "output_tokens"];

/// The values `status` takes.
pub const STATUSES: [&str; 2] = ["OK", "ERROR"];

impl Field {
    /// Returns this field's row in the table.
    pub fn info(self) -> &'static FieldInfo {
        &FIELDS[self as usize]
    }

    /// Returns this field's name in filters, batches and answers.
    pub fn key(self) -> &'static str {
        self.info().key
    }

    /// Returns what this field holds.
    pub fn kind(self) -> Kind {
        self.info().kind
    }

    /// Returns this field's column in a trace batch.
    pub fn column(self) -> usize {
        self as usize
    }

    /// Returns the field that `key` names.
    pub fn from_key(key: &str) -> Option<Self> {
        FIELDS.iter().find(|info| info.key == key).map(|info| info.field)
    }
}

fn data_type(layout: Layout) -> DataType {
    match layout {
        Layout::Plain => DataType::Utf8,
        Layout::Coded => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        Layout::Whole => DataType::Int64,
        Layout::Micros => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
    }
}

static TRACE_SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let filterable =
        FIELDS.iter().map(|info| ArrowField::new(info.key, data_type(info.layout), info.nullable));
    let aggregates = AGGREGATES.iter().map(|key| ArrowField::new(*key, DataType::Int64, false));
    Arc::new(Schema::new(filterable.chain(aggregates).collect::<Vec<_>>()))
});

/// Returns the schema of a trace batch: the table of fields, then [`AGGREGATES`].
pub fn trace_schema() -> SchemaRef {
    TRACE_SCHEMA.clone()
}

/// Returns the table of fields as `/traces/filter-schema` shows it, in JSON.
pub fn filter_schema_json() -> String {
    let fields: Vec<serde_json::Value> = FIELDS
        .iter()
        .map(|info| {
            let operators: Vec<&str> = info.kind.operators().iter().map(|operator| operator.word()).collect();
            let values = (info.kind == Kind::Status).then_some(STATUSES);
            serde_json::json!({
                "key": info.key,
                "label": info.label,
                "type": info.kind.word(),
                "operators": operators,
                "values": values,
            })
        })
        .collect();
    serde_json::json!({ "fields": fields, "logical_operators": ["AND", "OR", "NOT"] }).to_string()
}
