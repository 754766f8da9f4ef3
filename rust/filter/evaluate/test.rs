//! Tests of column values.

use super::share::each_block;
use super::words::{BLOCK_WORDS, BlockWords, first_rows};
use crate::error::Result;

/// A test of the values of one column.
pub(super) trait ColumnTest: Send + Sync {
    /// Sets `matching` to the rows of `open` for which the test is true. Other bits are unspecified.
    ///
    /// Bit 0 is row `first`. No row of `open` is NULL.
    fn find(&self, first: usize, open: &[u64], matching: &mut [u64]);
}

/// Returns the values for which `test` is true. No value may be NULL.
pub(super) fn values_of(test: Box<dyn ColumnTest>, count: usize) -> Result<BlockWords> {
    each_block(count, move |number, matching| {
        let first = number * BLOCK_WORDS * 64;
        let mut open = [0; BLOCK_WORDS];
        let open = &mut open[..matching.len()];
        first_rows(count - first, open);
        test.find(first, open, matching);
        matching.iter_mut().zip(open).for_each(|(matching, open)| *matching &= *open);
        Ok(())
    })
}
