//! Searches for runs, and lookups of single traces and spans.

use std::hint::black_box;

use super::cancellation::CancellationToken;
use super::merge::{PageRow, page_of};
use super::page::{Detail, Page, PageRequest, json_array};
use super::pool::in_rounds;
use super::selection::{Selection, select};

use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::index::Projection;
use crate::otlp::{SpanId, TraceId};
use crate::semaphore::Semaphore;
use crate::storage::Snapshot;
use crate::trace::{Trace, detail};

/// The decoded document bytes that concurrent pages may hold together.
static PAGE_MEMORY: Semaphore = Semaphore::new(256 << 20);

/// Documents per thread that are read in one round.
const DOCUMENTS_PER_THREAD: usize = 16;

/// Sets the process-wide limit on decoded document bytes held by concurrent pages; 256 MiB by default.
pub fn set_page_memory_limit(bytes: u64) {
    PAGE_MEMORY.set_limit(bytes);
}

/// Returns the requested page of the traces that `filter` matches: newest start first, then trace id ascending.
///
/// # Errors
/// [`Error::TooLarge`] if the documents of the page exceed [`set_page_memory_limit`], naming a limit that fits;
/// [`Error::Cancelled`], also while waiting for other pages to release memory; damage found in a document.
pub fn runs(
    snapshot: &Snapshot,
    filter: &Filter,
    request: PageRequest,
    level: Detail,
    cancel: &CancellationToken,
) -> Result<Page> {
    let selections = select(snapshot, filter, Projection::SORT_KEY, cancel)?;
    let total_count: usize = selections.iter().map(|selection| selection.count).sum();
    let page = page_of(&selections, request);
    let _permit = PAGE_MEMORY.acquire(document_bytes(&selections, &page)?, || cancel.check())?;
    let build = |(_, (selection, row)): (usize, &PageRow)| {
        cancel.check()?;
        let trace = selections[*selection].part.trace(*row)?;
        let mut item = Vec::new();
        match level {
            Detail::Full => detail::write_trace(&mut item, &trace)?,
            Detail::Summary => detail::write_summary(&mut item, &trace)?,
        }
        Ok(item)
    };
    let items = in_rounds(&page, DOCUMENTS_PER_THREAD, build)?;
    Ok(Page { data: json_array(&items), total_count: total_count as u64 })
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
    let selections = select(snapshot, filter, Projection::SORT_KEY, cancel)?;
    let total_count: usize = selections.iter().map(|selection| selection.count).sum();
    let id = |(selection, row): PageRow| TraceId::from_bytes(selections[selection].view.trace_id(row));
    let found = page_of(&selections, request).into_iter().filter_map(id);
    let items: Vec<Vec<u8>> = found.map(|id| format!("\"{id}\"").into_bytes()).collect();
    Ok(Page { data: json_array(&items), total_count: total_count as u64 })
}

/// Returns one trace as JSON; `None` if the snapshot does not have it or `filter` does not match it.
///
/// # Errors
/// Damage found in the document.
pub fn trace(snapshot: &Snapshot, trace_id: TraceId, filter: &Filter) -> Result<Option<Vec<u8>>> {
    let Some(trace) = find(snapshot, trace_id, filter)? else { return Ok(None) };
    let mut item = Vec::new();
    detail::write_trace(&mut item, &trace)?;
    Ok(Some(item))
}

/// Returns one span as JSON, without its children; `None` if the snapshot does not have it or `filter` does not
/// match its trace.
///
/// # Errors
/// Damage found in the document.
pub fn span(
    snapshot: &Snapshot,
    trace_id: TraceId,
    span_id: SpanId,
    filter: &Filter,
) -> Result<Option<Vec<u8>>> {
    let Some(trace) = find(snapshot, trace_id, filter)? else { return Ok(None) };
    let mut item = Vec::new();
    let is_there = detail::write_span(&mut item, &trace, span_id)?;
    Ok(is_there.then_some(item))
}

/// Returns a trace if the filter matches it.
///
/// Timing must not distinguish a trace of somebody else from one that does not exist: every part is searched for
/// the id, and whatever was found, the filter is evaluated on one row of a segment and on one row of the head, if
/// there are both.
fn find(snapshot: &Snapshot, trace_id: TraceId, filter: &Filter) -> Result<Option<Trace>> {
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
    part.is_match(filter, row)?.then(|| part.trace(row)).transpose()
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
