//! What the ways to a page take, in the time in which one row is looked at in a bitmap and found not to be selected.
//!
//! Measured in segments of a million rows, with durations of which few are equal.

use crate::query::page::Window;
use crate::query::rows::selection::Selection;

/// To step from one value to the next.
const STEP: usize = 128;

/// To look up a row in a list, by binary search.
const SEARCH: usize = 24;

/// So many bits of a bitmap are set in that time, and so many of its words cleared.
const BITS: usize = 2;
const WORDS: usize = 8;

/// To read the value of a row, and to sort it.
const SORT: usize = 8;

/// To find the first bins of a jump in one part, and all of them.
const FIRST_BINS: usize = 1 << 12;
const ALL_BINS: usize = 1 << 15;

/// So many rows are counted in that time, on several threads, and one in so many in any case.
const COUNTED_ROWS: usize = 2;
const ROWS_PER_BIN: usize = 32;

/// The number of selected rows up to which they may be sorted.
const MAX_SORTED_ROWS: usize = 1 << 16;

/// A way to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::query) enum Way {
    /// Sort the selected rows.
    Sort,
    /// Walk from value to value, from the first one on.
    Walk,
    /// Jump to the value at which the page begins, and walk from there.
    Jump,
}

impl Way {
    /// Returns the way that takes least to a window of selected rows; there is a row in it.
    pub(in crate::query) fn of(selections: &[Selection<'_>], window: Window) -> Self {
        let total: usize = selections.iter().map(|selection| selection.count).sum();
        let is_whole = selections.iter().all(Selection::is_whole);
        let walk = |steps: usize| {
            let look = |selection: &Selection<'_>| {
                let looked_at = rows_looked_at(selection, steps, total);
                looked_at + (looked_at * of_lookup(selection)).min(of_bitmap(selection))
            };
            steps * STEP + selections.iter().map(look).sum::<usize>()
        };
        // The share of all that is before the page, from the nearer end.
        let share = |all: usize| all.saturating_mul(window.offset.min(total - window.offset)) / total;
        let jump = |selection: &Selection<'_>| {
            let rows = if is_whole { 0 } else { selection.view.count() };
            let counted = (rows / ROWS_PER_BIN + share(rows)) / COUNTED_ROWS;
            FIRST_BINS + share(ALL_BINS) + counted + of_bitmap(selection)
        };
        let end = window.end().min(total);
        let ways = [
            (Self::Sort, if total <= MAX_SORTED_ROWS { total * SORT } else { usize::MAX }),
            (Self::Walk, walk(end)),
            (Self::Jump, selections.iter().map(jump).sum::<usize>() + walk(end - window.offset)),
        ];
        ways.into_iter().min_by_key(|(_, cost)| *cost).map_or(Self::Walk, |(way, _)| way)
    }
}

/// Returns at how many rows of a part one looks to step to so many of `total` selected rows of all parts, if both are
/// spread evenly: those before the first selected one, and those between the others.
pub(in crate::query) fn rows_looked_at(selection: &Selection<'_>, steps: usize, total: usize) -> usize {
    let rows = selection.view.count();
    rows / selection.count.max(1) + steps.saturating_mul(rows) / total.max(1)
}

/// Returns how many rows are looked up in the time in which a bitmap is made of the selection.
pub(in crate::query) fn max_lookups(selection: &Selection<'_>) -> usize {
    of_bitmap(selection) / of_lookup(selection)
}

fn of_lookup(selection: &Selection<'_>) -> usize {
    SEARCH * selection.rows.lists() + 1
}

fn of_bitmap(selection: &Selection<'_>) -> usize {
    let set = if selection.rows.lists() == 0 { 0 } else { selection.count / BITS };
    if selection.is_whole() { 0 } else { set + selection.view.count() / 64 / WORDS }
}
