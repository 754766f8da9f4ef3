//! Searches whose rows are spans.
//!
//! Traces are selected as for any search, with the condition that they have such a span. How many spans of a trace match is
//! known by the table of its segment or by its document. To count all, the tables are asked first, and then the documents of
//! the traces that they leave open. The traces are then walked in result order, in rounds that grow, until the page is known;
//! its spans are written at last. So the memory of a search is that of its page, and of the counts of the documents that it
//! looked at.

use std::collections::BTreeMap;

use super::cancellation::CancellationToken;
use super::matches::append_matches;
use super::merge::{PageRow, page_of};
use super::newest::{Newest, newest};
use super::page::{Page, PageRequest, json_array};
use super::pool::{fold_rounds, in_rounds, threads};
use super::selection::{Selection, select};
use crate::error::{Error, Result};
use crate::filter::{Filter, OneSpanMatcher, SpanCounter, SpanFilter};
use crate::index::columns::Projection;
use crate::schema::Field;
use crate::storage::{PartIndexes, Snapshot};
use crate::trace::view::{TraceView, write_span_preview};

/// Traces per thread that are walked in the first round, and in the largest one.
const FIRST_PER_THREAD: usize = 8;
const MAX_PER_THREAD: usize = 1_024;
/// Traces that a table is asked about at once: some milliseconds.
const INLINE_ROW_BUDGET: usize = 65_536;
/// Documents per thread that are looked at in one round.
const LOOKS_PER_THREAD: usize = 64;

/// A page of spans to return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanPageRequest {
    /// Which page.
    pub page: PageRequest,
    /// Whether the texts and other spans that made the condition true of a span are shown.
    pub with_matches: bool,
}

impl From<PageRequest> for SpanPageRequest {
    fn from(page: PageRequest) -> Self {
        Self { page, with_matches: false }
    }
}

/// Returns the requested page of the spans that match, of traces that `filter` matches: newest trace first, then in the
/// order of the tree. All are counted.
///
/// # Errors
/// [`Error::TooLarge`] if too many documents have to be looked at; [`Error::Cancelled`]; damage found while an index is
/// rebuilt. The spans of a trace whose document is damaged are left out.
pub fn spans(
    snapshot: &Snapshot,
    (filter, spans): (&Filter, &SpanFilter),
    request: impl Into<SpanPageRequest>,
    cancel: &CancellationToken,
) -> Result<Page> {
    let SpanPageRequest { page: request, with_matches } = request.into();
    let selections = select(snapshot, &filter.with_span(spans), projection(), cancel)?;
    let indexes = indexes_of(&selections, filter)?;
    let mut walk = SpanWalk::new((&selections, &indexes), spans, with_matches, cancel)?;
    let total_count = walk.count_all()?;
    let page = walk.page(request, request.window().end())?;
    Ok(Page { total_count, is_exact: true, ..page })
}

/// Returns the requested page as [`spans`] does, without a look at all traces: the page ends the search once it is full. Then
/// the total is a lower bound, one more than is on the pages so far if there is more.
///
/// # Errors
/// As [`spans`].
pub fn newest_spans(
    snapshot: &Snapshot,
    (filter, spans): (&Filter, &SpanFilter),
    request: impl Into<SpanPageRequest>,
    cancel: &CancellationToken,
) -> Result<Page> {
    let SpanPageRequest { page: request, with_matches } = request.into();
    let wanted = request.window().end().saturating_add(1);
    // Each of these traces has a span that matches.
    let Newest { selections, frontier } = newest(snapshot, &filter.with_span(spans), wanted, cancel)?;
    let indexes = indexes_of(&selections, filter)?;
    let page = SpanWalk::new((&selections, &indexes), spans, with_matches, cancel)?.page(request, wanted)?;
    let is_complete = page.is_exact && frontier.is_none();
    Ok(page.cut_at(wanted, is_complete))
}

/// Returns what is read of rows so that [`SpanWalk::count_all`] counts their spans.
pub(super) fn projection() -> Projection {
    Projection::SORT_KEY.and(Field::TotalSpans)
}

/// Returns what is known of the segments of selections; `None` of the head.
///
/// # Errors
/// Damage found while an index is rebuilt.
pub(super) fn indexes_of(selections: &[Selection<'_>], filter: &Filter) -> Result<Vec<Option<PartIndexes>>> {
    selections.iter().map(|selection| selection.part.indexes(filter)).collect()
}

/// A walk over selected traces in result order.
pub(super) struct SpanWalk<'s, 'a> {
    selections: &'s [Selection<'a>],
    spans: &'s SpanFilter,
    /// What counts the spans of each selection without documents.
    counters: Vec<Option<SpanCounter<'s>>>,
    /// Of each selection the rows whose documents were looked at, ascending, with their counts.
    looked_at: Vec<Vec<(u32, u32)>>,
    /// Whether the number of spans of a trace may be read from its row.
    has_columns: bool,
    /// Finds the matches of each span, if they are wanted.
    matcher: Option<OneSpanMatcher>,
    /// What is wrong with damaged documents.
    damage: Vec<String>,
    cancel: &'s CancellationToken,
}

/// A trace with spans on the page: those that match from one to before another.
pub(super) type PageTrace = (PageRow, usize, usize);

impl<'s, 'a> SpanWalk<'s, 'a> {
    /// Returns a walk over selected traces. Spans are written with their matches if these are wanted.
    ///
    /// # Errors
    /// [`Error::Filter`].
    pub(super) fn new(
        (selections, indexes): (&'s [Selection<'a>], &'s [Option<PartIndexes>]),
        spans: &'s SpanFilter,
        with_matches: bool,
        cancel: &'s CancellationToken,
    ) -> Result<Self> {
        let counter = |indexes: &'s Option<PartIndexes>| {
            indexes.as_ref().map(|indexes| SpanCounter::new(spans, indexes.of_filters()))
        };
        Ok(Self {
            selections,
            spans,
            counters: indexes.iter().map(counter).collect(),
            looked_at: vec![Vec::new(); selections.len()],
            has_columns: false,
            matcher: with_matches.then(|| OneSpanMatcher::of(spans)).transpose()?,
            damage: Vec::new(),
            cancel,
        })
    }

    /// Returns how many spans match in all traces, which were selected with [`projection`].
    ///
    /// # Errors
    /// [`Error::TooLarge`] if too many documents have to be looked at; as [`spans`].
    pub(super) fn count_all(&mut self) -> Result<u64> {
        self.has_columns = true;
        let of_selection = |(selection, of): (usize, &Selection<'_>)| {
            (0..of.count).step_by(INLINE_ROW_BUDGET).map(move |rank| (selection, rank)).collect::<Vec<_>>()
        };
        let chunks: Vec<(usize, usize)> = self.selections.iter().enumerate().flat_map(of_selection).collect();
        let (mut total, mut open) = (0, Vec::<PageRow>::new());
        let of_chunk = |(_, (selection, rank)): (usize, &(usize, usize))| {
            self.cancel.check()?;
            let rows: Vec<u32> =
                self.selections[*selection].rows.from_rank(*rank).take(INLINE_ROW_BUDGET).collect();
            let counts = self.known_counts(*selection, &rows);
            let open = rows.iter().zip(&counts).filter(|(_, count)| count.is_none());
            let open: Vec<PageRow> = open.map(|(row, _)| (*selection, *row as usize)).collect();
            Ok((counts.into_iter().flatten().sum::<u64>(), open))
        };
        fold_rounds(&chunks, 1, of_chunk, |(count, of_chunk)| {
            total += count;
            open.extend(of_chunk);
        })?;
        self.cancel.expect_few(open.len())?;
        let mut looked_at = Vec::with_capacity(open.len());
        fold_rounds(&open, LOOKS_PER_THREAD, |(_, row)| self.look_at(*row), |count| looked_at.push(count))?;
        for ((selection, row), count) in open.into_iter().zip(looked_at) {
            let count = self.readable(count).unwrap_or(0);
            total += count as u64;
            self.looked_at[selection].push((row_number(row), u32::try_from(count).unwrap_or(u32::MAX)));
        }
        Ok(total)
    }

    /// Returns the requested page. The walk ends after all traces, or after `wanted` spans.
    fn page(&mut self, request: PageRequest, wanted: usize) -> Result<Page> {
        let window = request.window();
        let (mut traces, mut seen) = (Vec::new(), 0_usize);
        let is_exact = self.count(wanted, |row, count| {
            let from = window.offset.saturating_sub(seen);
            let to = window.end().saturating_sub(seen).min(count);
            if from < to {
                traces.push((row, from, to));
            }
            seen += count;
        })?;
        let items = self.write(&traces)?.concat();
        Ok(Page { data: json_array(&items), total_count: seen as u64, is_exact, damage: self.damage() })
    }

    /// Calls `visit` with every trace in result order, and how many of its spans match, until there were `wanted` spans.
    /// Returns whether these were all traces.
    ///
    /// # Errors
    /// As [`spans`].
    pub(super) fn count(&mut self, wanted: usize, mut visit: impl FnMut(PageRow, usize)) -> Result<bool> {
        let (mut walked, mut seen, mut per_thread) = (0, 0_usize, FIRST_PER_THREAD);
        let rows: usize = self.selections.iter().map(|selection| selection.count).sum();
        while walked < rows && seen < wanted {
            let round = page_of(self.selections, walked, threads() * per_thread);
            if round.is_empty() {
                break;
            }
            walked += round.len();
            for (row, count) in round.iter().zip(self.counts(&round, per_thread)?) {
                visit(*row, count);
                seen += count;
            }
            per_thread = (2 * per_thread).min(MAX_PER_THREAD);
        }
        Ok(walked == rows)
    }

    /// Returns spans of traces as JSON, in order, by trace. A damaged trace has none.
    ///
    /// # Errors
    /// As [`spans`].
    pub(super) fn write(&mut self, traces: &[PageTrace]) -> Result<Vec<Vec<Vec<u8>>>> {
        let written = in_rounds(traces, FIRST_PER_THREAD, |(_, trace)| self.write_of(trace))?;
        Ok(written.into_iter().map(|spans| self.readable(spans).unwrap_or_default()).collect())
    }

    /// Returns what is wrong with documents that were looked at since the last call.
    pub(super) fn damage(&mut self) -> Vec<String> {
        std::mem::take(&mut self.damage)
    }

    /// Returns how many spans of each trace of a round match.
    fn counts(&mut self, round: &[PageRow], per_thread: usize) -> Result<Vec<usize>> {
        let mut by_selection: BTreeMap<usize, (Vec<usize>, Vec<u32>)> = BTreeMap::new();
        for (index, (selection, row)) in round.iter().enumerate() {
            let (indexes, rows) = by_selection.entry(*selection).or_default();
            indexes.push(index);
            rows.push(row_number(*row));
        }
        let mut counts: Vec<Option<usize>> = vec![None; round.len()];
        for (selection, (indexes, rows)) in by_selection {
            for ((index, row), known) in indexes.iter().zip(&rows).zip(self.known_counts(selection, &rows)) {
                let known = known.and_then(|count| usize::try_from(count).ok());
                counts[*index] = known.or_else(|| self.count_looked_at(selection, *row));
            }
        }
        let open: Vec<PageRow> =
            round.iter().zip(&counts).filter(|(_, count)| count.is_none()).map(|(row, _)| *row).collect();
        let mut looked_at = in_rounds(&open, per_thread, |(_, row)| self.look_at(*row))?.into_iter();
        for count in counts.iter_mut().filter(|count| count.is_none()) {
            *count = looked_at.next().and_then(|count| self.readable(count));
        }
        Ok(counts.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// Returns how many spans of these rows of a selection, which ascend, match; `None` where documents must be looked at.
    fn known_counts(&self, selection: usize, rows: &[u32]) -> Vec<Option<u64>> {
        if self.has_columns && self.spans.is_all() {
            let view = &self.selections[selection].view;
            let count =
                |row: &u32| u64::try_from(view.number(Field::TotalSpans, *row as usize)).unwrap_or_default();
            return rows.iter().map(|row| Some(count(row))).collect();
        }
        self.counters[selection]
            .as_ref()
            .map_or_else(|| vec![None; rows.len()], |counter| counter.counts(rows))
    }

    fn count_looked_at(&self, selection: usize, row: u32) -> Option<usize> {
        let looked_at = &self.looked_at[selection];
        let index = looked_at.binary_search_by_key(&row, |(row, _)| *row).ok()?;
        Some(looked_at[index].1 as usize)
    }

    /// Returns how many spans of a trace match, by its document.
    fn look_at(&self, row: PageRow) -> Result<Result<usize>> {
        self.of_trace(row, |view| Ok(self.spans.places(view)?.len()))
    }

    /// Returns the spans of a trace that are on the page.
    fn write_of(&self, (row, from, to): &PageTrace) -> Result<Result<Vec<Vec<u8>>>> {
        self.of_trace(*row, |view| {
            let places = self.spans.places(view)?;
            let on_page = places.into_iter().take(*to).skip(*from).map(|place| {
                let mut item = Vec::new();
                write_span_preview(&mut item, view, place)?;
                if let Some(matcher) = &self.matcher {
                    append_matches(&mut item, &matcher.matches(view, place)?);
                }
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

    /// Returns what was read; of a damaged document nothing, but notes what is wrong with it, once.
    fn readable<T>(&mut self, read: Result<T>) -> Option<T> {
        read.map_err(|error| {
            let error = error.to_string();
            if !self.damage.contains(&error) {
                self.damage.push(error);
            }
        })
        .ok()
    }
}

fn row_number(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX)
}
