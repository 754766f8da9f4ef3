//! Writes the trace columns: all spans of a trace in columns, without their full texts
//! (`docs/reference/api-search.md#trace-skeleton`).
//!
//! A page with 100,000 spans needs one row of data for each. The spans are not decoded: fields that the
//! summary of a span lacks are read from its bytes.

mod columns;
mod outline;

use std::borrow::Cow;

use rayon::prelude::*;

use self::columns::SpanColumns;
use self::outline::SpanOutline;
use super::cost::{SpanShare, shares_of_spans};
use super::detail::{RunContent, all_or_nothing, write_preview_members};
use super::json::JsonWriter;
use super::row::micros;
use super::tree::Forest;
use super::{Span, Trace, TraceRow};
use crate::error::Result;

/// The number of spans that one thread reads at a time.
const SPANS_PER_ITEM: usize = 1_024;

/// Appends `trace` as a `TraceSkeleton` object: a `TracePreview` with the columns of its spans. The spans are
/// read on the threads of the current rayon pool.
///
/// # Errors
/// [`crate::error::Error::Decode`] if a stored span cannot be decoded; `out` is then unchanged.
pub fn write_skeleton(out: &mut Vec<u8>, trace: &Trace) -> Result<()> {
    let trace = &*trace.assembled();
    let spans = trace.spans();
    let outlines = spans.par_iter().with_min_len(SPANS_PER_ITEM).map(|span| SpanOutline::of(span));
    let outlines = outlines.collect::<Result<Vec<_>>>()?;
    all_or_nothing(out, |out| {
        let forest = Forest::of(spans);
        let row = TraceRow::in_forest(trace, &forest);
        let mut json = JsonWriter::new(out);
        json.begin_object();
        let model = |index: usize| Ok(outlines[index].model.as_deref().map(str::to_owned));
        let shares = shares_of_spans(spans, &forest, model)?;
        let (_, cost) = SpanShare::sum(&shares);
        write_preview_members(&mut json, (&row, cost), &RunContent::of(spans, &forest)?);
        let columns = columns_of((trace, &forest), &row, &outlines, &shares);
        write_columns(&mut json, &columns);
        json.end_object();
        Ok(())
    })
}

/// Writes empty columns for a trace whose spans are damaged.
pub(super) fn write_no_spans(json: &mut JsonWriter<'_>) {
    write_columns(json, &SpanColumns::default());
}

fn write_columns(json: &mut JsonWriter<'_>, columns: &SpanColumns<'_>) {
    json.key("spans");
    json.serialized(columns);
}

fn columns_of<'a>(
    (trace, forest): (&'a Trace, &Forest),
    row: &TraceRow,
    outlines: &'a [SpanOutline<'a>],
    shares: &[SpanShare],
) -> SpanColumns<'a> {
    let spans = trace.spans();
    let order = forest.preorder();
    let mut positions = vec![0; spans.len()];
    let mut columns = SpanColumns::with_capacity(spans.len());
    for (position, index) in order.into_iter().enumerate() {
        positions[index] = position;
        columns.parent.push(forest.parent(index).map(|parent| positions[parent]));
        push_span(&mut columns, &spans[index], row.start_time);
        push_outline(&mut columns, &outlines[index]);
        push_share(&mut columns, &shares[index]);
    }
    columns
}

/// Appends the fields of the summary of a span; `start_time` is the start of the trace, in microseconds since
/// 1970.
fn push_span<'a>(columns: &mut SpanColumns<'a>, span: &'a Span, start_time: i64) {
    let summary = &span.summary;
    let start = micros(span.start);
    let duration = (span.end != 0).then(|| (micros(span.end) - start).max(0));
    columns.span_id.push(span.span_id);
    columns.start_us.push(start - start_time);
    columns.duration_us.push(duration);
    columns.r#type.push(Some(summary.node_type.word().into()));
    columns.name.push(Some((&*summary.name).into()));
    columns.agent.push(summary.agent_id.as_deref().map(Cow::Borrowed));
}

/// Appends the fields of an outline.
fn push_outline<'a>(columns: &mut SpanColumns<'a>, outline: &'a SpanOutline<'a>) {
    columns.model.push(outline.model.as_deref().map(Cow::Borrowed));
    columns.tool.push(outline.tool.as_deref().map(Cow::Borrowed));
    columns.error.push(outline.error.as_deref().map(Cow::Borrowed));
    columns.input_bytes.push(outline.input_bytes);
    columns.output_bytes.push(outline.output_bytes);
    columns.events.push(outline.events);
    columns.links.push(outline.links);
}

/// Appends the contribution of a span to the sums of the trace.
fn push_share(columns: &mut SpanColumns<'_>, SpanShare { tokens, cost }: &SpanShare) {
    columns.input_tokens.push(tokens.input);
    columns.output_tokens.push(tokens.output);
    columns.cached_tokens.push(tokens.cached);
    columns.reasoning_tokens.push(tokens.reasoning);
    columns.cost.push(cost.cost());
}
