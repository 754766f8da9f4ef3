//! Time buckets. Their lengths divide the units of a clock, and their edges are multiples of the length since 1970,
//! UTC.

use std::ops::Range;

use crate::query::aggregate::request::TimeRange;

/// Lengths of buckets below a day, in milliseconds. Each divides the next larger unit of a clock.
const INTERVALS_MS: [i64; 38] = {
    let mut intervals = [0; 38];
    let steps: [(i64, &[i64]); 4] = [
        (1, &[1, 2, 5, 10, 20, 50, 100, 200, 500]),
        (1_000, &[1, 2, 3, 5, 6, 10, 12, 15, 20, 30]),
        (60_000, &[1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30]),
        (3_600_000, &[1, 2, 3, 4, 6, 8, 12, 24]),
    ];
    let (mut at, mut unit) = (0, 0);
    while unit < steps.len() {
        let mut step = 0;
        while step < steps[unit].1.len() {
            intervals[at] = steps[unit].0 * steps[unit].1[step];
            (at, step) = (at + 1, step + 1);
        }
        unit += 1;
    }
    assert!(at == intervals.len(), "as many intervals as listed");
    intervals
};
const DAY_MS: i64 = 86_400_000;
const MICROS_PER_MS: i64 = 1_000;

/// Buckets of equal length that cover a time range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TimeAxis {
    /// The range in microseconds since 1970, from the first instant to the first one after it.
    pub(super) range: Range<i64>,
    /// The length of a bucket in microseconds.
    pub(super) interval: i64,
    /// The start of the first bucket, in microseconds since 1970.
    first: i64,
    /// The number of buckets.
    pub(super) count: usize,
    /// True if the request gives the start of the range, and true if it gives the end.
    is_bound: (bool, bool),
}

impl TimeAxis {
    /// Returns the buckets for the rows in the requested range. `data` has the start times of the oldest and the newest
    /// row. `None` if the range is empty, because no row gives its start or its end.
    pub(super) fn new(requested: TimeRange, data: Option<(i64, i64)>) -> Option<Self> {
        let from = requested.from.or_else(|| data.map(|(first, _)| first))?;
        let to = requested.to.or_else(|| data.map(|(_, last)| last.saturating_add(1)))?;
        let is_bound = (requested.from.is_some(), requested.to.is_some());
        (from < to).then(|| Self::covering(from..to, requested.buckets, is_bound))
    }

    fn covering(range: Range<i64>, buckets: usize, is_bound: (bool, bool)) -> Self {
        let length = range.end.abs_diff(range.start);
        let fits = |interval_ms: i64| {
            length.div_ceil(interval_ms.unsigned_abs() * MICROS_PER_MS.unsigned_abs()) <= buckets as u64
        };
        let of_days = || {
            let days = length
                .div_ceil(buckets as u64)
                .div_ceil(DAY_MS.unsigned_abs() * MICROS_PER_MS.unsigned_abs());
            i64::try_from(days).unwrap_or(i64::MAX / DAY_MS) * DAY_MS
        };
        let interval = INTERVALS_MS.into_iter().find(|interval| fits(*interval)).unwrap_or_else(of_days);
        let interval = interval * MICROS_PER_MS;
        let first = range.start.div_euclid(interval) * interval;
        let last = (range.end - 1).div_euclid(interval) * interval;
        let count = usize::try_from((last - first) / interval).unwrap_or(0) + 1;
        Self { range, interval, first, count, is_bound }
    }

    /// Returns the start of a bucket, in microseconds since 1970.
    pub(super) fn start(&self, bucket: usize) -> i64 {
        self.first + i64::try_from(bucket).unwrap_or(i64::MAX) * self.interval
    }

    /// Returns the bucket of an instant, which must be in the range.
    pub(super) fn bucket(&self, instant: i64) -> usize {
        usize::try_from((instant - self.first) / self.interval).unwrap_or(0).min(self.count - 1)
    }

    /// Returns true if the range starts within the first bucket, and true if it ends within the last one.
    pub(super) fn partial_ends(&self) -> (bool, bool) {
        let is_first_partial = self.is_bound.0 && self.range.start > self.first;
        (is_first_partial, self.is_bound.1 && self.range.end < self.start(self.count))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOUR: i64 = 3_600_000_000;

    fn axis(from: i64, to: i64, buckets: usize) -> TimeAxis {
        TimeAxis::covering(from..to, buckets, (true, true))
    }

    #[test]
    fn intervals_divide_the_units_of_a_clock() {
        let minute = HOUR / 60;
        for (hours, buckets, interval) in [
            (12, 60, 12 * minute),
            (1, 60, minute),
            (24, 60, 30 * minute),
            (24 * 7, 60, 3 * HOUR),
            (24 * 90, 30, 72 * HOUR),
        ] {
            let axis = axis(0, hours * HOUR, buckets);
            assert_eq!(
                (axis.interval, axis.partial_ends()),
                (interval, (false, false)),
                "{hours} h in {buckets}"
            );
        }
    }

    #[test]
    fn a_range_within_buckets_has_partial_ends() {
        let axis = axis(HOUR / 2, 10 * HOUR + HOUR / 2, 10);
        assert_eq!((axis.interval, axis.count, axis.start(0)), (HOUR, 11, 0));
        assert_eq!(axis.partial_ends(), (true, true));
    }

    proptest! {
        #[test]
        fn buckets_cover_the_range_with_at_most_one_more_than_requested(
            from in -62_135_596_800_000_000..253_402_207_200_000_000_i64, length in 1..253_402_207_200_000_000_i64,
            buckets in 1..=1_000_usize,
        ) {
            let axis = axis(from, from + length, buckets);
            prop_assert!(axis.count <= buckets + 1);
            prop_assert!(axis.start(0) <= from && from < axis.start(1));
            prop_assert!(axis.start(axis.count - 1) < from + length && from + length <= axis.start(axis.count));
            prop_assert_eq!(axis.start(0).rem_euclid(axis.interval), 0);
        }
    }
}
