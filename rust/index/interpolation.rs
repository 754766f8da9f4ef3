//! Searches a sorted column where its values say that a value lies.
//!
//! Each probe of a column in order costs two cache misses: the row, and its value. Where values are spread evenly, as random ids
//! are, six probes find one of a million, in place of twenty. Where they are not, a few probes are lost.

use std::cmp::Ordering;
use std::ops::Range;

/// How many probes are interpolated before the rest is halved.
const MAX_INTERPOLATIONS: usize = 8;

/// Where a value may still be among sorted ones.
pub(super) struct Interpolation {
    wanted: u64,
    /// The first position that is left, and the one behind the last.
    low: usize,
    high: usize,
    /// No value that is left lies outside of these.
    min: u64,
    max: u64,
    interpolations: usize,
}

impl Interpolation {
    /// Searches for `wanted` at positions whose values lie between two others.
    pub(super) fn new(wanted: u64, positions: Range<usize>, (min, max): (u64, u64)) -> Self {
        let (low, high) = (positions.start, positions.end);
        Self { wanted, low, high, min, max, interpolations: MAX_INTERPOLATIONS }
    }

    /// Returns the position to look at next; `None` if no position is left.
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

    /// Takes into account how the value at a position compares with the one searched for. Nothing is left after an equal one.
    pub(super) fn narrow(&mut self, position: usize, value: u64, order: Ordering) {
        match order {
            Ordering::Less => (self.low, self.min) = (position + 1, value),
            Ordering::Greater => (self.high, self.max) = (position, value),
            Ordering::Equal => self.high = self.low,
        }
    }

    /// Returns the first position that is reached. `look` returns the value at a position, and whether that is reached: as all are
    /// from the first such one on.
    pub(super) fn first_position(mut self, look: impl Fn(usize) -> (u64, bool)) -> usize {
        while let Some(position) = self.position() {
            let (value, is_reached) = look(position);
            self.narrow(position, value, if is_reached { Ordering::Greater } else { Ordering::Less });
        }
        self.low
    }
}

/// Returns where in a length a half more than `part` of `whole` ends: equal values lie before what is searched for, or behind it.
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
            let look = |position: usize| (values[position], values[position] > bound);
            let expected = values.partition_point(|value| *value <= bound);
            for wanted in [bound, near] {
                let search = Interpolation::new(wanted, 0..values.len(), (0, u64::MAX));
                prop_assert_eq!(search.first_position(look), expected);
            }
        }
    }
}
