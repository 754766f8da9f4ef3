//! Visits the selected rows of all parts value by value.

use std::ops::Range;

use rayon::prelude::*;

use crate::error::Result;
use crate::query::cancellation::CancellationToken;
use crate::query::page::Sort;
use crate::query::pool::{on_threads, threads};
use crate::query::rows::page_rows::{PageRow, page_of};
use crate::query::rows::selection::{PARTS_PER_THREAD, Selection};
use crate::query::rows::sorted::cost::rows_scanned;
use crate::query::rows::sorted::selected::Selected;
use crate::storage::ValueOrder;

/// Work on up to this many rows runs on one thread.
const MAX_INLINE_ROWS: usize = 1 << 14;

/// The values of the selected rows in order.
pub(crate) struct Values<'s, 'a> {
    pub(crate) selections: &'s [Selection<'a>],
    pub(crate) sort: Sort,
    pub(crate) parts: Vec<PartValues<'s>>,
}

/// The values of one part that are not visited yet.
pub(crate) struct PartValues<'s> {
    pub(crate) order: ValueOrder,
    pub(crate) selected: Selected<'s>,
    /// The range of these values in the order.
    pub(crate) positions: Range<usize>,
    /// The number of selected rows in that range.
    pub(crate) remaining: usize,
    /// The next value that a selected row has.
    next: Option<i64>,
}

/// The rows of one value. Not all of them are selected.
pub(crate) struct Tied {
    /// The number of selected rows.
    pub(crate) count: usize,
    /// The parts, each with the range of the rows in its order.
    positions: Vec<(usize, Range<usize>)>,
}

impl<'s, 'a> Values<'s, 'a> {
    /// Returns all values. Call [`Values::begin`] before [`Values::next`].
    pub(crate) fn new(selections: &'s [Selection<'a>], sort: Sort) -> Self {
        let part = |selection: &'s Selection<'_>| {
            let order = selection.view.value_order(sort.by).unwrap_or_else(|| ValueOrder::descending(0));
            let selected = Selected::new(selection);
            PartValues {
                positions: 0..order.count(),
                order,
                selected,
                remaining: selection.count,
                next: None,
            }
        };
        Self { selections, sort, parts: selections.iter().map(part).collect() }
    }

    /// Finds the next value of every part. `steps` is the expected number of selected rows to visit.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(crate) fn begin(&mut self, steps: usize, cancel: &CancellationToken) -> Result<()> {
        let sort = self.sort;
        let total = self.selections.iter().map(|selection| selection.count).sum();
        let scanned = |selection: &Selection<'_>| rows_scanned(selection, steps, total);
        let rows = self.selections.iter().map(scanned).sum();
        self.for_each_part(rows, cancel, |part, selection| {
            part.selected.expect_lookups(scanned(selection));
            part.step(selection, sort);
        })
    }

    /// Calls `work` with every part, on several threads if it has to scan many `rows`.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(crate) fn for_each_part(
        &mut self,
        rows: usize,
        cancel: &CancellationToken,
        work: impl Fn(&mut PartValues<'s>, &Selection<'a>) + Sync,
    ) -> Result<()> {
        let round = PARTS_PER_THREAD * threads();
        for (parts, selections) in self.parts.chunks_mut(round).zip(self.selections.chunks(round)) {
            cancel.check()?;
            if rows <= MAX_INLINE_ROWS {
                parts.iter_mut().zip(selections).for_each(|(part, selection)| work(part, selection));
            } else {
                let parts = parts.par_iter_mut().zip(selections);
                on_threads(|| {
                    parts.for_each(|(part, selection)| work(part, selection));
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    pub(crate) fn value(&self, part: usize, position: usize) -> i64 {
        self.parts[part].value(&self.selections[part], self.sort, position)
    }

    /// Returns the rows of the next value; `None` after the last value that a selected row has.
    pub(crate) fn next(&mut self) -> Option<Tied> {
        let values = self.parts.iter().filter_map(|part| part.next);
        let value = if self.sort.ascending { values.min() } else { values.max() }?;
        let mut tied = Tied { count: 0, positions: Vec::new() };
        for (index, part) in self.parts.iter_mut().enumerate().filter(|(_, part)| part.next == Some(value)) {
            let (positions, count) = part.advance(&self.selections[index], self.sort, value);
            tied.count += count;
            tied.positions.push((index, positions));
        }
        Some(tied)
    }

    /// Returns at most `limit` selected rows of one value, starting with the one that has `offset` of them before it.
    pub(crate) fn page_of(&self, tied: &Tied, offset: usize, limit: usize) -> Vec<PageRow> {
        let selected = |(part, positions): &(usize, Range<usize>)| {
            let rows = self.parts[*part].order.rows(positions.start, positions.end);
            (*part, self.selections[*part].among(rows))
        };
        let (parts, selections): (Vec<usize>, Vec<Selection<'_>>) =
            tied.positions.iter().map(selected).unzip();
        page_of(&selections, offset, limit).into_iter().map(|(tied, row)| (parts[tied], row)).collect()
    }
}

impl PartValues<'_> {
    fn value(&self, selection: &Selection<'_>, sort: Sort, position: usize) -> i64 {
        selection.view.number(sort.by, self.order.row(position))
    }

    /// Skips rows that are not selected.
    fn step(&mut self, selection: &Selection<'_>, sort: Sort) {
        let Range { start, end } = self.positions;
        let next = if self.remaining == 0 {
            None
        } else if sort.ascending {
            (start..end).find(|position| self.selected.contains(self.order.row(*position)))
        } else {
            (start..end).rfind(|position| self.selected.contains(self.order.row(*position)))
        };
        self.positions = match next {
            Some(next) if sort.ascending => next..end,
            Some(next) => start..next + 1,
            None => start..start,
        };
        self.next = next.map(|position| self.value(selection, sort, position));
    }

    /// Moves past the next value, which is `value`. Returns its range in the order and the number of selected rows in
    /// it.
    fn advance(&mut self, selection: &Selection<'_>, sort: Sort, value: i64) -> (Range<usize>, usize) {
        let Range { start, end } = self.positions;
        let number = |row: usize| selection.view.number(sort.by, row);
        let (passed, remaining) = if sort.ascending {
            let next = self.order.gallop_up(start, end, |row| number(row) <= value);
            (start..next, next..end)
        } else {
            let next = self.order.gallop_down(start, end, |row| number(row) < value);
            (next..end, start..next)
        };
        let count = self.selected.count_at(&self.order, passed.clone());
        (self.positions, self.remaining) = (remaining, self.remaining - count);
        self.step(selection, sort);
        (passed, count)
    }
}
