//! Merges the rows of one page out of many parts that are each in result order.
//!
//! A deep page costs as much as the first one: binary search on the sort key finds where the page begins in every
//! part, by summing ranks (multi-sequence selection); only the page itself is merged.

use std::ops::Range;

use super::selection::Selection;

/// A row of the page: the selection it belongs to, and its row number in that part.
pub(super) type PageRow = (usize, usize);

/// Returns at most `limit` rows in result order, from the one with `offset` rows before it.
pub(super) fn page_of(selections: &[Selection<'_>], offset: usize, limit: usize) -> Vec<PageRow> {
    let total_count: usize = selections.iter().map(|selection| selection.count).sum();
    if offset >= total_count {
        return Vec::new();
    }
    let ranks = ranks_at(selections, offset);
    let mut iterators: Vec<_> =
        selections.iter().zip(ranks).map(|(selection, rank)| selection.rows.from(rank)).collect();
    let mut next_rows: Vec<Option<usize>> =
        iterators.iter_mut().map(|iterator| iterator.next().map(row)).collect();
    let mut page = Vec::with_capacity(limit.min(total_count - offset));
    while page.len() < limit {
        let Some((first, row)) = first_of_all(selections, &next_rows) else { break };
        page.push((first, row));
        next_rows[first] = iterators[first].next().map(self::row);
    }
    page
}

fn row(row: u32) -> usize {
    row as usize
}

/// Returns which ranks rows have, in result order, that started at this instant.
pub(super) fn ranks_of_start(selections: &[Selection<'_>], start: i64) -> Range<usize> {
    let newer = |is_newer: &dyn Fn(i64) -> bool| {
        selections.iter().map(|selection| selection.rank_of_start(is_newer)).sum()
    };
    newer(&|own| own > start)..newer(&|own| own >= start)
}

/// Returns how many rows of each selection are among the first `offset` of all.
fn ranks_at(selections: &[Selection<'_>], offset: usize) -> Vec<usize> {
    let mut low = vec![0; selections.len()];
    let mut high: Vec<usize> = selections.iter().map(|selection| selection.count).collect();
    while low.iter().sum::<usize>() < offset {
        let widest = (0..selections.len()).max_by_key(|part| high[*part] - low[*part]).unwrap_or_default();
        let pivot_rank = low[widest].midpoint(high[widest]);
        let Some(pivot_row) = selections[widest].select(pivot_rank) else { break };
        let pivot = selections[widest].key(pivot_row);
        let ranks: Vec<usize> = selections.iter().map(|selection| selection.rank(&pivot)).collect();
        if ranks.iter().sum::<usize>() < offset {
            low = ranks;
            low[widest] += 1;
        } else {
            high = ranks;
        }
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
