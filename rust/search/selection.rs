//! The rows of one part that a filter selects, with rank and select over them.

use std::cmp::Ordering;

use super::cancellation::CancellationToken;
use super::pool::in_rounds;
use crate::error::Result;
use crate::filter::Filter;
use crate::index::{LiveRows, Projection, RowSet};
use crate::storage::{PartColumns, Snapshot, SnapshotPart};

/// The sort key of results: newest start first, then trace id ascending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SortKey<'a> {
    start_time: i64,
    trace_id: &'a [u8],
}

impl SortKey<'_> {
    /// Returns the start time in microseconds since 1970.
    pub(super) fn start_time(&self) -> i64 {
        self.start_time
    }
}

impl Ord for SortKey<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.start_time.cmp(&self.start_time).then_with(|| self.trace_id.cmp(other.trace_id))
    }
}

impl PartialOrd for SortKey<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The selected rows of one part. The rows of a part are in result order.
pub(super) struct Selection<'a> {
    /// The part the rows belong to.
    pub(super) part: &'a SnapshotPart,
    /// The index of the part in the snapshot.
    pub(super) index: usize,
    /// The selected rows.
    pub(super) rows: LiveRows,
    /// Number of selected rows.
    pub(super) count: usize,
    /// The values of the part's rows.
    pub(super) view: PartColumns,
}

impl<'a> Selection<'a> {
    fn new(
        (index, part): (usize, &'a SnapshotPart),
        query: (&Filter, Projection),
        cancel: &CancellationToken,
    ) -> Result<Self> {
        let (filter, projection) = query;
        let rows = part.rows(filter, &|| cancel.is_cancelled())?;
        Ok(Self { part, index, count: rows.count(), rows, view: part.columns(projection)? })
    }

    /// Whether all rows of the part are selected.
    pub(super) fn is_whole(&self) -> bool {
        self.count == self.view.count()
    }

    /// Returns those of the selected rows that are in `rows`.
    pub(super) fn among(&self, rows: RowSet) -> Self {
        let rows = self.rows.among(rows);
        Self { part: self.part, index: self.index, count: rows.count(), rows, view: self.view.clone() }
    }

    /// Returns the sort key of `row`.
    pub(super) fn key(&self, row: usize) -> SortKey<'_> {
        SortKey { start_time: self.view.start_time(row), trace_id: self.view.trace_id(row) }
    }

    /// Returns the number of selected rows that come before `key`.
    pub(super) fn rank(&self, key: &SortKey<'_>) -> usize {
        let (mut low, mut high) = (0, self.view.count());
        while low < high {
            let middle = low.midpoint(high);
            if self.key(middle) < *key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.rows.rank(u32::try_from(low).unwrap_or(u32::MAX))
    }

    /// Returns the selected row with `rank` selected rows before it, if there is one.
    pub(super) fn select(&self, rank: usize) -> Option<usize> {
        self.rows.select(rank).map(|row| row as usize)
    }
}

/// With at most this many rows in the head, evaluating a light filter takes less time than waking another thread.
const MAX_INLINE_ROWS: usize = 1_024;

/// Parts per thread that are evaluated in one round.
pub(super) const PARTS_PER_THREAD: usize = 2;

/// Returns the rows that `filter` selects in every part, evaluated in parallel if that is worthwhile; parts without
/// a match are left out. Only the columns of `projection` may be read from the result.
pub(super) fn select<'a>(
    snapshot: &'a Snapshot,
    filter: &Filter,
    projection: Projection,
    cancel: &CancellationToken,
) -> Result<Vec<Selection<'a>>> {
    let evaluate = |part: (usize, &'a SnapshotPart)| {
        cancel.check()?;
        Selection::new(part, (filter, projection), cancel)
    };
    let parts = snapshot.parts();
    let selections: Vec<_> = if filter.is_light() && snapshot.head_rows() <= MAX_INLINE_ROWS {
        parts.iter().enumerate().map(evaluate).collect::<Result<_>>()?
    } else {
        in_rounds(parts, PARTS_PER_THREAD, evaluate)?
    };
    Ok(selections.into_iter().filter(|selection: &Selection<'_>| selection.count > 0).collect())
}
