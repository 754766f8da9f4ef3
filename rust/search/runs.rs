//! Searches for runs, and lookups of single traces and spans.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hint::black_box;

use arrow_array::RecordBatch;

use super::cancellation::CancellationToken;
use super::matches::append_matches;
use super::merge::PageRow;
use super::newest::{Newest, newest};
use super::page::{Page, PageRequest, RunView, Sort, json_array};
use super::pool::{in_rounds, on_threads};
use super::selection::{Selection, select};
use super::sorted::rows_of_page;

use crate::error::{Error, Result};
use crate::filter::{Filter, Matcher};
use crate::otlp::{SpanId, TraceId};
use crate::semaphore::Semaphore;
use crate::storage::{Snapshot, SnapshotPart};
use crate::trace::detail::{self, Detail};
use crate::trace::values::{ValuePart, write_cut, write_value_page};
use crate::trace::{Trace, skeleton, write_damaged};

/// The decoded document bytes that concurrent pages may hold together.
pub(super) static PAGE_MEMORY: Semaphore = Semaphore::new(256 << 20);

/// Documents per thread that are read in one round.
const DOCUMENTS_PER_THREAD: usize = 16;

/// Sets the process-wide limit on decoded document bytes held by concurrent pages; 256 MiB by default.
pub fn set_page_memory_limit(bytes: u64) {
    PAGE_MEMORY.set_limit(bytes);
}

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
    let items = ItemWriter::new(filter, view.into())?;
    let selections = select(snapshot, filter, request.sort.projection(), cancel)?;
    page_of_runs(&selections, request, &items, cancel)
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
    let end = request.offset().saturating_add(request.limit);
    let Newest { selections, is_complete } = newest(snapshot, filter, end.saturating_add(1), cancel)?;
    let page = page_of_runs(&selections, request, &ItemWriter::new(filter, view)?, cancel)?;
    Ok(Page { is_exact: is_complete, ..page })
}

fn page_of_runs(
    selections: &[Selection<'_>],
    request: PageRequest,
    writer: &ItemWriter,
    cancel: &CancellationToken,
) -> Result<Page> {
    let total_count: usize = selections.iter().map(|selection| selection.count).sum();
    let page = rows_of_page(selections, request, cancel)?;
    let _permit = PAGE_MEMORY.acquire(document_bytes(selections, &page)?, || cancel.check())?;
    let build = |(_, (selection, row)): (usize, &PageRow)| {
        cancel.check()?;
        match selections[*selection].part.trace(*row) {
            Ok(trace) => writer.item(&trace).map(Ok),
            // The other traces of the page are whole.
            Err(error @ Error::Damage { .. }) => Ok(Err(error)),
            Err(error) => Err(error),
        }
    };
    let documents: Vec<Result<Vec<u8>>> = in_rounds(&page, DOCUMENTS_PER_THREAD, build)?;
    // The rows of a segment are read once for all of its damaged traces.
    let mut rows: HashMap<usize, RecordBatch> = HashMap::new();
    let (mut items, mut damage) = (Vec::with_capacity(documents.len()), Vec::new());
    for ((selection, row), built) in page.iter().zip(documents) {
        items.push(match built {
            Ok(item) => item,
            Err(error) => {
                cancel.check()?;
                let batch = match rows.entry(*selection) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(unread) => unread.insert(selections[*selection].part.batch()?),
                };
                damage.push(error.to_string());
                damaged_item(batch, *row, writer.level).ok_or(error)?
            }
        });
    }
    Ok(Page { data: json_array(&items), total_count: total_count as u64, is_exact: true, damage })
}

/// Writes the items of a page.
struct ItemWriter {
    level: Detail,
    /// Finds the matches of each item, if they are wanted.
    matcher: Option<Matcher>,
}

impl ItemWriter {
    fn new(filter: &Filter, view: RunView) -> Result<Self> {
        let matcher = view.with_matches.then(|| filter.matcher()).transpose()?;
        Ok(Self { level: view.detail, matcher })
    }

    fn item(&self, trace: &Trace) -> Result<Vec<u8>> {
        let mut item = item(trace, self.level)?;
        if let Some(matcher) = &self.matcher {
            append_matches(&mut item, &matcher.matches(trace)?);
        }
        Ok(item)
    }
}

/// Returns a trace as JSON.
pub(super) fn item(trace: &Trace, level: Detail) -> Result<Vec<u8>> {
    let mut item = Vec::new();
    match level {
        Detail::Full => detail::write_trace(&mut item, trace)?,
        Detail::Summary => detail::write_summary(&mut item, trace)?,
        Detail::Preview => detail::write_preview(&mut item, trace)?,
        Detail::Skeleton => skeleton::write_skeleton(&mut item, trace)?,
    }
    Ok(item)
}

/// Returns a trace whose document is damaged, as its row shows it.
pub(super) fn damaged_item(batch: &RecordBatch, row: usize, level: Detail) -> Option<Vec<u8>> {
    let mut item = Vec::new();
    write_damaged(&mut item, batch, row, level).then_some(item)
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
    let id = |(selection, row): PageRow| TraceId::from_bytes(selections[selection].view.trace_id(row));
    let found = rows_of_page(&selections, request, cancel)?.into_iter().filter_map(id);
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

/// Returns the decoded size of the documents of a page, in bytes.
fn document_bytes(selections: &[Selection<'_>], page: &[PageRow]) -> Result<u64> {
    let (mut bytes, max) = (0_u64, PAGE_MEMORY.limit());
    for (fitting, (selection, row)) in page.iter().enumerate() {
        bytes = bytes.saturating_add(selections[*selection].part.document_bytes(*row));
        // A single document always fits: the limits on spans bound it, and no smaller page could be requested.
        if bytes > max && fitting > 0 {
            return Err(Error::TooLarge(format!(
                "the traces of this page exceed {} MiB; a limit of {fitting} fits",
                max >> 20
            )));
        }
    }
    Ok(bytes)
}
