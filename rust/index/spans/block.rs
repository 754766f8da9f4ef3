//! The spans of some adjacent rows.

use std::ops::{Range, RangeInclusive};

use super::durations::Durations;
use super::table::SpanTable;
use crate::bitmap::{Bitmap, CodeSet, RowBlock};

/// A view of the spans of some rows, the unit in which conditions on spans are evaluated.
#[derive(Debug, Clone)]
pub struct SpanBlock<'t> {
    table: &'t SpanTable,
    rows: RowBlock<'t>,
}

impl SpanTable {
    /// Returns a block for some rows, which ascend. The size of its sets grows with the distance from the
    /// first row to the last, including the rows between that are not in the block.
    pub fn block<'t>(&'t self, rows: RowBlock<'t>) -> SpanBlock<'t> {
        SpanBlock { table: self, rows }
    }
}

impl SpanBlock<'_> {
    /// Returns the rows, ascending.
    pub fn rows(&self) -> impl Iterator<Item = u32> + '_ {
        self.rows.iter()
    }

    /// Returns the range from the first row to the last one.
    pub fn range(&self) -> Range<u32> {
        match &self.rows {
            RowBlock::Range(range) => range.clone(),
            RowBlock::List(rows) => {
                rows.first().zip(rows.last()).map_or(0..0, |(first, last)| *first..last + 1)
            }
        }
    }

    /// Returns the ordinals of all spans from the first row to the last one.
    pub fn ordinals(&self) -> Range<usize> {
        let range = self.range();
        self.table.firsts[range.start as usize] as usize..self.table.firsts[range.end as usize] as usize
    }

    /// Returns the set of all ordinals that belong to the rows.
    pub fn all(&self) -> Bitmap {
        match &self.rows {
            RowBlock::Range(_) => Bitmap::all(self.ordinals()),
            RowBlock::List(rows) => {
                let mut all = Bitmap::none(self.ordinals());
                rows.iter().for_each(|row| all.fill(self.ordinals_of(*row)));
                all
            }
        }
    }

    /// Returns the ordinals of a row's spans.
    #[inline]
    pub fn ordinals_of(&self, row: u32) -> Range<usize> {
        self.table.firsts[row as usize] as usize..self.table.firsts[row as usize + 1] as usize
    }

    /// Returns the positions, within the block, of rows that have an ordinal in `set`.
    pub fn rows_with(&self, set: &Bitmap) -> Bitmap {
        if set.is_empty() {
            return Bitmap::none(0..self.rows.len());
        }
        match &self.rows {
            RowBlock::Range(_) => self.rows_with_counts(set, 1..=u64::MAX),
            RowBlock::List(_) => self.rows_of(|ordinals| set.has_any(ordinals)),
        }
    }

    /// Returns the positions, within the block, of rows whose number of ordinals in `set` is within `counts`.
    pub fn rows_with_counts(&self, set: &Bitmap, counts: RangeInclusive<u64>) -> Bitmap {
        match &self.rows {
            RowBlock::Range(range) => {
                let bounds = &self.table.firsts[range.start as usize..=range.end as usize];
                Bitmap::of_words(0..range.len(), set.neighbours_with_counts(bounds, &counts))
            }
            RowBlock::List(_) => self.rows_of(|ordinals| counts.contains(&set.count(ordinals))),
        }
    }

    /// Returns the positions, within the block, of rows whose range of ordinals passes `test`.
    pub fn rows_of(&self, test: impl Fn(Range<usize>) -> bool) -> Bitmap {
        let mut words = vec![0; self.rows.len().div_ceil(64)];
        let firsts = &self.table.firsts;
        let bit_of = |pair: &[u32]| u64::from(test(pair[0] as usize..pair[1] as usize));
        match &self.rows {
            RowBlock::Range(range) => {
                let firsts = &firsts[range.start as usize..=range.end as usize];
                for (word, starts) in words.iter_mut().zip((0..).step_by(64)) {
                    let pairs = firsts[starts..firsts.len().min(starts + 65)].windows(2).enumerate();
                    *word = pairs.fold(0, |bits, (bit, pair)| bits | bit_of(pair) << bit);
                }
            }
            RowBlock::List(rows) => {
                for (word, rows) in words.iter_mut().zip(rows.chunks(64)) {
                    let pairs = rows.iter().map(|row| &firsts[*row as usize..*row as usize + 2]).enumerate();
                    *word = pairs.fold(0, |bits, (bit, pair)| bits | bit_of(pair) << bit);
                }
            }
        }
        Bitmap::of_words(0..self.rows.len(), words)
    }

    /// Returns the subset of `candidates` whose combination of words is in `set`.
    pub fn of_combinations(&self, set: &CodeSet, candidates: &Bitmap) -> Bitmap {
        candidates.marked(|marked| self.table.codes.mark_codes(set, marked))
    }

    /// Returns the subset of `candidates` with a number in one of the closed `intervals`.
    pub fn with_numbers(
        &self,
        column: usize,
        intervals: impl Iterator<Item = (i64, i64)>,
        candidates: &Bitmap,
    ) -> Bitmap {
        let stored =
            |(least, greatest): (i64, i64)| (least.max(0).saturating_add(1), greatest.saturating_add(1));
        candidates.marked(|marked| self.table.numbers[column].mark_within(intervals.map(stored), marked))
    }

    /// Returns the subset of `candidates` with a number in a column.
    pub fn with_number(&self, column: usize, candidates: &Bitmap) -> Bitmap {
        candidates.marked(|marked| self.table.numbers[column].mark_within([(1, i64::MAX)], marked))
    }

    /// Returns the number of a span in a column; `None` if it is missing.
    pub fn number(&self, column: usize, ordinal: usize) -> Option<i64> {
        let stored = self.table.numbers[column].signed(ordinal);
        (stored > 0).then(|| stored - 1)
    }

    /// Returns the code of a span's combination of words.
    pub fn combination(&self, ordinal: usize) -> usize {
        self.table.codes.code(ordinal) as usize
    }

    /// Returns the subset of `candidates` without a parent.
    pub fn roots(&self, candidates: &Bitmap) -> Bitmap {
        candidates.marked(|marked| self.table.parents.mark_within([(0, 0)], marked))
    }

    /// Returns the ordinal of the parent; `None` for a root.
    #[inline]
    pub fn parent(&self, ordinal: usize) -> Option<usize> {
        let distance = self.table.parents.get(ordinal);
        usize::try_from(distance).ok().filter(|distance| *distance != 0).map(|distance| ordinal - distance)
    }

    /// Returns the first ordinal after the subtree of a span.
    #[inline]
    pub fn end_of_subtree(&self, ordinal: usize) -> usize {
        ordinal + 1 + usize::try_from(self.table.subtrees.get(ordinal)).unwrap_or_default()
    }

    /// Returns the start in microseconds after the base of the trace, plus 1.
    #[inline]
    pub fn start(&self, ordinal: usize) -> u64 {
        self.table.starts.get(ordinal)
    }

    /// Returns the end in microseconds after the base of the trace, plus 1; 0 if the span has not ended.
    #[inline]
    pub fn end(&self, ordinal: usize) -> u64 {
        self.table.ends.get(ordinal)
    }

    /// Returns the start of a row's span in microseconds since 1970.
    pub fn start_micros(&self, row: u32, ordinal: usize) -> i64 {
        self.table.bases.signed(row as usize) - 1 + self.table.starts.signed(ordinal)
    }

    /// Returns the subset of `candidates` that has ended with a duration in one of the closed `intervals` of
    /// milliseconds.
    pub fn with_durations(&self, intervals: impl Iterator<Item = (i64, i64)>, candidates: &Bitmap) -> Bitmap {
        let SpanTable { starts, ends, magnitudes, .. } = self.table;
        let durations = Durations { starts, ends, magnitudes };
        candidates.marked(|marked| durations.mark(intervals, marked))
    }

    /// Returns the subset of `candidates` that has ended.
    pub fn ended(&self, candidates: &Bitmap) -> Bitmap {
        candidates.marked(|marked| self.table.magnitudes.mark_within([(1, i64::MAX)], marked))
    }

    /// Returns the duration in milliseconds; `None` if the span has not ended.
    pub fn duration_ms(&self, ordinal: usize) -> Option<i64> {
        let end = self.table.ends.signed(ordinal);
        (end != 0).then(|| (end - self.table.starts.signed(ordinal)).max(0) / 1_000)
    }

    /// Returns the depth of each span of the block in ordinal order; 0 for a root.
    pub fn depths(&self) -> Vec<i64> {
        let mut depths: Vec<i64> = Vec::with_capacity(self.ordinals().len());
        self.for_each_parent(|at, parent| {
            depths.push(parent.map_or(0, |distance| depths[at - distance] + 1));
        });
        depths
    }

    /// Returns the number of children of each span of the block in ordinal order.
    pub fn child_counts(&self) -> Vec<i64> {
        let mut counts = vec![0; self.ordinals().len()];
        self.for_each_parent(|at, parent| parent.into_iter().for_each(|distance| counts[at - distance] += 1));
        counts
    }

    /// Calls `visit` with the index of each span and the distance back to its parent.
    fn for_each_parent(&self, mut visit: impl FnMut(usize, Option<usize>)) {
        let mut at = 0;
        self.table.parents.for_each(&self.span_rows(), |distance| {
            visit(at, usize::try_from(distance).ok().filter(|distance| *distance != 0));
            at += 1;
        });
    }

    /// Returns the ordinals as rows of a packed column.
    fn span_rows(&self) -> RowBlock<'static> {
        let (at, range) = (|row: u32| self.table.firsts[row as usize], self.range());
        RowBlock::Range(at(range.start)..at(range.end))
    }

    /// Returns `true` if no time has a fraction of a microsecond.
    pub fn has_whole_times(&self) -> bool {
        self.table.has_whole_times()
    }
}
