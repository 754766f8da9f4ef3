//! Columns of integers and instants.

use std::ops::Range;
use std::sync::OnceLock;

use arrow_buffer::ScalarBuffer;

use crate::bitmap::{RowBlock, SelectionMask, fill};
use crate::index::batched_binary_search::{IN_STEP, MIN_IN_STEP, last_positions};
use crate::index::fence_keys::FenceKeys;
use crate::index::interpolation::Interpolation;
use crate::index::layout::{SectionKind, Sections};
use crate::index::packed::{FixedWidth, PackedInts};

/// Rows per zone. The minimum and maximum of each zone are stored.
pub(super) const ZONE: usize = 4_096;

/// A column of integers, or of instants in microseconds since 1970.
#[derive(Debug)]
pub struct Numbers {
    values: PackedInts,
    rows: usize,
    order: Option<FixedWidth<u32>>,
    zones: Option<FixedWidth<i64>>,
    /// Read from the sorted values at the first search.
    fence_keys: OnceLock<FenceKeys>,
}

impl Numbers {
    pub(super) fn open(sections: &Sections, column: usize) -> Option<Self> {
        let rows = sections.rows() as usize;
        let order: Option<FixedWidth<u32>> = sections.plain(column, SectionKind::Order);
        let zones: Option<FixedWidth<i64>> = sections.plain(column, SectionKind::Zones);
        let is_whole = order.as_ref().is_none_or(|order| order.len() == rows)
            && zones.as_ref().is_none_or(|zones| zones.len() == 2 * rows.div_ceil(ZONE));
        let values = sections.packed(column, SectionKind::Whole, rows)?;
        is_whole.then(|| Self { values, rows, order, zones, fence_keys: OnceLock::new() })
    }

    /// Returns the value of a row.
    pub fn value(&self, row: usize) -> i64 {
        self.values.signed(row)
    }

    /// Calls `visit` with the value of each of `rows`.
    pub fn for_each(&self, rows: &RowBlock<'_>, visit: impl FnMut(i64)) {
        self.values.for_each(rows, visit);
    }

    /// Calls `visit` with the row and the value of each of `rows` whose value is in a closed interval.
    pub fn for_each_between(&self, interval: (i64, i64), rows: &RowBlock<'_>, visit: impl FnMut(u32, i64)) {
        self.values.for_each_between(interval, rows, visit);
    }

    /// Returns the rows sorted by value, if that order is stored.
    pub fn order(&self) -> Option<&ScalarBuffer<u32>> {
        self.order.as_ref()
    }

    /// Returns the positions in `order` whose values are in each of the closed intervals.
    pub fn positions_between(&self, order: &[u32], intervals: &[(i64, i64)]) -> Vec<Range<usize>> {
        let bounds = intervals.iter().flat_map(|(first, last)| [first.checked_sub(1), Some(*last)]);
        let ends = self.positions_after(order, &bounds.collect::<Vec<_>>());
        ends.chunks_exact(2).map(|ends| ends[0]..ends[1]).collect()
    }

    /// Returns the number of positions in `order` with a value up to `bound`; 0 if `bound` is `None`.
    fn position_after(&self, order: &[u32], bound: Option<i64>) -> usize {
        let Some(bound) = bound else { return 0 };
        if bound == i64::MAX {
            return order.len();
        }
        let value = |position: usize| self.value(order[position] as usize);
        let fence_keys = self.fence_keys.get_or_init(|| FenceKeys::of(order.len(), value));
        let block = fence_keys.first_block(order.len(), |fence_key| fence_key <= bound);
        let Some(block) = block else { return order.len() };
        let ends = (key(block.before.unwrap_or_else(|| self.values.base())), key(block.last));
        let search = Interpolation::new(key(bound), block.inner, ends);
        search.first_position(|position| (key(value(position)), value(position) > bound))
    }

    /// Returns the number of positions in `order` with a value up to each bound. Several bounds are searched
    /// for in a batch.
    fn positions_after(&self, order: &[u32], bounds: &[Option<i64>]) -> Vec<usize> {
        if bounds.len() < MIN_IN_STEP || order.is_empty() {
            return bounds.iter().map(|bound| self.position_after(order, *bound)).collect();
        }
        counts_in_step(order.len(), bounds, |position, bound| {
            Some(self.value(order[position] as usize)) <= *bound
        })
    }

    /// Returns the rows whose values are in a closed interval. The column must be sorted in descending order.
    #[allow(clippy::cast_possible_truncation, reason = "row numbers have 32 bits")]
    pub fn rows_between(&self, (first, last): (i64, i64)) -> Range<u32> {
        let start = self.first_row(|value| value <= last);
        let end = self.first_row(|value| value < first);
        start as u32..end.max(start) as u32
    }

    /// Returns the rows of each interval as [`Numbers::rows_between`] does. Several intervals are searched
    /// for in a batch.
    #[allow(clippy::cast_possible_truncation, reason = "row numbers have 32 bits")]
    pub fn rows_between_each(&self, intervals: &[(i64, i64)]) -> Vec<Range<u32>> {
        if intervals.len() < MIN_IN_STEP || self.rows == 0 {
            return intervals.iter().map(|interval| self.rows_between(*interval)).collect();
        }
        let bounds = intervals.iter().flat_map(|(first, last)| [Some(*last), first.checked_sub(1)]);
        let is_above = |row: usize, bound: &Option<i64>| Some(self.value(row)) > *bound;
        let ends = counts_in_step(self.rows, &bounds.collect::<Vec<_>>(), is_above);
        ends.chunks_exact(2).map(|ends| ends[0] as u32..ends[1].max(ends[0]) as u32).collect()
    }

    /// Returns the first row whose value satisfies `is_low`. The column must be sorted in descending order.
    pub fn first_row(&self, is_low: impl Fn(i64) -> bool) -> usize {
        let (mut low, mut high) = (0, self.rows);
        while low < high {
            let middle = low.midpoint(high);
            if is_low(self.value(middle)) { high = middle } else { low = middle + 1 }
        }
        low
    }

    /// Sets the bit of every row whose value is in a closed interval. If zones are stored, they decide whole
    /// zones.
    pub fn mark_between(&self, interval: (i64, i64), words: &mut [u64]) {
        let Some(zones) = &self.zones else {
            return self
                .values
                .mark_within([interval], SelectionMask { range: 0..self.rows, selected: None, words });
        };
        for (zone, bounds) in zones.chunks_exact(2).enumerate() {
            let positions = zone * ZONE..((zone + 1) * ZONE).min(self.rows);
            if bounds[1] < interval.0 || bounds[0] > interval.1 {
                continue;
            }
            if interval.0 <= bounds[0] && bounds[1] <= interval.1 {
                fill(words, positions);
            } else {
                let words = &mut words[positions.start / 64..];
                self.values
                    .mark_within([interval], SelectionMask { range: positions, selected: None, words });
            }
        }
    }
}

/// Returns the number of positions before each bound, out of `count` (at least one). `is_before` is
/// monotonic.
fn counts_in_step(
    count: usize,
    bounds: &[Option<i64>],
    is_before: impl Fn(usize, &Option<i64>) -> bool,
) -> Vec<usize> {
    let mut found = Vec::with_capacity(bounds.len());
    for bounds in bounds.chunks(IN_STEP) {
        let last = last_positions(count, bounds, &is_before);
        let counts = last.iter().zip(bounds);
        found.extend(counts.map(|(position, bound)| position + usize::from(is_before(*position, bound))));
    }
    found
}

/// Converts a value to an unsigned number with the same order and the same distances.
fn key(value: i64) -> u64 {
    value.cast_unsigned() ^ 1 << 63
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rows_of_each_interval_are_those_of_it_alone(
            mut numbers in prop::collection::vec(0..60_u64, 0..300),
            mut bounds in prop::collection::vec(prop_oneof![-2..70_i64, Just(i64::MIN), Just(i64::MAX)], 0..80),
        ) {
            numbers.sort_unstable_by(|one, other| other.cmp(one));
            let (rows, values) = (numbers.len(), PackedInts::of(&numbers));
            let column = Numbers { values, rows, order: None, zones: None, fence_keys: OnceLock::new() };
            bounds.sort_unstable();
            let intervals: Vec<(i64, i64)> = bounds.chunks_exact(2).map(|ends| (ends[0], ends[1])).collect();
            let alone: Vec<_> = intervals.iter().map(|interval| column.rows_between(*interval)).collect();
            prop_assert_eq!(column.rows_between_each(&intervals), alone);
        }

        #[test]
        fn positions_between_have_the_rows_of_each_interval(
            numbers in prop::collection::vec(0..60_u64, 0..300),
            mut bounds in prop::collection::vec(prop_oneof![-2..70_i64, Just(i64::MIN), Just(i64::MAX)], 0..80),
        ) {
            let rows = numbers.len();
            let mut order: Vec<u32> = (0..).take(rows).collect();
            order.sort_by_key(|row| numbers[*row as usize]);
            let values = PackedInts::of(&numbers);
            let column = Numbers { values, rows, order: None, zones: None, fence_keys: OnceLock::new() };
            bounds.sort_unstable();
            bounds.dedup();
            let intervals: Vec<(i64, i64)> = bounds.chunks_exact(2).map(|ends| (ends[0], ends[1])).collect();
            let found = column.positions_between(&order, &intervals);
            prop_assert_eq!(found.len(), intervals.len());
            for ((first, last), positions) in intervals.into_iter().zip(found) {
                let is_in = |row: &u32| (first..=last).contains(&column.value(*row as usize));
                prop_assert!(order[positions.clone()].iter().all(is_in));
                prop_assert_eq!(order.iter().filter(|row| is_in(row)).count(), positions.len());
            }
        }
    }
}
