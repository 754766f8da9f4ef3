//! Walks over traces to count and to write their matching spans.
//!
//! Traces are selected with the condition that they have such a span. The span table of a segment has the number of
//! matching spans of most traces; the documents of the other traces are checked. A walk visits traces in result order, in
//! rounds that grow, until a page is known. A walk takes the memory of one round and of the checked counts.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::filter::{Filter, OneSpanMatcher, SpanCounter, SpanFilter};
use crate::index::columns::Projection;
use crate::query::cancellation::CancellationToken;
use crate::query::matches::append_matches;
use crate::query::pool::{par_fold_chunked, par_map_chunked, threads};
use crate::query::rows::page_rows::{PageRow, page_of};
use crate::query::rows::selection::Selection;
use crate::schema::Field;
use crate::storage::PartIndexes;
use crate::trace::view::{TraceView, write_span_preview};

/// Traces per thread in the first round of a walk, and in the largest one.
const FIRST_PER_THREAD: usize = 8;
const MAX_PER_THREAD: usize = 1_024;
/// Traces that are counted by a span table as one item, which takes some milliseconds.
const ROWS_PER_CHUNK: usize = 65_536;
/// Documents per thread that are checked in one round.
const CHECKS_PER_THREAD: usize = 64;

/// Returns the columns that [`SpanWalk::count_all`] reads.
pub(crate) fn projection() -> Projection {
    Projection::SORT_KEY.and(Field::TotalSpans)
}

/// Returns the indexes of the segments of selections; `None` for the head.
///
/// # Errors
/// Damage found while an index is rebuilt.
pub(crate) fn indexes_of(selections: &[Selection<'_>], filter: &Filter) -> Result<Vec<Option<PartIndexes>>> {
    selections.iter().map(|selection| selection.part.indexes(filter)).collect()
}

/// For each selection, the rows whose documents were checked, ascending, with their numbers of matching spans.
type CheckedCounts = Vec<Vec<(u32, u32)>>;

/// The counted spans of a query.
pub(crate) struct SpanCounts {
    pub(super) total: u64,
    checked: CheckedCounts,
    pub(super) damage: Vec<String>,
}

/// A walk over selected traces in result order.
pub(crate) struct SpanWalk<'s, 'a> {
    selections: &'s [Selection<'a>],
    spans: &'s SpanFilter,
    /// Counts the spans of each selection without documents.
    counters: Vec<Option<SpanCounter<'s>>>,
    checked: CheckedCounts,
    /// True if the number of spans of a trace may be read from its row.
    has_columns: bool,
    /// Finds the matches of each span, if they are requested.
    matcher: Option<OneSpanMatcher>,
    /// Damage of checked documents.
    damage: Vec<String>,
    cancel: &'s CancellationToken,
}

/// A trace with spans on the page: the range of its matching spans.
pub(crate) type PageTrace = (PageRow, usize, usize);

impl<'s, 'a> SpanWalk<'s, 'a> {
    /// Returns a walk over selected traces. Spans are written with their matches if these are requested.
    ///
    /// # Errors
    /// [`Error::Filter`].
    pub(crate) fn new(
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
            checked: vec![Vec::new(); selections.len()],
            has_columns: false,
            matcher: with_matches.then(|| OneSpanMatcher::of(spans)).transpose()?,
            damage: Vec::new(),
            cancel,
        })
    }

    /// Continues after [`Self::count_all`] of an earlier walk over the same rows.
    pub(super) fn resume(&mut self, counts: &SpanCounts) {
        self.has_columns = true;
        self.checked.clone_from(&counts.checked);
    }

    /// Counts the matching spans of all traces, which were selected with [`projection`].
    ///
    /// # Errors
    /// [`Error::TooLarge`] if too many documents must be checked; [`Error::Cancelled`]; [`Error::Storage`].
    pub(crate) fn count_all(&mut self) -> Result<SpanCounts> {
        self.has_columns = true;
        let of_selection = |(selection, of): (usize, &Selection<'_>)| {
            (0..of.count).step_by(ROWS_PER_CHUNK).map(move |rank| (selection, rank)).collect::<Vec<_>>()
        };
        let chunks: Vec<(usize, usize)> = self.selections.iter().enumerate().flat_map(of_selection).collect();
        let (mut total, mut unresolved) = (0, Vec::<PageRow>::new());
        let of_chunk = |(_, (selection, rank)): (usize, &(usize, usize))| {
            self.cancel.check()?;
            let rows: Vec<u32> =
                self.selections[*selection].rows.from_rank(*rank).take(ROWS_PER_CHUNK).collect();
            let counts = self.known_counts(*selection, &rows);
            let unresolved = rows.iter().zip(&counts).filter(|(_, count)| count.is_none());
            let unresolved: Vec<PageRow> = unresolved.map(|(row, _)| (*selection, *row as usize)).collect();
            Ok((counts.into_iter().flatten().sum::<u64>(), unresolved))
        };
        par_fold_chunked(&chunks, 1, of_chunk, |(count, of_chunk)| {
            total += count;
            unresolved.extend(of_chunk);
        })?;
        self.cancel.admit_checks(unresolved.len())?;
        let mut checked = Vec::with_capacity(unresolved.len());
        par_fold_chunked(
            &unresolved,
            CHECKS_PER_THREAD,
            |(_, row)| self.check(*row),
            |count| checked.push(count),
        )?;
        for ((selection, row), count) in unresolved.into_iter().zip(checked) {
            let count = self.readable(count).unwrap_or(0);
            total += count as u64;
            self.checked[selection].push((row_number(row), u32::try_from(count).unwrap_or(u32::MAX)));
        }
        Ok(SpanCounts { total, checked: self.checked.clone(), damage: self.damage() })
    }

    /// Calls `visit` with every trace in result order and the number of its matching spans, until `max_spans` spans
    /// were visited. Returns true if all traces were visited.
    ///
    /// # Errors
    /// [`Error::Cancelled`]; [`Error::Storage`].
    pub(crate) fn count(&mut self, max_spans: usize, mut visit: impl FnMut(PageRow, usize)) -> Result<bool> {
        let (mut walked, mut seen, mut per_thread) = (0, 0_usize, FIRST_PER_THREAD);
        let rows: usize = self.selections.iter().map(|selection| selection.count).sum();
        while walked < rows && seen < max_spans {
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

    /// Returns spans of traces as JSON, in order, by trace. The list of a damaged trace is empty.
    ///
    /// # Errors
    /// [`Error::Cancelled`]; [`Error::Storage`].
    pub(crate) fn write(&mut self, traces: &[PageTrace]) -> Result<Vec<Vec<Vec<u8>>>> {
        let written = par_map_chunked(traces, FIRST_PER_THREAD, |(_, trace)| self.write_of(trace))?;
        Ok(written.into_iter().map(|spans| self.readable(spans).unwrap_or_default()).collect())
    }

    /// Returns the damage of documents that were checked since the last call.
    pub(crate) fn damage(&mut self) -> Vec<String> {
        std::mem::take(&mut self.damage)
    }

    /// Returns the number of matching spans of each trace of a round.
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
                counts[*index] = known.or_else(|| self.checked_count(selection, *row));
            }
        }
        let unresolved: Vec<PageRow> =
            round.iter().zip(&counts).filter(|(_, count)| count.is_none()).map(|(row, _)| *row).collect();
        let mut checked = par_map_chunked(&unresolved, per_thread, |(_, row)| self.check(*row))?.into_iter();
        for count in counts.iter_mut().filter(|count| count.is_none()) {
            *count = checked.next().and_then(|count| self.readable(count));
        }
        Ok(counts.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// Returns the number of matching spans of ascending rows of a selection; `None` where a document must be checked.
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

    fn checked_count(&self, selection: usize, row: u32) -> Option<usize> {
        let checked = &self.checked[selection];
        let index = checked.binary_search_by_key(&row, |(row, _)| *row).ok()?;
        Some(checked[index].1 as usize)
    }

    /// Returns the number of matching spans of a trace, from its document.
    fn check(&self, row: PageRow) -> Result<Result<usize>> {
        self.of_trace(row, |view| Ok(self.spans.ordinals(view)?.len()))
    }

    /// Returns the spans of a trace that are on the page.
    fn write_of(&self, (row, from, to): &PageTrace) -> Result<Result<Vec<Vec<u8>>>> {
        self.of_trace(*row, |view| {
            let ordinals = self.spans.ordinals(view)?;
            let on_page = ordinals.into_iter().take(*to).skip(*from).map(|ordinal| {
                let mut item = Vec::new();
                write_span_preview(&mut item, view, ordinal)?;
                if let Some(matcher) = &self.matcher {
                    append_matches(&mut item, &matcher.matches(view, ordinal)?);
                }
                Ok(item)
            });
            on_page.collect()
        })
    }

    /// Returns the result of `read` for a trace, or the damage of its document.
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

    /// Returns the value, or records the damage once and returns `None`.
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
