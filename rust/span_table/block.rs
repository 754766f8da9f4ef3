//! The spans of consecutive rows.

use std::ops::Range;

use super::durations::Durations;
use super::place_set::PlaceSet;
use super::table::SpanTable;
use crate::index::RowBlock;

/// The spans of consecutive rows.
#[derive(Debug, Clone)]
pub struct SpanBlock<'t> {
    table: &'t SpanTable,
    rows: Range<u32>,
}

impl SpanTable {
    /// Returns the spans of consecutive rows.
    pub fn block(&self, rows: Range<u32>) -> SpanBlock<'_> {
        SpanBlock { table: self, rows }
    }
}

impl SpanBlock<'_> {
    /// Returns the rows.
    pub fn rows(&self) -> Range<u32> {
        self.rows.clone()
    }

    /// Returns the places of all spans.
    pub fn places(&self) -> Range<usize> {
        self.table.firsts[self.rows.start as usize] as usize
            ..self.table.firsts[self.rows.end as usize] as usize
    }

    /// Returns the places of a row's spans.
    pub fn places_of(&self, row: u32) -> Range<usize> {
        self.table.firsts[row as usize] as usize..self.table.firsts[row as usize + 1] as usize
    }

    /// Returns the places whose combination of words is in the first set of a table by combination, and those in the second:
    /// bit 0 and bit 1.
    pub fn of_combinations(&self, sets: &[u8]) -> [PlaceSet; 2] {
        let places = self.places();
        let [mut first, mut second] = [(); 2].map(|()| PlaceSet::none(places.clone()));
        self.table.codes.mark_codes(sets, places, [first.words_mut(), second.words_mut()]);
        [first, second]
    }

    /// Returns the places that have a number of a column in one of these closed intervals, and those that have one at all.
    pub fn with_numbers(&self, column: usize, intervals: impl Iterator<Item = (i64, i64)>) -> [PlaceSet; 2] {
        let (column, places) = (&self.table.numbers[column], self.places());
        let mut within = PlaceSet::none(places.clone());
        for (least, greatest) in intervals {
            let stored = (least.max(0).saturating_add(1), greatest.saturating_add(1));
            column.mark_between(stored, places.clone(), within.words_mut());
        }
        let mut present = PlaceSet::none(places.clone());
        column.mark_between((1, i64::MAX), places, present.words_mut());
        [within, present]
    }

    /// Returns the number of a column that a span has.
    pub fn number(&self, column: usize, place: usize) -> Option<i64> {
        let stored = self.table.numbers[column].signed(place);
        (stored > 0).then(|| stored - 1)
    }

    /// Returns the combination of words of a span.
    pub fn combination(&self, place: usize) -> usize {
        self.table.codes.code(place) as usize
    }

    /// Returns the places of spans without a parent.
    pub fn roots(&self) -> PlaceSet {
        let mut roots = PlaceSet::none(self.places());
        self.table.parents.mark_between((0, 0), self.places(), roots.words_mut());
        roots
    }

    /// Returns the place of the parent; `None` of a root.
    pub fn parent(&self, place: usize) -> Option<usize> {
        let distance = self.table.parents.get(place);
        usize::try_from(distance).ok().filter(|distance| *distance != 0).map(|distance| place - distance)
    }

    /// Returns the first place after the spans below a span.
    pub fn end_of_subtree(&self, place: usize) -> usize {
        place + 1 + usize::try_from(self.table.subtrees.get(place)).unwrap_or_default()
    }

    /// Returns the start in microseconds from an instant of the trace; above zero.
    pub fn start(&self, place: usize) -> u64 {
        self.table.starts.get(place)
    }

    /// Returns the end likewise; 0 if there is none.
    pub fn end(&self, place: usize) -> u64 {
        self.table.ends.get(place)
    }

    /// Returns the start of a row's span in microseconds since 1970.
    pub fn start_micros(&self, row: u32, place: usize) -> i64 {
        self.table.bases.signed(row as usize) - 1 + self.table.starts.signed(place)
    }

    /// Returns the places of spans whose duration in milliseconds lies in one of these closed intervals, and those that have
    /// one at all: the ones that have ended.
    pub fn with_durations(&self, intervals: impl Iterator<Item = (i64, i64)>) -> [PlaceSet; 2] {
        let places = self.places();
        let [mut within, mut ended] = [(); 2].map(|()| PlaceSet::none(places.clone()));
        let durations = Durations { starts: &self.table.starts, ends: &self.table.ends };
        durations.mark(intervals, places, [within.words_mut(), ended.words_mut()]);
        [within, ended]
    }

    /// Returns the duration in milliseconds; `None` without an end.
    pub fn duration_ms(&self, place: usize) -> Option<i64> {
        let end = self.table.ends.signed(place);
        (end != 0).then(|| (end - self.table.starts.signed(place)).max(0) / 1_000)
    }

    /// Returns, in the order of the places, how many spans are above each.
    pub fn depths(&self) -> Vec<i64> {
        let mut depths: Vec<i64> = Vec::with_capacity(self.places().len());
        self.for_each_parent(|at, parent| {
            depths.push(parent.map_or(0, |distance| depths[at - distance] + 1));
        });
        depths
    }

    /// Returns, in the order of the places, how many children each has.
    pub fn child_counts(&self) -> Vec<i64> {
        let mut counts = vec![0; self.places().len()];
        self.for_each_parent(|at, parent| parent.into_iter().for_each(|distance| counts[at - distance] += 1));
        counts
    }

    /// Calls `visit` with the number of each span, and how far before it its parent stands.
    fn for_each_parent(&self, mut visit: impl FnMut(usize, Option<usize>)) {
        let mut at = 0;
        self.table.parents.for_each(&self.span_rows(), |distance| {
            visit(at, usize::try_from(distance).ok().filter(|distance| *distance != 0));
            at += 1;
        });
    }

    /// Returns the places as rows of a column of spans.
    fn span_rows(&self) -> RowBlock<'static> {
        let at = |row: u32| self.table.firsts[row as usize];
        RowBlock::Range(at(self.rows.start)..at(self.rows.end))
    }

    /// Whether no time has a fraction of a microsecond.
    pub fn has_whole_times(&self) -> bool {
        self.table.has_whole_times()
    }
}
