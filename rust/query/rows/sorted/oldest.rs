//! Rows by ascending start time: the order of results read backwards, except that rows of equal start time keep the
//! order of results.

use crate::query::page::Window;
use crate::query::rows::page_rows::{PageRow, page_of, ranks_of_start};
use crate::query::rows::selection::Selection;

/// Returns the rows of a window.
pub(crate) fn oldest_first(selections: &[Selection<'_>], window: Window) -> Vec<PageRow> {
    let total: usize = selections.iter().map(|selection| selection.count).sum();
    let (offset, end) = (window.offset, window.end().min(total));
    if offset >= end {
        return Vec::new();
    }
    let start = |(part, row): PageRow| selections[part].view.start_time(row);
    let start_at = |rank: usize| page_of(selections, total - 1 - rank, 1).first().copied().map(start);
    let (Some(oldest), Some(newest)) = (start_at(offset), start_at(end - 1)) else { return Vec::new() };
    // Some rows of the oldest start time may come before the window, and some of the newest one after it. Only a part
    // of these two groups is on the page, and all rows between them.
    let first = ranks_of_start(selections, oldest);
    let skipped = offset - (total - first.end);
    let mut page = page_of(selections, first.start + skipped, (first.len() - skipped).min(end - offset));
    if newest == oldest {
        return page;
    }
    let last = ranks_of_start(selections, newest);
    let mut between = page_of(selections, last.end, first.start - last.end);
    between.sort_by_key(|row| start(*row));
    page.extend(between);
    page.extend(page_of(selections, last.start, end - (total - last.end)));
    page
}
