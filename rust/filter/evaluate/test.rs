//! What is asked of the values of a column.

use super::share::each_block;
use super::words::{BLOCK_WORDS, BlockWords, first_rows};
use crate::error::Result;

/// A test of the values of one column.
pub(super) trait ColumnTest: Send + Sync {
    /// Sets `found` to the rows of `open` of which the test is true; other bits are unspecified.
    ///
    /// The rows are counted from `first`, a bit each. Every row of `open` has a value.
    fn find(&self, first: usize, open: &[u64], found: &mut [u64]);
}

/// Returns the values that `test` is true of; all of them have to be there.
pub(super) fn values_of(test: Box<dyn ColumnTest>, count: usize) -> Result<BlockWords> {
    each_block(count, move |number, found| {
        let first = number * BLOCK_WORDS * 64;
        let mut open = [0; BLOCK_WORDS];
        let open = &mut open[..found.len()];
        first_rows(count - first, open);
        test.find(first, open, found);
        found.iter_mut().zip(open).for_each(|(found, open)| *found &= *open);
        Ok(())
    })
}
