//! The row of a trace for searches.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::builder::{
    Int64Builder, StringBuilder, StringDictionaryBuilder, TimestampMicrosecondBuilder,
};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, RecordBatch};

use super::conventions::{ResourceTexts, SpanSummary};
use super::node_type::NodeType;
use super::sums::Sums;
use super::tree::Forest;
use super::{Span, Trace};
use crate::otlp::TraceId;
use crate::schema::{FIELDS, Field, STATUSES, trace_schema};
use crate::time::NANOS_PER_MICRO;

/// The fields of a trace for searches, see [`crate::schema::FIELDS`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceRow {
    /// The trace's id.
    pub trace_id: TraceId,
    /// True if any span failed.
    pub is_error: bool,
    /// The trace name that a span sets; otherwise the name of the run root.
    pub name: String,
    /// The id of the run, from the run root.
    pub run_id: Option<String>,
    /// The session, from the nearest span to the run root that has one.
    pub session_id: Option<String>,
    /// The user, from the nearest span to the run root that has one.
    pub user_id: Option<String>,
    /// The agent, from the run root or otherwise from the nearest agent below it.
    pub agent_id: Option<String>,
    /// The team, from the run root.
    pub team_id: Option<String>,
    /// The workflow, from the run root.
    pub workflow_id: Option<String>,
    /// The service that ran the run root, from its resource.
    pub service: Option<String>,
    /// The deployment environment, from the run root's resource.
    pub environment: Option<String>,
    /// The version of the service, from the run root's resource.
    pub release: Option<String>,
    /// Microseconds since 1970.
    pub start_time: i64,
    /// Microseconds since 1970.
    pub end_time: i64,
    /// The time when the trace was first received, in microseconds since 1970.
    pub created_at: i64,
    /// Milliseconds, truncated.
    pub duration_ms: i64,
    /// The number of spans.
    pub total_spans: i64,
    /// The number of failed spans.
    pub error_count: i64,
    /// Sum over the model calls.
    pub input_tokens: i64,
    /// Sum over the model calls.
    pub output_tokens: i64,
    /// Input and output tokens.
    pub total_tokens: i64,
    /// Input tokens that were read from a cache.
    pub cached_tokens: i64,
    /// Output tokens for reasoning.
    pub reasoning_tokens: i64,
    /// The number of language model calls.
    pub llm_calls: i64,
    /// The number of tool calls.
    pub tool_calls: i64,
}

impl TraceRow {
    /// Returns the row of `trace`. Without spans, the row only has the times of the fragments and of their
    /// arrival.
    pub fn of(trace: &Trace) -> Self {
        let trace = trace.assembled();
        Self::in_forest(&trace, &Forest::of(trace.spans()))
    }

    /// Returns the row of an assembled `trace`; `forest` is the forest of its spans.
    pub(super) fn in_forest(trace: &Trace, forest: &Forest) -> Self {
        let spans = trace.spans();
        let run = run_root(spans, forest);
        let summary = run.map(|index| &spans[index].summary);
        let own = |id: fn(&SpanSummary) -> &Option<Box<str>>| summary.and_then(|summary| text(id(summary)));
        let near = |id: fn(&SpanSummary) -> &Option<Box<str>>| {
            run.and_then(|run| nearest(spans, forest, run, |summary| text(id(summary))))
        };
        let latest = |span: &Arc<Span>| span.start.max(span.effective_end());
        // The fragments of an assembled trace do not belong to any of its spans.
        let times = || trace.fragments().iter().map(|fragment| fragment.time);
        let start_time = micros(spans.iter().map(|span| span.start).chain(times()).min().unwrap_or(0));
        let end_time = micros(spans.iter().map(latest).chain(times()).max().unwrap_or(0));
        let Sums { tokens, llm_calls, tool_calls } = Sums::of(spans, forest);
        let resource =
            run.map(|index| ResourceTexts::of(&spans[index].wire.origin.resource)).unwrap_or_default();
        let errors = spans.iter().filter(|span| span.is_error).count();
        Self {
            trace_id: trace.trace_id,
            is_error: errors > 0,
            name: near(|summary| &summary.trace_name)
                .or_else(|| summary.map(|summary| summary.name.to_string()))
                .unwrap_or_default(),
            run_id: own(|summary| &summary.run_id),
            session_id: near(|summary| &summary.session_id),
            user_id: near(|summary| &summary.user_id),
            agent_id: run.and_then(|run| agent_of(spans, forest, run)),
            team_id: own(|summary| &summary.team_id),
            workflow_id: own(|summary| &summary.workflow_id),
            service: resource.service,
            environment: resource.environment,
            release: resource.release,
            start_time,
            end_time,
            created_at: trace.created_at,
            duration_ms: (end_time - start_time) / 1_000,
            total_spans: saturating_i64(spans.len() as u64),
            error_count: saturating_i64(errors as u64),
            input_tokens: saturating_i64(tokens.input),
            output_tokens: saturating_i64(tokens.output),
            total_tokens: saturating_i64(tokens.input.saturating_add(tokens.output)),
            cached_tokens: saturating_i64(tokens.cached),
            reasoning_tokens: saturating_i64(tokens.reasoning),
            llm_calls: saturating_i64(llm_calls),
            tool_calls: saturating_i64(tool_calls),
        }
    }

    /// The order of search results: newest start first, then trace id ascending.
    pub fn newest_first(&self, other: &Self) -> Ordering {
        other.start_time.cmp(&self.start_time).then_with(|| self.trace_id.cmp(&other.trace_id))
    }
}

/// Returns the run root: the shallowest run, or otherwise the first root. Ties are resolved by sibling order
/// (`docs/reference/traces.md#run-root`).
pub(super) fn run_root(spans: &[Arc<Span>], forest: &Forest) -> Option<usize> {
    let mut level = forest.roots().to_vec();
    while !level.is_empty() {
        let runs = level.iter().copied().filter(|index| spans[*index].summary.is_run);
        let run = runs.min_by(|one, other| spans[*one].sibling_order(&spans[*other]));
        if run.is_some() {
            return run;
        }
        level = forest.level_below(&level);
    }
    forest.roots().first().copied()
}

/// Returns the spans that made the run fail. The path starts at the run root and follows the first failed
/// span below, in time order, until no span below failed. Empty if nothing in the run failed.
pub(super) fn causes(spans: &[Arc<Span>], forest: &Forest, run: usize) -> Vec<usize> {
    let mut causes: Vec<usize> = spans[run].is_error.then_some(run).into_iter().collect();
    let mut cause = run;
    loop {
        let mut failed = Vec::new();
        let mut waiting = forest.children(cause).to_vec();
        while let Some(index) = waiting.pop() {
            if spans[index].is_error {
                failed.push(index);
            } else {
                waiting.extend(forest.children(index));
            }
        }
        match failed.into_iter().min_by(|one, other| spans[*one].sibling_order(&spans[*other])) {
            Some(next) => cause = next,
            None => return causes,
        }
        causes.push(cause);
    }
}

/// Returns the agent of the run root. If the root is a team or belongs to agno, only the root counts.
/// Otherwise the next sources are the nearest agent below, the nearest span below with an agent, and the
/// agent in the name of the root.
fn agent_of(spans: &[Arc<Span>], forest: &Forest, run: usize) -> Option<String> {
    let summary = &spans[run].summary;
    if summary.agent_id.is_some() || summary.is_agno || summary.node_type == NodeType::Team {
        return text(&summary.agent_id);
    }
    let mut of_any = None;
    let mut level = forest.children(run).to_vec();
    while !level.is_empty() {
        let mut with_agent = level.iter().map(|index| &spans[*index].summary);
        if let Some(agent) = with_agent.clone().find(|below| below.is_run && below.agent_id.is_some()) {
            return text(&agent.agent_id);
        }
        of_any = of_any.or_else(|| with_agent.find_map(|below| text(&below.agent_id)));
        level = forest.level_below(&level);
    }
    of_any.or_else(|| text(&summary.agent_by_name))
}

/// Returns the first result of `read` by distance: the run itself, its subtree in breadth-first order, then
/// its ancestors.
fn nearest<T>(
    spans: &[Arc<Span>],
    forest: &Forest,
    run: usize,
    read: impl Fn(&SpanSummary) -> Option<T>,
) -> Option<T> {
    let mut level = vec![run];
    while !level.is_empty() {
        if let Some(found) = level.iter().find_map(|index| read(&spans[*index].summary)) {
            return Some(found);
        }
        level = forest.level_below(&level);
    }
    let mut ancestors = std::iter::successors(forest.parent(run), |index| forest.parent(*index));
    ancestors.find_map(|index| read(&spans[index].summary))
}

#[allow(clippy::ref_option, reason = "it takes a reference to a field")]
fn text(id: &Option<Box<str>>) -> Option<String> {
    id.as_deref().map(str::to_owned)
}

fn saturating_i64(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Converts nanoseconds to microseconds, truncated.
pub(super) fn micros(nanos: u64) -> i64 {
    saturating_i64(nanos / NANOS_PER_MICRO)
}

/// Returns `rows` as a batch of [`crate::schema::trace_schema`], in the order given.
#[allow(clippy::missing_panics_doc, reason = "columns and schema are made from the same table")]
pub fn to_batch<R: Borrow<TraceRow>>(rows: &[R]) -> RecordBatch {
    let rows: Vec<&TraceRow> = rows.iter().map(|row| Borrow::<TraceRow>::borrow(row)).collect();
    let rows = rows.as_slice();
    let columns: Vec<ArrayRef> = FIELDS.iter().map(|info| column(info.field, rows)).collect();
    RecordBatch::try_new(trace_schema(), columns).expect("a column for each field, of its type and length")
}

fn column(field: Field, rows: &[&TraceRow]) -> ArrayRef {
    match field {
        Field::Status => dictionary_column(rows, |row| Some(STATUSES[usize::from(row.is_error)])),
        Field::UserId => dictionary_column(rows, |row| row.user_id.as_deref()),
        Field::AgentId => dictionary_column(rows, |row| row.agent_id.as_deref()),
        Field::TeamId => dictionary_column(rows, |row| row.team_id.as_deref()),
        Field::WorkflowId => dictionary_column(rows, |row| row.workflow_id.as_deref()),
        Field::SessionId => dictionary_column(rows, |row| row.session_id.as_deref()),
        Field::Name => dictionary_column(rows, |row| Some(&row.name)),
        Field::Service => dictionary_column(rows, |row| row.service.as_deref()),
        Field::Environment => dictionary_column(rows, |row| row.environment.as_deref()),
        Field::Release => dictionary_column(rows, |row| row.release.as_deref()),
        Field::RunId => plain_column(rows, |row| row.run_id.clone()),
        Field::TraceId => plain_column(rows, |row| Some(row.trace_id.to_string())),
        Field::DurationMs => int_column(rows, |row| row.duration_ms),
        Field::StartTime => instant_column(rows, |row| row.start_time),
        Field::EndTime => instant_column(rows, |row| row.end_time),
        Field::CreatedAt => instant_column(rows, |row| row.created_at),
        Field::TotalSpans => int_column(rows, |row| row.total_spans),
        Field::ErrorCount => int_column(rows, |row| row.error_count),
        Field::InputTokens => int_column(rows, |row| row.input_tokens),
        Field::OutputTokens => int_column(rows, |row| row.output_tokens),
        Field::TotalTokens => int_column(rows, |row| row.total_tokens),
        Field::CachedTokens => int_column(rows, |row| row.cached_tokens),
        Field::ReasoningTokens => int_column(rows, |row| row.reasoning_tokens),
        Field::LlmCalls => int_column(rows, |row| row.llm_calls),
        Field::ToolCalls => int_column(rows, |row| row.tool_calls),
    }
}

fn dictionary_column<'a>(rows: &[&'a TraceRow], read: impl Fn(&'a TraceRow) -> Option<&'a str>) -> ArrayRef {
    let mut builder = StringDictionaryBuilder::<Int32Type>::new();
    for row in rows {
        builder.append_option(read(row));
    }
    Arc::new(builder.finish())
}

fn plain_column(rows: &[&TraceRow], read: impl Fn(&TraceRow) -> Option<String>) -> ArrayRef {
    let mut builder = StringBuilder::new();
    for row in rows {
        builder.append_option(read(row));
    }
    Arc::new(builder.finish())
}

fn int_column(rows: &[&TraceRow], read: impl Fn(&TraceRow) -> i64) -> ArrayRef {
    let mut builder = Int64Builder::with_capacity(rows.len());
    for row in rows {
        builder.append_value(read(row));
    }
    Arc::new(builder.finish())
}

fn instant_column(rows: &[&TraceRow], read: impl Fn(&TraceRow) -> i64) -> ArrayRef {
    let mut builder = TimestampMicrosecondBuilder::with_capacity(rows.len()).with_timezone("UTC");
    for row in rows {
        builder.append_value(read(row));
    }
    Arc::new(builder.finish())
}
