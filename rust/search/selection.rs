//! Which rows of one part a filter selects, with rank and select over them.

use std::cmp::Ordering;

use super::CancellationToken;
use super::pool::in_rounds;
use crate::error::Result;
use crate::filter::Filter;
use crate::index::{LiveRows, Projection};
use crate::storage::{Part, Snapshot, View};

/// Where a row stands among all results: newest start first, then trace id ascending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OrderKey<'a> {
    start_time: i64,
    trace_id: &'a [u8],
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
    /// Its place in the snapshot.
    pub(super) place: usize,
    /// The rows that are selected.
    pub(super) rows: LiveRows,
    /// How many rows are selected.
    pub(super) count: usize,
    /// The values of the part's rows.
    pub(super) view: View,
}

impl<'a> Selection<'a> {
    fn new(
        (place, part): (usize, &'a Part),
        asked: (&Filter, Projection),
        cancel: &CancellationToken,
    ) -> Result<Self> {
        let (filter, projection) = asked;
        let rows = part.rows(filter, &|| cancel.is_cancelled())?;
        Ok(Self { part, place, count: rows.count(), rows, view: part.view(projection)? })
    }

    /// Returns where `row` stands among all results.
    pub(super) fn key(&self, row: usize) -> OrderKey<'_> {
        OrderKey { start_time: self.view.start_time(row), trace_id: self.view.trace_id(row) }
    }

    /// Returns how many selected rows stand before `key`.
    pub(super) fn rank(&self, key: &OrderKey<'_>) -> usize {
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

    /// Returns the selected row with `rank` selected rows before it, if there are so many.
    pub(super) fn select(&self, rank: usize) -> Option<usize> {
        self.rows.select(rank).map(|row| row as usize)
    }
}

/// So many rows of the head are looked at sooner than another thread is woken.
const FEW_ROWS: usize = 1_024;

/// So many parts a thread are evaluated in one round.
pub(super) const PARTS: usize = 2;

/// Returns what `filter` selects in every part, evaluated in parallel if that is worth it; parts without a match are left
/// out. The columns that are `projection` of their rows may be read.
pub(super) fn select<'a>(
    snapshot: &'a Snapshot,
    filter: &Filter,
    projection: Projection,
    cancel: &CancellationToken,
) -> Result<Vec<Selection<'a>>> {
    let evaluate = |part: (usize, &'a Part)| {
        cancel.check()?;
        Selection::new(part, (filter, projection), cancel)
    };
    let parts = snapshot.parts();
    let selections: Vec<_> = if filter.is_light() && snapshot.head_rows() <= FEW_ROWS {
        parts.iter().enumerate().map(evaluate).collect::<Result<_>>()?
    } else {
        in_rounds(parts, PARTS, evaluate)?
    };
    Ok(selections.into_iter().filter(|selection: &Selection<'_>| selection.count > 0).collect())
}
