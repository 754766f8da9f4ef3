//! Pages of runs, and single traces and spans.

use std::hint::black_box;

use super::merge::{Place, page_of};
use super::pool::in_rounds;
use super::selection::{Selection, select};
use super::{CancellationToken, Detail, Page, PageRequest, json_array};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::index::Projection;
use crate::otlp::{SpanId, TraceId};
use crate::semaphore::Turns;
use crate::storage::Snapshot;
use crate::trace::{Trace, detail};

/// The bytes of decoded documents that one page may be made from, and all pages that are made at once.
static PAGES: Turns = Turns::of(256 << 20);

/// So many documents a thread are read in one round.
const DOCUMENTS: usize = 16;

/// Has the pages that are made at once be made from at most so many bytes of decoded documents from now on, in
/// the whole process. At the beginning it is 256 MiB.
pub fn limit_pages(bytes: u64) {
    PAGES.limit(bytes);
}

/// Returns the page of traces that `filter` selects, newest start first, then trace id ascending.
///
/// # Errors
/// [`Error::TooLarge`] if the page's documents exceed what [`limit_pages`] says, naming a limit that fits;
/// [`Error::Cancelled`], also while other pages take all of that; damage met while reading a document.
pub fn runs(
    snapshot: &Snapshot,
    filter: &Filter,
    window: PageRequest,
    shown: Detail,
    cancel: &CancellationToken,
) -> Result<Page> {
    let selections = select(snapshot, filter, Projection::SORT_KEY, cancel)?;
    let total: usize = selections.iter().map(|selection| selection.count).sum();
    let places = page_of(&selections, window);
    let _page = PAGES.take(bytes_of_page(&selections, &places)?, || cancel.check())?;
    let build = |(_, (selection, row)): (usize, &Place)| {
        cancel.check()?;
        let trace = selections[*selection].part.trace(*row)?;
        let mut item = Vec::new();
        match shown {
            Detail::Full => detail::write_trace(&mut item, &trace)?,
            Detail::Summary => detail::write_summary(&mut item, &trace)?,
        }
        Ok(item)
    };
    let items = in_rounds(&places, DOCUMENTS, build)?;
    Ok(Page { data: json_array(&items), total_count: total as u64 })
}

/// Returns the page of ids of the traces that `filter` selects, in the order of [`runs`], without reading
/// a document.
///
/// # Errors
/// [`Error::Cancelled`]; damage met while an index is built anew.
pub fn ids(
    snapshot: &Snapshot,
    filter: &Filter,
    window: PageRequest,
    cancel: &CancellationToken,
) -> Result<Page> {
    let selections = select(snapshot, filter, Projection::SORT_KEY, cancel)?;
    let total: usize = selections.iter().map(|selection| selection.count).sum();
    let id = |(selection, row): Place| TraceId::from_bytes(selections[selection].view.trace_id(row));
    let found = page_of(&selections, window).into_iter().filter_map(id);
    let items: Vec<Vec<u8>> = found.map(|id| format!("\"{id}\"").into_bytes()).collect();
    Ok(Page { data: json_array(&items), total_count: total as u64 })
}

/// Returns the JSON of one trace, or `None` if the snapshot has it not or `filter` refuses it.
///
/// # Errors
/// Damage met while reading the document.
pub fn trace(snapshot: &Snapshot, trace_id: TraceId, filter: &Filter) -> Result<Option<Vec<u8>>> {
    let Some(trace) = find(snapshot, trace_id, filter)? else { return Ok(None) };
    let mut item = Vec::new();
    detail::write_trace(&mut item, &trace)?;
    Ok(Some(item))
}

/// Returns the JSON of one span without its children, or `None` likewise.
///
/// # Errors
/// Damage met while reading the document.
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

/// Returns a trace, unless the filter refuses it. The time must not tell a trace of somebody else from one
/// that is not there: every part is asked for the id, and the filter looks at one row of a segment and one of
/// the head, if there are both, whatever was found.
fn find(snapshot: &Snapshot, trace_id: TraceId, filter: &Filter) -> Result<Option<Trace>> {
    let parts = snapshot.parts();
    let mut found = None;
    for part in parts {
        found = part.find(trace_id).map(|row| (part, row)).or(found);
    }
    let other = parts.last().filter(|last| last.is_sealed() != parts[0].is_sealed());
    for part in parts.first().into_iter().chain(other).filter(|part| part.count() > 0) {
        if found.is_none_or(|(at, _)| at.is_sealed() != part.is_sealed()) {
            let _nobody_asked = black_box(part.is_match(filter, 0));
        }
    }
    let Some((part, row)) = found else { return Ok(None) };
    part.is_match(filter, row)?.then(|| part.trace(row)).transpose()
}

/// Returns how many bytes the documents of a page have.
fn bytes_of_page(selections: &[Selection<'_>], places: &[Place]) -> Result<u64> {
    let (mut bytes, most) = (0_u64, PAGES.units());
    for (fitting, (selection, row)) in places.iter().enumerate() {
        bytes = bytes.saturating_add(selections[*selection].part.document_bytes(*row));
        // One document alone always fits: the limits on spans bound it, and nothing smaller could be asked.
        if bytes > most && fitting > 0 {
            return Err(Error::TooLarge(format!(
                "the traces of this page exceed {} MiB; a limit of {fitting} fits",
                most >> 20
            )));
        }
    }
    Ok(bytes)
}
