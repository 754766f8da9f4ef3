//! The selected rows, part by part, and their division into chunks of work.

use std::ops::Range;
use std::sync::Arc;

use crate::bitmap::{LiveRows, RowBlock, RowSet};
use crate::error::Result;
use crate::filter::Filter;
use crate::index::columns::Projection;
use crate::index::spans::SpanTable;
use crate::query::aggregate::request::{Aggregation, TimeRange};
use crate::query::aggregate::time_axis::TimeAxis;
use crate::query::cancellation::CancellationToken;
use crate::query::rows::costs::costs_of;
use crate::query::rows::selection::{Selection, select};
use crate::storage::{PartColumns, Snapshot, SnapshotPart};
use crate::trace::cost::{CostField, TraceNumber};

/// The number of rows of one chunk, selected or not, which take some milliseconds.
pub(super) const CHUNK_ROWS: usize = 1 << 18;

/// The selected rows of one part of the snapshot.
pub(super) struct Part {
    source: SnapshotPart,
    /// The values of all rows.
    pub(super) columns: PartColumns,
    /// The rows that the filter selects in the time range.
    pub(super) rows: LiveRows,
}

impl Part {
    /// Returns the part of a selection.
    pub(super) fn of(selection: Selection<'_>) -> Self {
        Self { source: selection.part.clone(), columns: selection.view, rows: selection.rows }
    }

    /// Returns the start times of the oldest and of the newest selected row, if there are any.
    fn bounds(&self) -> Option<(i64, i64)> {
        let (newest, oldest) = (self.rows.select(0)?, self.rows.select(self.rows.count().checked_sub(1)?)?);
        let start = |row: u32| self.columns.start_time(row as usize);
        Some((start(oldest), start(newest)))
    }

    /// True if all rows of the part are selected.
    pub(super) fn is_whole(&self) -> bool {
        self.rows.count() == self.columns.count()
    }

    /// Returns the part of the snapshot and its selected rows.
    pub(super) fn selected(&self) -> (&SnapshotPart, &LiveRows) {
        (&self.source, &self.rows)
    }

    /// Returns the selected rows that `condition` matches too.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`]; damage found while an index is rebuilt.
    pub(super) fn rows_where(&self, condition: &Filter, cancel: &CancellationToken) -> Result<LiveRows> {
        Ok(self.rows.intersected(self.source.matching(condition, &|| cancel.is_cancelled())?))
    }

    /// Returns the span table of the part; `None` if it is not built yet.
    ///
    /// # Errors
    /// Damage found while an index is rebuilt.
    pub(super) fn span_table(&self) -> Result<Option<Arc<SpanTable>>> {
        self.source.span_table()
    }

    /// Returns the number of documents to read for the model calls of the selected rows.
    ///
    /// # Errors
    /// The errors of [`Part::span_table`].
    pub(super) fn documents_of_calls(&self) -> Result<usize> {
        let is_read = self.source.is_segment() && self.span_table()?.is_none();
        Ok(if is_read { self.rows.count() } else { 0 })
    }

    /// Returns the rows that have a cost.
    pub(super) fn with_cost(&self, rows: &LiveRows, cost: CostField) -> LiveRows {
        rows.intersected(self.columns.costs().map_or(RowSet::NONE, |costs| costs.present(cost)))
    }

    /// Returns the first row at or after `from` that starts before `instant`. Rows are newest first.
    fn first_row_before(&self, instant: i64, from: u32) -> u32 {
        let (mut low, mut high) = (from as usize, self.columns.count());
        while low < high {
            let middle = low.midpoint(high);
            if self.columns.start_time(middle) < instant { high = middle } else { low = middle + 1 }
        }
        u32::try_from(low).unwrap_or(u32::MAX)
    }

    fn between(mut self, time: TimeRange) -> Self {
        if time.from.is_none() && time.to.is_none() {
            return self;
        }
        let start = time.to.map_or(0, |to| self.first_row_before(to, 0));
        let end = self.first_row_before(time.from.unwrap_or(i64::MIN), start);
        self.rows = self.rows.intersected(RowSet::Range(start..end));
        self
    }
}

/// The values of a number in some rows of a part. They are read without a copy.
pub(super) struct Values<'b> {
    pub(super) columns: &'b PartColumns,
    pub(super) number: TraceNumber,
    pub(super) rows: &'b RowBlock<'b>,
}

impl Values<'_> {
    /// Calls `visit` with each value, in the order of the rows.
    #[inline]
    pub(super) fn for_each(&self, visit: impl FnMut(i64)) {
        self.columns.for_each_number(self.number, self.rows, visit);
    }
}

/// Returns the parts with selected rows, with the columns that the aggregation reads.
///
/// # Errors
/// [`crate::error::Error::Cancelled`]; damage found while an index is rebuilt.
pub(super) fn select_parts(
    snapshot: &Snapshot,
    aggregation: &Aggregation,
    cancel: &CancellationToken,
) -> Result<Vec<Part>> {
    let projection = aggregation.fields().fold(Projection::SORT_KEY, Projection::and);
    let selections = select(snapshot, &aggregation.filter, projection, cancel)?.into_iter();
    let parts = selections.map(|selection| {
        let part = Part::of(selection);
        match aggregation.time {
            Some(time) => part.between(time),
            None => part,
        }
    });
    let parts: Vec<Part> = parts.filter(|part| part.rows.count() > 0).collect();
    if aggregation.by_model.is_some() || !aggregation.reads_costs() {
        return Ok(parts);
    }
    let sources: Vec<&SnapshotPart> = parts.iter().map(|part| &part.source).collect();
    let costs = costs_of(&sources, cancel)?;
    let with_costs = |(part, costs): (Part, _)| Part { columns: part.columns.with_costs(costs), ..part };
    Ok(parts.into_iter().zip(costs).map(with_costs).collect())
}

/// Returns the start times of the oldest and of the newest selected row of all parts, if there are any.
pub(super) fn bounds(parts: &[Part]) -> Option<(i64, i64)> {
    let bounds = parts.iter().filter_map(Part::bounds);
    bounds.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
}

/// Rows of one bucket that are read as one item: row ranges of parts.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) bucket: usize,
    /// Indexes of parts, each with a range of its rows.
    pub(super) windows: Vec<(usize, Range<u32>)>,
}

/// Returns all rows of `parts` in chunks, bucket by bucket. Without an axis there is one bucket.
pub(super) fn chunks(parts: &[Part], axis: Option<&TimeAxis>) -> Vec<Chunk> {
    let buckets = axis.map_or(1, |axis| axis.count);
    let mut windows: Vec<Vec<(usize, Range<u32>)>> = vec![Vec::new(); buckets];
    for (index, part) in parts.iter().enumerate() {
        let rows = u32::try_from(part.columns.count()).unwrap_or(u32::MAX);
        let (first, end) = (part.rows.select(0), part.rows.select(part.rows.count().saturating_sub(1)));
        let (mut from, end) = (first.unwrap_or(0), end.map_or(rows, |last| last + 1));
        let Some(axis) = axis else {
            windows[0].push((index, from..end));
            continue;
        };
        while from < end {
            let bucket = axis.bucket(part.columns.start_time(from as usize));
            let to = part.first_row_before(axis.start(bucket), from + 1).min(end);
            windows[bucket].push((index, from..to));
            from = to;
        }
    }
    windows.into_iter().enumerate().flat_map(|(bucket, windows)| divided(bucket, windows)).collect()
}

/// Divides the windows of a bucket into chunks.
fn divided(bucket: usize, windows: Vec<(usize, Range<u32>)>) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut room = 0;
    for (part, mut window) in windows {
        while !window.is_empty() {
            if room == 0 {
                chunks.push(Chunk { bucket, windows: Vec::new() });
                room = CHUNK_ROWS;
            }
            let length = window.len().min(room);
            let middle = window.start + u32::try_from(length).unwrap_or(u32::MAX);
            if let Some(chunk) = chunks.last_mut() {
                chunk.windows.push((part, window.start..middle));
            }
            window.start = middle;
            room -= length;
        }
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_divide_the_windows_of_a_bucket() {
        let rows = u32::try_from(CHUNK_ROWS).expect("a row number");
        let windows = vec![(0, 5..rows), (1, 0..7), (2, 9..2 * rows)];
        let chunks = divided(3, windows.clone());
        assert!(chunks.iter().all(|chunk| chunk.bucket == 3));
        let lengths =
            chunks.iter().map(|chunk| chunk.windows.iter().map(|(_, rows)| rows.len()).sum::<usize>());
        let lengths: Vec<usize> = lengths.collect();
        assert_eq!(lengths, [CHUNK_ROWS, CHUNK_ROWS, CHUNK_ROWS - 7]);
        for (part, window) in windows {
            let own = chunks.iter().flat_map(|chunk| &chunk.windows).filter(|(own, _)| *own == part);
            let rows: Vec<u32> = own.flat_map(|(_, rows)| rows.clone()).collect();
            assert_eq!(rows, window.collect::<Vec<_>>());
        }
    }
}
