//! What is asked of the values of a column.

use rayon::prelude::*;

use super::words::{BLOCK_WORDS, Words, first_rows};

/// From so many rows on the threads share the work.
pub(super) const PARALLEL_ROWS: usize = 1 << 16;

/// A test of the values of one column.
pub(super) trait Test: Send + Sync {
    /// Sets `found` to the rows of `open` of which the test is true; other bits are unspecified.
    ///
    /// The rows are counted from `first`, a bit each. Every row of `open` has a value.
    fn find(&self, first: usize, open: &[u64], found: &mut [u64]);
}

/// Returns the values that `test` is true of; all of them have to be there.
pub(super) fn values_of(test: &dyn Test, count: usize) -> Words {
    let mut found = vec![0; count.div_ceil(64)];
    let of_block = |(index, found): (usize, &mut [u64])| {
        let first = index * BLOCK_WORDS * 64;
        let mut open = [0; BLOCK_WORDS];
        let open = &mut open[..found.len()];
        first_rows(count - first, open);
        test.find(first, open, found);
        found.iter_mut().zip(open).for_each(|(found, open)| *found &= *open);
    };
    if count < PARALLEL_ROWS {
        found.chunks_mut(BLOCK_WORDS).enumerate().for_each(of_block);
    } else {
        found.par_chunks_mut(BLOCK_WORDS).enumerate().for_each(of_block);
    }
    found
}
