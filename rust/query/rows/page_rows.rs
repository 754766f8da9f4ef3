//! Merges the rows of one page from parts that are each in result order.
//!
//! A deep page costs as much as the first one. Binary search on the sort key finds the start of the page in every part
//! by summing ranks (multi-sequence selection), and only the page itself is merged.

use std::ops::Range;

use crate::query::rows::selection::Selection;

/// A row of the page: the selection it belongs to, and its row number in that part.
pub(crate) type PageRow = (usize, usize);

/// Up to this many rows before a page are merged too, which is faster than searching for the start of the page.
const MAX_SKIPPED: usize = 256;

/// Returns at most `limit` rows in result order, starting with the row that has `offset` rows before it.
pub(crate) fn page_of(selections: &[Selection<'_>], offset: usize, limit: usize) -> Vec<PageRow> {
    let total_count: usize = selections.iter().map(|selection| selection.count).sum();
    if offset >= total_count {
        return Vec::new();
    }
    let (first_rows, skipped) = if offset <= MAX_SKIPPED {
        (vec![0; selections.len()], offset)
    } else {
        (rows_at(selections, offset), 0)
    };
    let mut iterators: Vec<_> =
        selections.iter().zip(first_rows).map(|(selection, row)| selection.rows.from(row)).collect();
    let mut next_rows: Vec<Option<usize>> =
        iterators.iter_mut().map(|iterator| iterator.next().map(row)).collect();
    let mut page = Vec::with_capacity(limit.min(total_count - offset));
    for passed in 0..skipped.saturating_add(limit) {
        let Some((first, row)) = first_of_all(selections, &next_rows) else { break };
        if passed >= skipped {
            page.push((first, row));
        }
        next_rows[first] = iterators[first].next().map(self::row);
    }
    page
}

fn row(row: u32) -> usize {
    row as usize
}

/// Returns the ranks, in result order, of the rows with this start time.
pub(crate) fn ranks_of_start(selections: &[Selection<'_>], start: i64) -> Range<usize> {
    let newer = |is_newer: &dyn Fn(i64) -> bool| {
        let rank = |own: &Selection<'_>| {
            own.rank(first_row(0..own.view.count(), |row| !is_newer(own.view.start_time(row))))
        };
        selections.iter().map(rank).sum()
    };
    newer(&|own| own > start)..newer(&|own| own >= start)
}

/// A row of a part, and the number of selected rows before it.
#[derive(Debug, Clone, Copy)]
struct RankedRow {
    row: usize,
    rank: usize,
}

/// Returns the row of each selection at which the page starts: the selected rows before it are among the first `offset`
/// rows of all selections.
///
/// The row lies between `low` and `high` of its part. A pivot between them splits every part, and each split is
/// searched only within these bounds.
fn rows_at(selections: &[Selection<'_>], offset: usize) -> Vec<u32> {
    let mut low = vec![RankedRow { row: 0, rank: 0 }; selections.len()];
    let mut high: Vec<RankedRow> =
        selections.iter().map(|own| RankedRow { row: own.view.count(), rank: own.count }).collect();
    while sum_of_ranks(&low) < offset {
        let widest = (0..selections.len()).max_by_key(|part| high[*part].rank - low[*part].rank);
        let Some(widest) = widest else { break };
        let pivot_rank = low[widest].rank.midpoint(high[widest].rank);
        let Some(pivot_row) = selections[widest].select(pivot_rank) else { break };
        let pivot = selections[widest].key(pivot_row);
        let between = selections.iter().zip(low.iter().zip(&high));
        let splits: Vec<RankedRow> = between
            .map(|(selection, (low, high))| {
                let row = first_row(low.row..high.row, |row| selection.key(row) >= pivot);
                let known = [low, high].into_iter().find(|bound| bound.row == row);
                known.copied().unwrap_or_else(|| RankedRow { row, rank: selection.rank(row) })
            })
            .collect();
        if sum_of_ranks(&splits) < offset {
            low = splits;
            low[widest] = RankedRow { row: pivot_row + 1, rank: pivot_rank + 1 };
        } else {
            high = splits;
        }
    }
    low.iter().map(|bound| u32::try_from(bound.row).unwrap_or(u32::MAX)).collect()
}

fn sum_of_ranks(bounds: &[RankedRow]) -> usize {
    bounds.iter().map(|bound| bound.rank).sum()
}

/// Returns the first row for which `is_behind` is true, or the end of the range. `is_behind` must be monotonic.
fn first_row(rows: Range<usize>, is_behind: impl Fn(usize) -> bool) -> usize {
    let Range { start: mut low, end: mut high } = rows;
    while low < high {
        let middle = low.midpoint(high);
        if is_behind(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// Returns the first of the next rows in result order; `None` if all selections are exhausted.
fn first_of_all(selections: &[Selection<'_>], next_rows: &[Option<usize>]) -> Option<PageRow> {
    let mut best: Option<PageRow> = None;
    for (part, next_row) in next_rows.iter().enumerate() {
        let Some(row) = *next_row else { continue };
        let key = selections[part].key(row);
        let is_earlier = best.is_none_or(|(other, other_row)| key < selections[other].key(other_row));
        if is_earlier {
            best = Some((part, row));
        }
    }
    best
}
