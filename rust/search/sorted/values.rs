//! The values of selected rows in order.

use super::super::page::Sort;
use super::super::selection::Selection;
use crate::index::RowSet;
use crate::storage::ValueOrder;

/// The values of the selected rows in order, each with its rows.
pub(super) struct Values<'s, 'a> {
    pub(super) selections: &'s [Selection<'a>],
    pub(super) sort: Sort,
    pub(super) parts: Vec<PartValues>,
}

/// The values of one part that are still to come: the positions `start..end` of its order.
pub(super) struct PartValues {
    pub(super) order: ValueOrder,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl<'s, 'a> Values<'s, 'a> {
    pub(super) fn new(selections: &'s [Selection<'a>], sort: Sort) -> Self {
        let part = |selection: &Selection<'_>| {
            let order = selection.view.value_order(sort.by).unwrap_or_else(|| ValueOrder::descending(0));
            PartValues { start: 0, end: order.count(), order }
        };
        Self { selections, sort, parts: selections.iter().map(part).collect() }
    }

    pub(super) fn value(&self, part: usize, position: usize) -> i64 {
        self.selections[part].view.number(self.sort.by, self.parts[part].order.row(position))
    }

    /// Returns the next value of a part, if it has one left.
    fn next_value(&self, part: usize) -> Option<i64> {
        let PartValues { start, end, .. } = self.parts[part];
        (start < end).then(|| self.value(part, if self.sort.ascending { start } else { end - 1 }))
    }

    /// Returns the selected rows of the next value, one selection per part; `None` after the last value.
    pub(super) fn next(&mut self) -> Option<Vec<Selection<'a>>> {
        let nexts: Vec<Option<i64>> = (0..self.parts.len()).map(|part| self.next_value(part)).collect();
        let values = nexts.iter().flatten().copied();
        let value = if self.sort.ascending { values.min() } else { values.max() }?;
        let tied = nexts.iter().enumerate().map(|(part, next)| {
            let rows = if *next == Some(value) { self.take(part, value) } else { RowSet::NONE };
            self.selections[part].among(rows)
        });
        Some(tied.collect())
    }

    /// Returns the rows of the next value of a part, which is `value`, and steps over it.
    fn take(&mut self, part: usize, value: i64) -> RowSet {
        let PartValues { start, end, .. } = self.parts[part];
        let number = |row: usize| self.selections[part].view.number(self.sort.by, row);
        let order = &self.parts[part].order;
        if self.sort.ascending {
            let next = order.gallop_up(start, end, |row| number(row) <= value);
            let rows = order.rows(start, next);
            self.parts[part].start = next;
            rows
        } else {
            let next = order.gallop_down(start, end, |row| number(row) < value);
            let rows = order.rows(next, end);
            self.parts[part].end = next;
            rows
        }
    }
}
