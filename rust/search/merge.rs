//! The rows of one page, out of many parts that are each in result order.
//!
//! A deep page costs what the first one costs: where it begins in every part is found by binary
//! search on the order key, summing ranks (multi-sequence selection); only the page itself is merged.

use super::PageRequest;
use super::selection::Selection;

/// A row of the page: which selection, which row of its part.
pub(super) type Place = (usize, usize);

/// Returns the rows of the page `window` asks for, in result order.
pub(super) fn page_of(selections: &[Selection<'_>], window: PageRequest) -> Vec<Place> {
    let total: usize = selections.iter().map(|selection| selection.count).sum();
    let offset = usize::try_from(window.offset()).unwrap_or(usize::MAX);
    if offset >= total {
        return Vec::new();
    }
    let ranks = ranks_at(selections, offset);
    let mut rests: Vec<_> =
        selections.iter().zip(ranks).map(|(selection, rank)| selection.rows.from(rank)).collect();
    let mut heads: Vec<Option<usize>> = rests.iter_mut().map(|rest| rest.next().map(row)).collect();
    let mut places = Vec::with_capacity(window.limit);
    while places.len() < window.limit {
        let Some((first, row)) = earliest(selections, &heads) else { break };
        places.push((first, row));
        heads[first] = rests[first].next().map(self::row);
    }
    places
}

fn row(row: u32) -> usize {
    row as usize
}

/// Returns, for every selection, how many of its rows are among the first `offset` of all.
fn ranks_at(selections: &[Selection<'_>], offset: usize) -> Vec<usize> {
    let mut low = vec![0; selections.len()];
    let mut high: Vec<usize> = selections.iter().map(|selection| selection.count).collect();
    while low.iter().sum::<usize>() < offset {
        let widest = (0..selections.len()).max_by_key(|at| high[*at] - low[*at]).unwrap_or_default();
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

/// Returns the earliest of the next rows, if any selection has one left.
fn earliest(selections: &[Selection<'_>], heads: &[Option<usize>]) -> Option<Place> {
    let mut best: Option<Place> = None;
    for (at, head) in heads.iter().enumerate() {
        let Some(row) = *head else { continue };
        let key = selections[at].key(row);
        let is_earlier = best.is_none_or(|(other, other_row)| key < selections[other].key(other_row));
        if is_earlier {
            best = Some((at, row));
        }
    }
    best
}
