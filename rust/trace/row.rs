//! The row a trace is searched by.

use std::cmp::Ordering;

use arrow_array::RecordBatch;

use super::Trace;
use crate::otlp::TraceId;

/// One trace as searches see it: the fields of [`crate::schema::FIELDS`] and the aggregates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceRow {
    /// The trace's id.
    pub trace_id: TraceId,
    /// Whether any span is in error.
    pub is_error: bool,
    /// The run root's name.
    pub name: String,
    /// Identity of the run, all from the run root.
    pub run_id: Option<String>,
    /// The session, from the span nearest to the run root that has one.
    pub session_id: Option<String>,
    /// The user, likewise.
    pub user_id: Option<String>,
    /// From the run root.
    pub agent_id: Option<String>,
    /// From the run root.
    pub team_id: Option<String>,
    /// From the run root.
    pub workflow_id: Option<String>,
    /// Microseconds since 1970.
    pub start_time: i64,
    /// Microseconds since 1970.
    pub end_time: i64,
    /// When the trace was first received: microseconds since 1970.
    pub created_at: i64,
    /// Whole milliseconds, truncated.
    pub duration_ms: i64,
    /// Spans in the trace.
    pub total_spans: i64,
    /// Spans in error.
    pub error_count: i64,
    /// Over model spans only.
    pub input_tokens: i64,
    /// Over model spans only.
    pub output_tokens: i64,
}

impl TraceRow {
    /// Returns the row of `trace`, which has at least one span.
    pub fn of(_trace: &Trace) -> Self {
        todo!()
    }

    /// The order of search results: newest start first, then trace id ascending (design, section 6).
    pub fn newest_first(&self, other: &Self) -> Ordering {
        other.start_time.cmp(&self.start_time).then_with(|| self.trace_id.cmp(&other.trace_id))
    }
}

/// Returns `rows` as a batch of [`crate::schema::trace_schema`], in the order given.
pub fn to_batch(_rows: &[TraceRow]) -> RecordBatch {
    todo!()
}
