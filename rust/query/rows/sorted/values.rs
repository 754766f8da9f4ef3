//! The selected rows of all parts, value by value.

use std::ops::Range;

use rayon::prelude::*;

use crate::error::Result;
use crate::query::cancellation::CancellationToken;
use crate::query::page::Sort;
use crate::query::pool::{on_threads, threads};
use crate::query::rows::page_rows::{PageRow, page_of};
use crate::query::rows::selection::{PARTS_PER_THREAD, Selection};
use crate::query::rows::sorted::cost::rows_looked_at;
use crate::query::rows::sorted::selected::Selected;
use crate::storage::ValueOrder;

/// What looks at no more rows is not worth several threads.
const MAX_INLINE_ROWS: usize = 1 << 14;

/// The values of the selected rows in order.
pub(in crate::query) struct Values<'s, 'a> {
    pub(in crate::query) selections: &'s [Selection<'a>],
    pub(in crate::query) sort: Sort,
    pub(in crate::query) parts: Vec<PartValues<'s>>,
}

/// The values of one part that are still to come.
pub(in crate::query) struct PartValues<'s> {
    pub(in crate::query) order: ValueOrder,
    pub(in crate::query) selected: Selected<'s>,
    /// Where they are in the order.
    pub(in crate::query) positions: Range<usize>,
    /// How many selected rows are there.
    pub(in crate::query) left: usize,
    /// The next of them that a selected row has.
    next: Option<i64>,
}

/// The rows of one value, of which not all are selected.
pub(in crate::query) struct Tied {
    /// How many are selected.
    pub(in crate::query) count: usize,
    /// Where they are in the order of a part.
    positions: Vec<(usize, Range<usize>)>,
}

impl<'s, 'a> Values<'s, 'a> {
    /// Returns all values; [`Values::begin`] comes before [`Values::next`].
    pub(in crate::query) fn new(selections: &'s [Selection<'a>], sort: Sort) -> Self {
        let part = |selection: &'s Selection<'_>| {
            let order = selection.view.value_order(sort.by).unwrap_or_else(|| ValueOrder::descending(0));
            let selected = Selected::new(selection);
            PartValues { positions: 0..order.count(), order, selected, left: selection.count, next: None }
        };
        Self { selections, sort, parts: selections.iter().map(part).collect() }
    }

    /// Finds the next value of every part, before steps to so many selected rows.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(in crate::query) fn begin(&mut self, steps: usize, cancel: &CancellationToken) -> Result<()> {
        let sort = self.sort;
        let total = self.selections.iter().map(|selection| selection.count).sum();
        let looked_at = |selection: &Selection<'_>| rows_looked_at(selection, steps, total);
        let rows = self.selections.iter().map(looked_at).sum();
        self.for_each_part(rows, cancel, |part, selection| {
            part.selected.expect_lookups(looked_at(selection));
            part.step(selection, sort);
        })
    }

    /// Calls `work` with every part, on several threads if there is work for so many rows.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(in crate::query) fn for_each_part(
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

    pub(in crate::query) fn value(&self, part: usize, position: usize) -> i64 {
        self.parts[part].value(&self.selections[part], self.sort, position)
    }

    /// Returns the rows of the next value; `None` after the last value that a selected row has.
    pub(in crate::query) fn next(&mut self) -> Option<Tied> {
        let values = self.parts.iter().filter_map(|part| part.next);
        let value = if self.sort.ascending { values.min() } else { values.max() }?;
        let mut tied = Tied { count: 0, positions: Vec::new() };
        for (index, part) in self.parts.iter_mut().enumerate().filter(|(_, part)| part.next == Some(value)) {
            let (positions, count) = part.take(&self.selections[index], self.sort, value);
            tied.count += count;
            tied.positions.push((index, positions));
        }
        Some(tied)
    }

    /// Returns at most `limit` of the selected rows of one value, from the one with `offset` of them before it.
    pub(in crate::query) fn page_of(&self, tied: &Tied, offset: usize, limit: usize) -> Vec<PageRow> {
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

    /// Steps over rows that are not selected.
    fn step(&mut self, selection: &Selection<'_>, sort: Sort) {
        let Range { start, end } = self.positions;
        let next = if self.left == 0 {
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

    /// Returns where the next value is, which is `value`, and how many selected rows have it; steps over it.
    fn take(&mut self, selection: &Selection<'_>, sort: Sort, value: i64) -> (Range<usize>, usize) {
        let Range { start, end } = self.positions;
        let number = |row: usize| selection.view.number(sort.by, row);
        let (taken, left) = if sort.ascending {
            let next = self.order.gallop_up(start, end, |row| number(row) <= value);
            (start..next, next..end)
        } else {
            let next = self.order.gallop_down(start, end, |row| number(row) < value);
            (next..end, start..next)
        };
        let count = self.selected.count_at(&self.order, taken.clone());
        (self.positions, self.left) = (left, self.left - count);
        self.step(selection, sort);
        (taken, count)
    }
}
