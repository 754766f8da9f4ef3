//! The rows of one part sorted by a number or by start time.

use std::ops::Range;

use arrow_buffer::ScalarBuffer;

use crate::bitmap::RowSet;

/// The rows of a part sorted by a number. Positions ascend with the numbers. Equal numbers are adjacent, with
/// ascending rows.
#[derive(Debug, Clone)]
pub struct ValueOrder {
    order: Order,
    rows: usize,
}

#[derive(Debug, Clone)]
enum Order {
    /// The row of each position.
    Rows(ScalarBuffer<u32>),
    /// The numbers descend with ascending rows, like start times.
    Descending,
}

impl ValueOrder {
    /// Returns the order in which `order` lists the rows.
    pub fn of_rows(order: ScalarBuffer<u32>) -> Self {
        Self { rows: order.len(), order: Order::Rows(order) }
    }

    /// Returns the order of rows whose numbers descend.
    pub fn descending(rows: usize) -> Self {
        Self { rows, order: Order::Descending }
    }

    /// Returns the number of positions, which is the number of rows.
    pub fn count(&self) -> usize {
        self.rows
    }

    /// Returns a row with the number of `position`.
    pub fn row(&self, position: usize) -> usize {
        match &self.order {
            Order::Rows(rows) => rows[position] as usize,
            Order::Descending => self.rows - 1 - position,
        }
    }

    /// Returns the rows at positions `start` to `end`, ascending. All of them must have the same number.
    pub fn rows(&self, start: usize, end: usize) -> RowSet {
        let row = |position: usize| u32::try_from(position).unwrap_or(u32::MAX);
        match &self.order {
            Order::Rows(rows) => RowSet::List(rows.slice(start, end - start).into()),
            Order::Descending => RowSet::Range(row(self.rows - end)..row(self.rows - start)),
        }
    }

    /// Returns the number of rows at these positions whose bit is set in `words`; all rows count without
    /// `words`.
    pub fn count_in(&self, positions: Range<usize>, words: Option<&[u64]>) -> usize {
        let Some(words) = words else { return positions.len() };
        let bit = |row: usize| words[row / 64] >> (row % 64) & 1;
        let count: u64 = match &self.order {
            Order::Rows(rows) => rows[positions].iter().map(|row| bit(*row as usize)).sum(),
            Order::Descending => positions.map(|position| bit(self.row(position))).sum(),
        };
        usize::try_from(count).unwrap_or(usize::MAX)
    }

    /// Returns the first position in `from..to` whose row is not `is_before`, which must be true for a prefix
    /// only. Fast if that position is close to `from`.
    pub fn gallop_up(&self, from: usize, to: usize, is_before: impl Fn(usize) -> bool) -> usize {
        let (mut low, mut step) = (from, 1);
        while low + step <= to && is_before(self.row(low + step - 1)) {
            low += step;
            step *= 2;
        }
        self.partition_point(low, to.min(low + step), is_before)
    }

    /// Returns the same position as [`ValueOrder::gallop_up`]. Fast if it is close to `to`.
    pub fn gallop_down(&self, from: usize, to: usize, is_before: impl Fn(usize) -> bool) -> usize {
        let (mut high, mut step) = (to, 1);
        while high >= from + step && !is_before(self.row(high - step)) {
            high -= step;
            step *= 2;
        }
        self.partition_point(from.max(high.saturating_sub(step)), high, is_before)
    }

    fn partition_point(&self, mut low: usize, mut high: usize, is_before: impl Fn(usize) -> bool) -> usize {
        while low < high {
            let middle = low.midpoint(high);
            if is_before(self.row(middle)) { low = middle + 1 } else { high = middle }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn galloping_finds_the_partition_point(mut numbers in prop::collection::vec(0..9_i64, 0..200), wanted in -1..10_i64) {
            numbers.sort_unstable();
            let expected = numbers.partition_point(|number| *number < wanted);
            let ascending = ValueOrder::of_rows((0u32..).take(numbers.len()).collect::<Vec<_>>().into());
            let descending = ValueOrder::descending(numbers.len());
            let reversed: Vec<i64> = numbers.iter().rev().copied().collect();
            for (order, numbers) in [(ascending, &numbers), (descending, &reversed)] {
                let is_before = |row: usize| numbers[row] < wanted;
                prop_assert_eq!(order.gallop_up(0, order.count(), is_before), expected);
                prop_assert_eq!(order.gallop_down(0, order.count(), is_before), expected);
                let mut even = vec![0_u64; numbers.len().div_ceil(64)];
                (0..numbers.len()).step_by(2).for_each(|row| even[row / 64] |= 1 << (row % 64));
                let rows = (0..expected).map(|position| order.row(position));
                prop_assert_eq!(order.count_in(0..expected, Some(&even)), rows.filter(|row| row % 2 == 0).count());
                prop_assert_eq!(order.count_in(0..expected, None), expected);
            }
        }
    }
}
