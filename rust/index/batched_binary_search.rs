//! Searches of a sorted column for several values, which go in step.
//!
//! Nearly every probe waits for memory, and the next one depends on it. Of searches that go in step, the processor waits
//! for the probes of all of them at once: a list of a thousand ids is found in a third of the time.

use std::hint::select_unpredictable;

/// So many values are searched for in step. Twice as many are not faster.
pub(super) const IN_STEP: usize = 16;

/// Fewer are searched for one after another, in which the processor guesses the way of each.
pub(super) const MIN_IN_STEP: usize = 4;

/// Returns, for each of at most [`IN_STEP`] values, the last of `count` positions, at least one, whose value is not above it; 0 if all
/// are above. `is_upto` compares the value at a position with one that is searched for.
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
