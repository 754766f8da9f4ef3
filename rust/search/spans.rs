//! Searches whose rows are spans.
//!
//! Traces are selected as for any search, with the condition that they have such a span. They are then walked in result
//! order, in rounds that grow: every trace tells how many of its spans match, until the page is known; the spans of the page
//! are written at last. So the memory of a search is that of its page, and each thread has one trace at a time.

use super::cancellation::CancellationToken;
use super::merge::{PageRow, page_of};
use super::newest::{Newest, newest};
use super::page::{Page, PageRequest, json_array};
use super::pool::{in_rounds, threads};
use super::selection::{Selection, select};
use crate::error::{Error, Result};
use crate::filter::{Filter, SpanFilter};
use crate::index::Projection;
use crate::schema::Field;
use crate::storage::Snapshot;
use crate::trace::view::{TraceView, write_span_preview};

/// Traces per thread that are walked in the first round, and in the largest one.
const FIRST_PER_THREAD: usize = 8;
const MAX_PER_THREAD: usize = 1_024;

/// Returns the requested page of the spans that match, of traces that `filter` matches: newest trace first, then in the
/// order of the tree. All are counted.
///
/// # Errors
/// [`Error::TooLarge`] if too many documents have to be looked at; [`Error::Cancelled`]; damage found while an index is
/// rebuilt. The spans of a trace whose document is damaged are left out.
pub fn spans(
    snapshot: &Snapshot,
    (filter, spans): (&Filter, &SpanFilter),
    request: PageRequest,
    cancel: &CancellationToken,
) -> Result<Page> {
    let selections = select(snapshot, &filter.with_span(spans), projection(), cancel)?;
    let walk = SpanWalk::of_all(&selections, spans, cancel)?;
    walk.page(request, None)
}

/// Returns the requested page as [`spans`] does, without a look at all traces: the page ends the search once it is full. Then
/// the total is a lower bound, one more than is on the pages so far if there is more.
///
/// # Errors
/// As [`spans`].
pub fn newest_spans(
    snapshot: &Snapshot,
    (filter, spans): (&Filter, &SpanFilter),
    request: PageRequest,
    cancel: &CancellationToken,
) -> Result<Page> {
    let wanted = request.window().end().saturating_add(1);
    // Each of these traces has a span that matches.
    let Newest { selections, frontier } = newest(snapshot, &filter.with_span(spans), wanted, cancel)?;
    let page = SpanWalk::of_newest(&selections, spans, cancel).page(request, Some(wanted))?;
    let is_complete = page.is_exact && frontier.is_none();
    Ok(page.cut_at(wanted, is_complete))
}

/// Returns what is read of rows to count their spans.
pub(super) fn projection() -> Projection {
    Projection::SORT_KEY.and(Field::TotalSpans)
}

/// A walk over selected traces in result order.
pub(super) struct SpanWalk<'s, 'a> {
    selections: &'s [Selection<'a>],
    spans: &'s SpanFilter,
    /// Whether the number of spans of a trace may be read from its row.
    has_columns: bool,
    cancel: &'s CancellationToken,
}

/// A trace with spans on the page: those that match from one to before another.
pub(super) type PageTrace = (PageRow, usize, usize);

impl<'s, 'a> SpanWalk<'s, 'a> {
    /// Returns the walk over all traces that a filter selects, with the columns of [`projection`].
    ///
    /// # Errors
    /// [`Error::TooLarge`] if too many documents have to be looked at.
    pub(super) fn of_all(
        selections: &'s [Selection<'a>],
        spans: &'s SpanFilter,
        cancel: &'s CancellationToken,
    ) -> Result<Self> {
        if !spans.is_all() {
            cancel.expect_few(selections.iter().map(|selection| selection.count).sum())?;
        }
        Ok(Self { selections, spans, has_columns: true, cancel })
    }

    /// Returns the walk over the newest traces.
    pub(super) fn of_newest(
        selections: &'s [Selection<'a>],
        spans: &'s SpanFilter,
        cancel: &'s CancellationToken,
    ) -> Self {
        Self { selections, spans, has_columns: false, cancel }
    }

    /// Returns the requested page. The walk ends after all traces, or after `wanted` spans.
    fn page(&self, request: PageRequest, wanted: Option<usize>) -> Result<Page> {
        let window = request.window();
        let (mut traces, mut seen, mut damage) = (Vec::new(), 0_usize, Vec::new());
        let is_exact = self.count(wanted, &mut damage, |row, count| {
            let from = window.offset.saturating_sub(seen);
            let to = window.end().saturating_sub(seen).min(count);
            if from < to {
                traces.push((row, from, to));
            }
            seen += count;
        })?;
        let items = self.write(&traces, &mut damage)?;
        Ok(Page { data: json_array(&items), total_count: seen as u64, is_exact, damage })
    }

    /// Calls `visit` with every trace in result order, and how many of its spans match, until there were `wanted` spans.
    /// Returns whether these were all traces.
    ///
    /// # Errors
    /// As [`spans`]; damaged documents have no spans, and the damage is added.
    pub(super) fn count(
        &self,
        wanted: Option<usize>,
        damage: &mut Vec<String>,
        mut visit: impl FnMut(PageRow, usize),
    ) -> Result<bool> {
        let (mut walked, mut seen, mut per_thread) = (0, 0_usize, FIRST_PER_THREAD);
        let rows: usize = self.selections.iter().map(|selection| selection.count).sum();
        while walked < rows && wanted.is_none_or(|wanted| seen < wanted) {
            let round = page_of(self.selections, walked, threads() * per_thread);
            if round.is_empty() {
                break;
            }
            walked += round.len();
            let counts = in_rounds(&round, per_thread, |(_, row)| self.count_of(*row))?;
            for (row, count) in round.iter().zip(counts) {
                let count = readable(count, damage)?.unwrap_or(0);
                visit(*row, count);
                seen += count;
            }
            per_thread = (2 * per_thread).min(MAX_PER_THREAD);
        }
        Ok(walked == rows)
    }

    /// Returns spans of traces as JSON, in order.
    ///
    /// # Errors
    /// As [`SpanWalk::count`].
    pub(super) fn write(&self, traces: &[PageTrace], damage: &mut Vec<String>) -> Result<Vec<Vec<u8>>> {
        let mut items = Vec::new();
        for written in in_rounds(traces, FIRST_PER_THREAD, |(_, trace)| self.write_of(trace))? {
            items.extend(readable(written, damage)?.unwrap_or_default());
        }
        Ok(items)
    }

    /// Returns how many spans of a trace match.
    fn count_of(&self, row: PageRow) -> Result<Result<usize>> {
        if self.has_columns && self.spans.is_all() {
            let spans = self.selections[row.0].view.number(Field::TotalSpans, row.1);
            return Ok(Ok(usize::try_from(spans).unwrap_or_default()));
        }
        self.of_trace(row, |view| Ok(self.spans.places(view)?.len()))
    }

    /// Returns the spans of a trace that are on the page.
    fn write_of(&self, (row, from, to): &PageTrace) -> Result<Result<Vec<Vec<u8>>>> {
        self.of_trace(*row, |view| {
            let places = self.spans.places(view)?;
            let on_page = places.into_iter().take(*to).skip(*from).map(|place| {
                let mut item = Vec::new();
                write_span_preview(&mut item, view, place)?;
                Ok(item)
            });
            on_page.collect()
        })
    }

    /// Returns what `read` returns of a trace, or what is wrong with its document.
    fn of_trace<T>(
        &self,
        (selection, row): PageRow,
        read: impl FnOnce(&TraceView<'_>) -> Result<T>,
    ) -> Result<Result<T>> {
        self.cancel.check()?;
        match self.selections[selection].part.trace(row) {
            Ok(trace) => read(&TraceView::of(&trace.assembled())).map(Ok),
            Err(error @ Error::Damage { .. }) => Ok(Err(error)),
            Err(error) => Err(error),
        }
    }
}

/// Returns what was read; of a damaged document nothing, but what is wrong with it, once.
fn readable<T>(read: Result<T>, damage: &mut Vec<String>) -> Result<Option<T>> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error @ Error::Damage { .. }) => {
            let error = error.to_string();
            if !damage.contains(&error) {
                damage.push(error);
            }
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
