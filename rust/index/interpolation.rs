//! Interpolation search of a sorted column.
//!
//! Each probe of a sorted column costs two cache misses: the row and its value. If values are distributed
//! evenly, as random ids are, six probes find one of a million values; a binary search needs twenty. For
//! other distributions a few probes are wasted.

use std::cmp::Ordering;
use std::ops::Range;

/// The number of interpolated probes before the search falls back to bisection.
const MAX_INTERPOLATIONS: usize = 8;

/// The remaining positions and values of a search.
pub(super) struct Interpolation {
    wanted: u64,
    /// The first remaining position, and the position after the last one.
    low: usize,
    high: usize,
    /// The bounds of the remaining values.
    min: u64,
    max: u64,
    interpolations: usize,
}

impl Interpolation {
    /// Starts a search for `wanted` among `positions`, whose values are between two bounds.
    pub(super) fn new(wanted: u64, positions: Range<usize>, (min, max): (u64, u64)) -> Self {
        let (low, high) = (positions.start, positions.end);
        Self { wanted, low, high, min, max, interpolations: MAX_INTERPOLATIONS }
    }

    /// Returns the next position to probe; `None` if no position is left.
    pub(super) fn position(&mut self) -> Option<usize> {
        if self.low >= self.high {
            return None;
        }
        if self.interpolations == 0 {
            return Some(self.low.midpoint(self.high));
        }
        self.interpolations -= 1;
        let (part, whole) = (self.wanted.saturating_sub(self.min), self.max.saturating_sub(self.min));
        Some(self.low + interpolate(self.high - self.low, part, whole))
    }

    /// Narrows the search by the value at a position and its order relative to the wanted one. An equal value
    /// ends the search.
    pub(super) fn narrow(&mut self, position: usize, value: u64, order: Ordering) {
        match order {
            Ordering::Less => (self.low, self.min) = (position + 1, value),
            Ordering::Greater => (self.high, self.max) = (position, value),
            Ordering::Equal => self.high = self.low,
        }
    }

    /// Returns the first position at which the predicate is true. `read` returns the value at a position and
    /// the predicate, which is monotonic.
    pub(super) fn first_position(mut self, read: impl Fn(usize) -> (u64, bool)) -> usize {
        while let Some(position) = self.position() {
            let (value, is_reached) = read(position);
            self.narrow(position, value, if is_reached { Ordering::Greater } else { Ordering::Less });
        }
        self.low
    }
}

/// Returns the position in `length` that corresponds to `part + 0.5` of `whole`. The half keeps equal values
/// on one side.
#[allow(clippy::cast_possible_truncation, reason = "it is less than `length`")]
fn interpolate(length: usize, part: u64, whole: u64) -> usize {
    let exact = length as u128 * (2 * u128::from(part) + 1) / (2 * (u128::from(whole) + 1));
    (exact as usize).min(length - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_position_is_found_wherever_it_was_expected(
            mut values in prop::collection::vec(prop_oneof![0..50_u64, any::<u64>(), Just(u64::MAX)], 0..300),
            bound in prop_oneof![0..50_u64, any::<u64>()],
            near in prop_oneof![0..50_u64, any::<u64>()],
        ) {
            values.sort_unstable();
            let read = |position: usize| (values[position], values[position] > bound);
            let expected = values.partition_point(|value| *value <= bound);
            for wanted in [bound, near] {
                let search = Interpolation::new(wanted, 0..values.len(), (0, u64::MAX));
                prop_assert_eq!(search.first_position(read), expected);
            }
        }
    }
}
