//! Which rows of one part a filter selects, with rank and select over them.

use std::cmp::Ordering;

use arrow_array::cast::AsArray as _;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{StringArray, TimestampMicrosecondArray};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use rayon::prelude::*;
use roaring::RoaringBitmap;

use super::{Cancel, POOL};
use crate::error::Result;
use crate::filter::Filter;
use crate::schema::Field;
use crate::storage::{Part, Snapshot};

/// Where a row stands among all results: newest start first, then trace id ascending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OrderKey<'a> {
    start_time: i64,
    trace_id: &'a str,
}

impl OrderKey<'_> {
    /// Microseconds since 1970.
    pub(super) fn start_time(&self) -> i64 {
        self.start_time
    }
}

impl Ord for OrderKey<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.start_time.cmp(&self.start_time).then_with(|| self.trace_id.cmp(other.trace_id))
    }
}

impl PartialOrd for OrderKey<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The selected rows of one part. Rows of a part stand in result order.
pub(super) struct Selection<'a> {
    /// The part they are rows of.
    pub(super) part: &'a Part,
    rows: BooleanBuffer,
    /// How many rows are selected.
    pub(super) count: usize,
    start_times: &'a TimestampMicrosecondArray,
    trace_ids: &'a StringArray,
}

impl<'a> Selection<'a> {
    fn new(part: &'a Part, filter: &Filter) -> Result<Self> {
        let mask = filter.mask(part.batch())?;
        let rows = without(mask.values(), part.hidden());
        let batch = part.batch();
        Ok(Self {
            part,
            count: rows.count_set_bits(),
            rows,
            start_times: batch.column(Field::StartTime.column()).as_primitive::<TimestampMicrosecondType>(),
            trace_ids: batch.column(Field::TraceId.column()).as_string(),
        })
    }

    /// Returns the selected rows, in result order.
    pub(super) fn rows(&self) -> impl Iterator<Item = usize> {
        self.rows.set_indices()
    }

    /// Returns where `row` stands among all results.
    pub(super) fn key(&self, row: usize) -> OrderKey<'a> {
        OrderKey { start_time: self.start_times.value(row), trace_id: self.trace_ids.value(row) }
    }

    /// Returns how many selected rows stand before `key`.
    pub(super) fn rank(&self, key: &OrderKey<'_>) -> usize {
        let (mut low, mut high) = (0, self.rows.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.key(middle) < *key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.rows.slice(0, low).count_set_bits()
    }

    /// Returns the selected row with `rank` selected rows before it, if there are so many.
    pub(super) fn select(&self, rank: usize) -> Option<usize> {
        if rank >= self.count {
            return None;
        }
        let mut remaining = rank;
        let chunks = self.rows.bit_chunks();
        for (place, word) in chunks.iter_padded().enumerate() {
            let ones = word.count_ones() as usize;
            if remaining < ones {
                let cleared = (0..remaining).fold(word, |word, _| word & (word - 1));
                return Some(place * 64 + cleared.trailing_zeros() as usize);
            }
            remaining -= ones;
        }
        None
    }
}

/// Returns what `filter` selects in every part, evaluated in parallel; parts without a match are left out.
pub(super) fn select<'a>(
    snapshot: &'a Snapshot,
    filter: &Filter,
    cancel: &Cancel,
) -> Result<Vec<Selection<'a>>> {
    let evaluate = |part: &'a Part| {
        cancel.check()?;
        Selection::new(part, filter)
    };
    let selections: Vec<_> =
        POOL.install(|| snapshot.parts().par_iter().map(evaluate).collect::<Result<_>>())?;
    Ok(selections.into_iter().filter(|selection: &Selection<'_>| selection.count > 0).collect())
}

/// Returns `rows` with the hidden ones cut out.
fn without(rows: &BooleanBuffer, hidden: &RoaringBitmap) -> BooleanBuffer {
    if hidden.is_empty() {
        return rows.clone();
    }
    let mut live = BooleanBufferBuilder::new(rows.len());
    live.append_buffer(rows);
    for row in hidden.iter().map(|row| row as usize).take_while(|row| *row < rows.len()) {
        live.set_bit(row, false);
    }
    live.finish()
}
