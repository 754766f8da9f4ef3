//! Estimates the cost of each plan for a page. The unit is the time to test one row that is not selected in a bitmap.
//!
//! Measured in segments of a million rows, with durations that rarely repeat.

use crate::query::page::Window;
use crate::query::rows::selection::Selection;

/// The cost of a step from one value to the next.
const STEP: usize = 128;

/// The cost of finding a row in a list by binary search.
const SEARCH: usize = 24;

/// The number of bits of a bitmap that are set, and of words that are cleared, in one unit of cost.
const BITS: usize = 2;
const WORDS: usize = 8;

/// The cost of reading the value of a row and sorting it.
const SORT: usize = 8;

/// The cost of finding the first bins of a jump in one part, and of finding all of them.
const FIRST_BINS: usize = 1 << 12;
const ALL_BINS: usize = 1 << 15;

/// The number of rows counted in one unit of cost on several threads. At least one row in `ROWS_PER_BIN` is always
/// counted.
const COUNTED_ROWS: usize = 2;
const ROWS_PER_BIN: usize = 32;

/// The maximum number of selected rows to sort.
const MAX_SORTED_ROWS: usize = 1 << 16;

/// How to find the rows of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PagePlan {
    /// Sort the selected rows.
    Sort,
    /// Walk from value to value, starting with the first one.
    Walk,
    /// Jump to the value at which the page starts, and walk from there.
    Jump,
}

impl PagePlan {
    /// Returns the cheapest plan for a window. The window must contain a row.
    pub(crate) fn of(selections: &[Selection<'_>], window: Window) -> Self {
        let total: usize = selections.iter().map(|selection| selection.count).sum();
        let is_whole = selections.iter().all(Selection::is_whole);
        let walk = |steps: usize| {
            let scan = |selection: &Selection<'_>| {
                let scanned = rows_scanned(selection, steps, total);
                scanned + (scanned * lookup_cost(selection)).min(bitmap_cost(selection))
            };
            steps * STEP + selections.iter().map(scan).sum::<usize>()
        };
        // The fraction of `all` that comes before the page, from the nearer end.
        let fraction = |all: usize| all.saturating_mul(window.offset.min(total - window.offset)) / total;
        let jump = |selection: &Selection<'_>| {
            let rows = if is_whole { 0 } else { selection.view.count() };
            let counted = (rows / ROWS_PER_BIN + fraction(rows)) / COUNTED_ROWS;
            FIRST_BINS + fraction(ALL_BINS) + counted + bitmap_cost(selection)
        };
        let end = window.end().min(total);
        let plans = [
            (Self::Sort, if total <= MAX_SORTED_ROWS { total * SORT } else { usize::MAX }),
            (Self::Walk, walk(end)),
            (Self::Jump, selections.iter().map(jump).sum::<usize>() + walk(end - window.offset)),
        ];
        plans.into_iter().min_by_key(|(_, cost)| *cost).map_or(Self::Walk, |(plan, _)| plan)
    }
}

/// Returns the number of rows of a part that `steps` steps scan, if the `total` selected rows of all parts are spread
/// evenly. It includes the rows before the first selected one.
pub(crate) fn rows_scanned(selection: &Selection<'_>, steps: usize, total: usize) -> usize {
    let rows = selection.view.count();
    rows / selection.count.max(1) + steps.saturating_mul(rows) / total.max(1)
}

/// Returns the number of lookups that cost as much as building a bitmap of the selection.
pub(crate) fn max_lookups(selection: &Selection<'_>) -> usize {
    bitmap_cost(selection) / lookup_cost(selection)
}

fn lookup_cost(selection: &Selection<'_>) -> usize {
    SEARCH * selection.rows.lists() + 1
}

fn bitmap_cost(selection: &Selection<'_>) -> usize {
    let set = if selection.rows.lists() == 0 { 0 } else { selection.count / BITS };
    if selection.is_whole() { 0 } else { set + selection.view.count() / 64 / WORDS }
}
