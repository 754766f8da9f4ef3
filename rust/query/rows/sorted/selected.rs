//! Tests which rows of a part are selected, one row at a time.

use std::ops::Range;

use crate::bitmap::LiveRows;
use crate::query::rows::selection::Selection;
use crate::query::rows::sorted::cost::max_lookups;
use crate::storage::ValueOrder;

/// The selected rows of one part.
pub(crate) struct Selected<'s> {
    rows: &'s LiveRows,
    /// The number of rows of the part.
    count: usize,
    form: Form,
}

enum Form {
    All,
    /// The original row set. After this many more lookups a bitmap is built.
    Listed(usize),
    Bitmap(Vec<u64>),
}

impl<'s> Selected<'s> {
    pub(crate) fn new(selection: &'s Selection<'_>) -> Self {
        let form = if selection.is_whole() { Form::All } else { Form::Listed(max_lookups(selection)) };
        Self { rows: &selection.rows, count: selection.view.count(), form }
    }

    /// True if a row is selected.
    pub(crate) fn contains(&mut self, row: usize) -> bool {
        match &mut self.form {
            Form::All => true,
            Form::Bitmap(words) => words[row / 64] >> (row % 64) & 1 == 1,
            Form::Listed(0) => {
                self.become_bitmap();
                self.contains(row)
            }
            Form::Listed(lookups) => {
                *lookups -= 1;
                u32::try_from(row).is_ok_and(|row| self.rows.contains(row))
            }
        }
    }

    /// Returns the number of selected rows at these positions of an order.
    pub(crate) fn count_at(&mut self, order: &ValueOrder, positions: Range<usize>) -> usize {
        if let Form::Listed(_) = self.form {
            return positions.filter(|position| self.contains(order.row(*position))).count();
        }
        order.count_in(positions, self.words())
    }

    /// Builds the bitmap now if this many lookups would take longer.
    pub(crate) fn expect_lookups(&mut self, lookups: usize) {
        if matches!(self.form, Form::Listed(most) if most < lookups) {
            self.become_bitmap();
        }
    }

    /// Builds a bitmap of the rows, unless all are selected.
    pub(crate) fn become_bitmap(&mut self) {
        if let Form::Listed(_) = self.form {
            self.form = Form::Bitmap(self.rows.to_words(self.count));
        }
    }

    /// Returns the bitmap; `None` if all rows are selected. Call [`Selected::become_bitmap`] first.
    pub(crate) fn words(&self) -> Option<&[u64]> {
        match &self.form {
            Form::Bitmap(words) => Some(words),
            Form::All => None,
            Form::Listed(_) => unreachable!("it became a bitmap"),
        }
    }
}
