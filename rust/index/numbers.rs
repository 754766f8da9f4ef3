//! Columns of whole numbers, each as narrow as its values allow.

use std::ops::Range;

use arrow_buffer::ScalarBuffer;

use super::layout::{Piece, Sections};
use super::packed::{Ints, Words};

/// So many rows have one least and one greatest number.
pub(super) const ZONE: usize = 4_096;

/// A field of numbers, or of instants in microseconds since 1970.
#[derive(Debug)]
pub struct Numbers {
    values: Ints,
    rows: usize,
    order: Option<Words<u32>>,
    zones: Option<Words<i64>>,
}

impl Numbers {
    pub(super) fn open(sections: &Sections, column: usize) -> Option<Self> {
        let rows = sections.rows() as usize;
        let order: Option<Words<u32>> = sections.plain(column, Piece::Order);
        let zones: Option<Words<i64>> = sections.plain(column, Piece::Zones);
        let is_whole = order.as_ref().is_none_or(|order| order.len() == rows)
            && zones.as_ref().is_none_or(|zones| zones.len() == 2 * rows.div_ceil(ZONE));
        let values = sections.ints(column, Piece::Whole, rows)?;
        is_whole.then_some(Self { values, rows, order, zones })
    }

    /// Returns the number of a row.
    pub fn value(&self, row: usize) -> i64 {
        self.values.signed(row)
    }

    /// Returns the rows in the order of their numbers, if that is kept.
    pub fn order(&self) -> Option<&ScalarBuffer<u32>> {
        self.order.as_ref()
    }

    /// Returns the places in the order whose numbers lie between two, both included.
    pub fn places_between(&self, order: &[u32], (first, last): (i64, i64)) -> Range<usize> {
        let start = order.partition_point(|row| self.value(*row as usize) < first);
        let end = order.partition_point(|row| self.value(*row as usize) <= last);
        start..end.max(start)
    }

    /// Returns the rows whose numbers lie between two, both included, in a column that falls from row
    /// to row.
    #[allow(clippy::cast_possible_truncation, reason = "rows are counted in 32 bits")]
    pub fn rows_between(&self, (first, last): (i64, i64)) -> Range<u32> {
        let start = self.first_row(|value| value <= last);
        let end = self.first_row(|value| value < first);
        start as u32..end.max(start) as u32
    }

    /// Returns the first row, in a column that falls, for whose number `is_low` holds.
    pub fn first_row(&self, is_low: impl Fn(i64) -> bool) -> usize {
        let (mut low, mut high) = (0, self.rows);
        while low < high {
            let middle = low.midpoint(high);
            if is_low(self.value(middle)) { high = middle } else { low = middle + 1 }
        }
        low
    }

    /// Sets the bit of every row whose number lies between two, both included. Whole blocks are
    /// decided by their least and greatest number where those are kept.
    pub fn mark_between(&self, span: (i64, i64), words: &mut [u64]) {
        let Some(zones) = &self.zones else {
            return self.values.mark_between(span, 0..self.rows, words);
        };
        for (zone, bounds) in zones.chunks_exact(2).enumerate() {
            let places = zone * ZONE..((zone + 1) * ZONE).min(self.rows);
            if bounds[1] < span.0 || bounds[0] > span.1 {
                continue;
            }
            if span.0 <= bounds[0] && bounds[1] <= span.1 {
                super::row_set::fill(words, places);
            } else {
                self.values.mark_between(span, places, words);
            }
        }
    }
}
