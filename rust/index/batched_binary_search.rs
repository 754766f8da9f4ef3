//! Batched binary searches of a sorted column for several values.
//!
//! Nearly every probe waits for memory, and the next probe depends on it. In a batch, the processor waits for
//! the probes of all searches at once: finding a list of 1,000 ids takes a third of the time.

use std::hint::select_unpredictable;

/// The number of searches per batch. Twice as many are not faster.
pub(super) const IN_STEP: usize = 16;

/// Fewer values are searched for one by one, with branches that the processor predicts.
pub(super) const MIN_IN_STEP: usize = 4;

/// For each of at most [`IN_STEP`] values, returns the last of `count` positions (at least one) whose value
/// is not greater; 0 if all are greater. `is_upto` compares the value at a position with a wanted one.
pub(super) fn last_positions<T>(
    count: usize,
    wanted: &[T],
    is_upto: impl Fn(usize, &T) -> bool,
) -> [usize; IN_STEP] {
    let mut positions = [0; IN_STEP];
    let mut left = count;
    while left > 1 {
        let half = left / 2;
        for (position, wanted) in positions.iter_mut().zip(wanted) {
            let further = *position + half;
            *position = select_unpredictable(is_upto(further, wanted), further, *position);
        }
        left -= half;
    }
    positions
}
