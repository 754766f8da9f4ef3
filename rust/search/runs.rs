//! Searches for runs, and lookups of single traces and spans.

use std::hint::black_box;

use super::cancellation::CancellationToken;
use super::items::{ItemWriter, Items, damaged_item, item};
use super::newest::{Newest, newest};
use super::page::{Page, PageRequest, RunView, Sort, json_array};
use super::pool::on_threads;
use super::selection::{Selection, select};
use super::sorted::OrderedRows;
use crate::error::Result;
use crate::filter::Filter;
use crate::otlp::{SpanId, TraceId};
use crate::storage::{Snapshot, SnapshotPart};
use crate::trace::detail::{self, Detail};
use crate::trace::values::{ValuePart, write_cut, write_value_page};

/// Returns the requested page of the traces that `filter` matches, in the order of the request.
///
/// # Errors
/// [`Error::TooLarge`] if the documents of the page exceed [`set_page_memory_limit`], naming a limit that fits;
/// [`Error::Cancelled`], also while waiting for other pages to release memory; damage found in the rows. A trace whose
/// document is damaged is marked as such.
pub fn runs(
    snapshot: &Snapshot,
    filter: &Filter,
    request: PageRequest,
    view: impl Into<RunView>,
    cancel: &CancellationToken,
) -> Result<Page> {
    let writer = ItemWriter::new(filter, view.into())?;
    let selections = select(snapshot, filter, request.sort.projection(), cancel)?;
    page_of_runs(snapshot, &selections, request, (&writer, cancel))
}

/// Returns the requested page as [`runs`] does; of the newest runs without a look at all that `filter` may match: the page ends
/// the search once it is full. Then the total is a lower bound, greater than what is on
/// the pages so far if there is more.
///
/// # Errors
/// As [`runs`].
pub fn newest_runs(
    snapshot: &Snapshot,
    filter: &Filter,
    request: PageRequest,
    view: impl Into<RunView>,
    cancel: &CancellationToken,
) -> Result<Page> {
    let view = view.into();
    if !filter.reads_spans() || request.sort != Sort::NEWEST_FIRST {
        return runs(snapshot, filter, request, view, cancel);
    }
    let wanted = request.window().end().saturating_add(1);
    let Newest { selections, frontier } = newest(snapshot, filter, wanted, cancel)?;
    let writer = ItemWriter::new(filter, view)?;
    let page = page_of_runs(snapshot, &selections, request, (&writer, cancel))?;
    Ok(page.cut_at(wanted, frontier.is_none()))
}

fn page_of_runs(
    snapshot: &Snapshot,
    selections: &[Selection<'_>],
    request: PageRequest,
    (writer, cancel): (&ItemWriter, &CancellationToken),
) -> Result<Page> {
    let total_count: usize = selections.iter().map(|selection| selection.count).sum();
    let rows = OrderedRows::new(selections, request.sort, cancel)?.window(request.window(), cancel)?;
    let rows: Vec<_> = rows.into_iter().map(|(selection, row)| (selections[selection].index, row)).collect();
    let Items { items, damage } = writer.items(snapshot.parts(), &rows, cancel)?;
    Ok(Page { data: json_array(&items), total_count: total_count as u64, is_exact: true, damage })
}

/// Returns the requested page of the ids of the traces that `filter` matches, in the order of [`runs`], without
/// reading documents.
///
/// # Errors
/// [`Error::Cancelled`]; damage found while an index is rebuilt.
pub fn ids(
    snapshot: &Snapshot,
    filter: &Filter,
    request: PageRequest,
    cancel: &CancellationToken,
) -> Result<Page> {
    let selections = select(snapshot, filter, request.sort.projection(), cancel)?;
    let total_count: usize = selections.iter().map(|selection| selection.count).sum();
    let id = |(selection, row)| {
        let selection: &Selection<'_> = &selections[selection];
        TraceId::from_bytes(selection.view.trace_id(row))
    };
    let rows = OrderedRows::new(&selections, request.sort, cancel)?.window(request.window(), cancel)?;
    let found = rows.into_iter().filter_map(id);
    let items: Vec<Vec<u8>> = found.map(|id| format!("\"{id}\"").into_bytes()).collect();
    Ok(Page { data: json_array(&items), total_count: total_count as u64, is_exact: true, damage: Vec::new() })
}

/// Returns one trace as JSON; `None` if the snapshot does not have it or `filter` does not match it.
///
/// # Errors
/// Damage found in the document, of which [`damaged_trace`] returns the rest, or in the rows.
pub fn trace(
    snapshot: &Snapshot,
    trace_id: TraceId,
    filter: &Filter,
    level: Detail,
) -> Result<Option<Vec<u8>>> {
    let Some((part, row)) = find(snapshot, trace_id, filter)? else { return Ok(None) };
    let trace = part.trace(row)?;
    on_threads(|| item(&trace, level)).map(Some)
}

/// Returns a trace whose document is damaged as JSON: what its row holds, marked as damaged. `None` as [`trace`].
///
/// # Errors
/// Damage found in the rows.
pub fn damaged_trace(
    snapshot: &Snapshot,
    trace_id: TraceId,
    filter: &Filter,
    level: Detail,
) -> Result<Option<Vec<u8>>> {
    let Some((part, row)) = find(snapshot, trace_id, filter)? else { return Ok(None) };
    Ok(damaged_item(&part.batch()?, row, level))
}

/// Returns one span as JSON, without its children; `None` if the snapshot does not have it or `filter` does not
/// match its trace. Values longer than `max_bytes` are cut.
///
/// # Errors
/// Damage found in the document.
pub fn span(
    snapshot: &Snapshot,
    trace_id: TraceId,
    span_id: SpanId,
    filter: &Filter,
    max_bytes: Option<usize>,
) -> Result<Option<Vec<u8>>> {
    let Some((part, row)) = find(snapshot, trace_id, filter)? else { return Ok(None) };
    let trace = part.trace(row)?;
    let mut item = Vec::new();
    if !detail::write_span(&mut item, &trace, span_id)? {
        return Ok(None);
    }
    let Some(max_bytes) = max_bytes else { return Ok(Some(item)) };
    let mut cut = Vec::new();
    write_cut(&mut cut, &item, max_bytes);
    Ok(Some(cut))
}

/// Returns a part of one value of a span as JSON; `None` as [`span`], or if the span has no such value.
///
/// # Errors
/// As [`span`].
pub fn value(
    snapshot: &Snapshot,
    trace_id: TraceId,
    span_id: SpanId,
    filter: &Filter,
    wanted: &ValuePart<'_>,
) -> Result<Option<Vec<u8>>> {
    let Some(span) = span(snapshot, trace_id, span_id, filter, None)? else { return Ok(None) };
    let mut page = Vec::new();
    Ok(write_value_page(&mut page, &span, wanted).then_some(page))
}

/// Returns where a trace is if the filter matches it.
///
/// Timing must not distinguish a trace of somebody else from one that does not exist: every part is searched for
/// the id, and whatever was found, the filter is evaluated on one row of a segment and on one row of the head, if
/// there are both.
fn find<'a>(
    snapshot: &'a Snapshot,
    trace_id: TraceId,
    filter: &Filter,
) -> Result<Option<(&'a SnapshotPart, usize)>> {
    let parts = snapshot.parts();
    let mut found = None;
    for part in parts {
        found = part.find(trace_id).map(|row| (part, row)).or(found);
    }
    let other = parts.last().filter(|last| last.is_sealed() != parts[0].is_sealed());
    for part in parts.first().into_iter().chain(other).filter(|part| part.count() > 0) {
        if found.is_none_or(|(at, _)| at.is_sealed() != part.is_sealed()) {
            let _unused = black_box(part.is_match(filter, 0));
        }
    }
    let Some((part, row)) = found else { return Ok(None) };
    Ok(part.is_match(filter, row)?.then_some((part, row)))
}
