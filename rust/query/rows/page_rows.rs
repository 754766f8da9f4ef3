//! Merges the rows of one page out of many parts that are each in result order.
//!
//! A deep page costs as much as the first one: binary search on the sort key finds where the page begins in every
//! part, by summing ranks (multi-sequence selection); only the page itself is merged.

use std::ops::Range;

use crate::query::rows::selection::Selection;

/// A row of the page: the selection it belongs to, and its row number in that part.
pub(in crate::query) type PageRow = (usize, usize);

/// So few rows before a page are merged too, in less time than it takes to search for where the page begins.
const MAX_SKIPPED: usize = 256;

/// Returns at most `limit` rows in result order, from the one with `offset` rows before it.
pub(in crate::query) fn page_of(selections: &[Selection<'_>], offset: usize, limit: usize) -> Vec<PageRow> {
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

/// Returns which ranks rows have, in result order, that started at this instant.
pub(in crate::query) fn ranks_of_start(selections: &[Selection<'_>], start: i64) -> Range<usize> {
    let newer = |is_newer: &dyn Fn(i64) -> bool| {
        let rank = |own: &Selection<'_>| {
            own.rank(first_row(0..own.view.count(), |row| !is_newer(own.view.start_time(row))))
        };
        selections.iter().map(rank).sum()
    };
    newer(&|own| own > start)..newer(&|own| own >= start)
}

/// A place in a part: a row, and how many selected rows come before it.
#[derive(Debug, Clone, Copy)]
struct Place {
    row: usize,
    rank: usize,
}

/// Returns, of each selection, the row before which its rows are among the first `offset` of all.
///
/// The place in question of each part lies between `low` and `high`. A pivot between them cuts all parts, so each
/// cut is looked for between these places alone.
fn rows_at(selections: &[Selection<'_>], offset: usize) -> Vec<u32> {
    let mut low = vec![Place { row: 0, rank: 0 }; selections.len()];
    let mut high: Vec<Place> =
        selections.iter().map(|own| Place { row: own.view.count(), rank: own.count }).collect();
    while sum_of_ranks(&low) < offset {
        let widest = (0..selections.len()).max_by_key(|part| high[*part].rank - low[*part].rank);
        let Some(widest) = widest else { break };
        let pivot_rank = low[widest].rank.midpoint(high[widest].rank);
        let Some(pivot_row) = selections[widest].select(pivot_rank) else { break };
        let pivot = selections[widest].key(pivot_row);
        let between = selections.iter().zip(low.iter().zip(&high));
        let cuts: Vec<Place> = between
            .map(|(selection, (low, high))| {
                let row = first_row(low.row..high.row, |row| selection.key(row) >= pivot);
                let known = [low, high].into_iter().find(|place| place.row == row);
                known.copied().unwrap_or_else(|| Place { row, rank: selection.rank(row) })
            })
            .collect();
        if sum_of_ranks(&cuts) < offset {
            low = cuts;
            low[widest] = Place { row: pivot_row + 1, rank: pivot_rank + 1 };
        } else {
            high = cuts;
        }
    }
    low.iter().map(|place| u32::try_from(place.row).unwrap_or(u32::MAX)).collect()
}

fn sum_of_ranks(places: &[Place]) -> usize {
    places.iter().map(|place| place.rank).sum()
}

/// Returns the first of these rows for which `is_behind` holds, as it does for all after it; their end if
/// it holds for none.
fn first_row(rows: Range<usize>, is_behind: impl Fn(usize) -> bool) -> usize {
    let Range { start: mut low, end: mut high } = rows;
    while low < high {
        let middle = low.midpoint(high);
        if is_behind(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// Returns the first of the next rows in result order, if any selection has one left.
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
