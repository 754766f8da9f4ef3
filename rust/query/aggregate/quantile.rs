//! Exact quantiles of any range of values by counting in bins. The width of the bins of the first pass grows with the
//! values. Later passes divide the bin that contains the rank, until it has a single value.
//!
//! A quantile `q` of `n` values has the rank `(n - 1) * q`, with linear interpolation between two ranks, as in
//! `quantile_cont` of `DuckDB` and in `numpy.quantile`.

/// The maximum number of bins of all slots together, in one pass over one field.
pub(super) const MAX_PASS_BINS: usize = 1 << 20;

/// The maximum number of bins per interval after the first pass.
pub(super) const MAX_INTERVAL_BINS: usize = 1 << 12;

/// The greatest precision of the first pass, in bits. Bins are at most `2^-7` of their values wide.
const MAX_PRECISION: u32 = 7;

/// The bins of the first pass: `2^precision` bins for each doubling of the distance from `low`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GrowingBins {
    low: i64,
    high: i64,
    precision: u32,
}

impl GrowingBins {
    /// Returns bins for the values `low..=high`, as fine as `max_count` allows, but at least one per doubling.
    pub(super) fn new((low, high): (i64, i64), max_count: usize) -> Self {
        let with = |precision| Self { low, high: high.max(low), precision };
        let precisions = (0..=MAX_PRECISION).rev();
        precisions.map(with).find(|bins| bins.count() <= max_count).unwrap_or_else(|| with(0))
    }

    pub(super) fn count(self) -> usize {
        self.bin(self.high) + 1
    }

    /// Returns the bin of a value. The value must not be below `low`.
    #[allow(clippy::cast_possible_truncation, reason = "there are at most 57 * 2^7 bins")]
    #[inline]
    pub(super) fn bin(self, value: i64) -> usize {
        let distance = value.wrapping_sub(self.low).cast_unsigned();
        let doublings = (distance | 1 << self.precision).ilog2() - self.precision;
        (u64::from(doublings << self.precision) + (distance >> doublings)) as usize
    }

    /// Returns the least and the greatest value of a bin.
    pub(super) fn bounds(self, bin: usize) -> (i64, i64) {
        let bin = bin as u64;
        let doublings = (bin >> self.precision).saturating_sub(1);
        let first = (bin - (doublings << self.precision)) << doublings;
        let low = self.low.wrapping_add_unsigned(first);
        (low, low.saturating_add_unsigned((1 << doublings) - 1).min(self.high))
    }
}

/// The value with `rank` values before it among the values in `low..=high`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Target {
    low: i64,
    high: i64,
    rank: u64,
}

impl Target {
    /// The resolved target of no values.
    pub(super) const NONE: Self = Self { low: 0, high: 0, rank: 0 };

    /// Returns the bounds of the value, and the number of values before it within the bounds.
    pub(super) fn to_parts(self) -> (i64, i64, u64) {
        (self.low, self.high, self.rank)
    }

    /// Returns the target of [`Target::to_parts`].
    pub(super) fn of_parts((low, high, rank): (i64, i64, u64)) -> Self {
        Self { low, high, rank }
    }

    /// Returns the value, once it is resolved.
    pub(super) fn value(self) -> i64 {
        self.low
    }

    pub(super) fn is_resolved(self) -> bool {
        self.low == self.high
    }

    fn step(&mut self, counts: impl Iterator<Item = u64>, bounds: impl Fn(usize) -> (i64, i64)) {
        for (bin, count) in counts.enumerate() {
            if self.rank < count {
                (self.low, self.high) = bounds(bin);
                return;
            }
            self.rank -= count;
        }
        debug_assert!(false, "the rank is less than the number of values");
    }
}

/// Returns the targets of the quantiles `qs` of `total` values after the first pass: the two values around each
/// quantile.
pub(super) fn targets<'a>(
    qs: &'a [f64],
    bins: GrowingBins,
    counts: &'a [u64],
    total: u64,
) -> impl Iterator<Item = Target> + 'a {
    let ranks = qs.iter().flat_map(move |q| {
        let (rank, fraction) = rank_of(*q, total);
        [rank, if fraction > 0.0 { rank + 1 } else { rank }]
    });
    // The search for a rank continues at the bin of the previous rank.
    let (mut bin, mut before) = (0, 0);
    ranks.map(move |rank| {
        if total == 0 {
            return Target::NONE;
        }
        if rank < before {
            (bin, before) = (0, 0);
        }
        while rank - before >= counts[bin] {
            before += counts[bin];
            bin += 1;
        }
        let (low, high) = bins.bounds(bin);
        Target { low, high, rank: rank - before }
    })
}

/// Returns the value of a quantile of `total` values from its two resolved targets.
#[allow(clippy::cast_precision_loss, reason = "the result is floating-point")]
pub(super) fn interpolated(q: f64, total: u64, [lower, upper]: [Target; 2]) -> f64 {
    let (_, fraction) = rank_of(q, total);
    let (lower, upper) = (lower.value() as f64, upper.value() as f64);
    lower + (upper - lower) * fraction
}

/// Returns the rank of a quantile: its integer part and its fraction.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative; exact up to 2^53 values"
)]
fn rank_of(q: f64, total: u64) -> (u64, f64) {
    let last = total.saturating_sub(1);
    let rank = last as f64 * q;
    let floor = (rank.floor() as u64).min(last);
    (floor, if floor == last { 0.0 } else { rank - rank.floor() })
}

/// An interval that contains targets, divided into bins.
#[derive(Debug, Clone, Copy)]
struct Interval {
    low: i64,
    width: u64,
    shift: u32,
    first_bin: usize,
}

/// The intervals that a pass after the first one divides, by slot.
#[derive(Debug, Default)]
pub(super) struct Refinement {
    intervals: Vec<Interval>,
    /// The index of the first interval of each slot.
    starts: Vec<usize>,
    bins: usize,
}

/// The range of each slot that covers all its intervals. Most values are outside of it.
#[derive(Debug)]
pub(super) struct Hulls {
    /// The least value of each slot, and the distance to the greatest one.
    of_slots: Vec<(i64, u64)>,
    /// The least and the greatest value of all.
    whole: (i64, i64),
}

impl Hulls {
    /// A range without intervals. Only its least value passes the test, and it is then in no interval.
    const EMPTY: (i64, u64) = (i64::MIN, 0);
    /// The range of no values.
    const NONE: (i64, i64) = (i64::MAX, i64::MIN);

    /// Returns the hulls of several refinements of `slots` slots.
    pub(super) fn new(refinements: [&Refinement; 2], slots: usize) -> Self {
        let mut whole = Self::NONE;
        let hull = |slot: usize| {
            let intervals = || refinements.iter().flat_map(|refinement| refinement.of_slot(slot));
            let low = intervals().map(|interval| interval.low).min();
            let high = intervals().map(|interval| interval.low.wrapping_add_unsigned(interval.width)).max();
            low.zip(high).map_or(Self::EMPTY, |(low, high)| {
                whole = (whole.0.min(low), whole.1.max(high));
                (low, high.abs_diff(low))
            })
        };
        Self { of_slots: (0..slots).map(hull).collect(), whole }
    }

    /// Returns the least and the greatest value of all slots. Without intervals, the least is greater.
    pub(super) fn whole(&self) -> (i64, i64) {
        self.whole
    }

    /// True if a value is in the hull of its slot.
    #[inline]
    pub(super) fn has(&self, slot: usize, value: i64) -> bool {
        let (low, width) = self.of_slots[slot];
        value.wrapping_sub(low).cast_unsigned() <= width
    }
}

impl Refinement {
    /// Returns the refinement of the unresolved targets, for about `max_bins` bins in total. Every slot has `per_slot`
    /// targets.
    pub(super) fn new(targets: &[Target], per_slot: usize, max_bins: usize) -> Self {
        let of_slot = |slot: &[Target]| {
            let mut open: Vec<(i64, i64)> = slot
                .iter()
                .filter(|target| !target.is_resolved())
                .map(|target| (target.low, target.high))
                .collect();
            open.sort_unstable();
            open.dedup();
            open
        };
        let open: Vec<Vec<(i64, i64)>> = targets.chunks(per_slot.max(1)).map(of_slot).collect();
        let count: usize = open.iter().map(Vec::len).sum();
        let most = (max_bins / count.max(1)).clamp(2, MAX_INTERVAL_BINS) as u64;
        let mut refinement = Self::default();
        for slot in open {
            refinement.starts.push(refinement.intervals.len());
            for (low, high) in slot {
                let width = high.abs_diff(low);
                let shift = (0..64).find(|shift| width >> shift < most).unwrap_or(63);
                refinement.intervals.push(Interval { low, width, shift, first_bin: refinement.bins });
                refinement.bins += usize::try_from(width >> shift).unwrap_or(0) + 1;
            }
        }
        refinement.starts.push(refinement.intervals.len());
        refinement
    }

    pub(super) fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// Returns the number of bins of all intervals.
    pub(super) fn bins(&self) -> usize {
        self.bins
    }

    /// Returns the intervals of a slot.
    fn of_slot(&self, slot: usize) -> &[Interval] {
        let bounds = self.starts.get(slot).zip(self.starts.get(slot + 1));
        bounds.map_or(&[], |(start, end)| &self.intervals[*start..*end])
    }

    /// Counts a value in the bins of the intervals of its slot.
    #[inline]
    pub(super) fn count(&self, value: i64, slot: usize, bins: &mut [u64]) {
        self.of_slot(slot).iter().for_each(|interval| interval.count(value, bins));
    }

    /// Moves the unresolved targets into the bins that contain their ranks.
    pub(super) fn narrow(&self, targets: &mut [Target], per_slot: usize, bins: &[u64]) {
        for (slot, targets) in targets.chunks_mut(per_slot.max(1)).enumerate() {
            let intervals = self.of_slot(slot);
            for target in targets.iter_mut().filter(|target| !target.is_resolved()) {
                let Some(interval) = intervals
                    .iter()
                    .find(|own| own.low == target.low && own.width == target.high.abs_diff(own.low))
                else {
                    continue;
                };
                let high = target.high;
                target.step(bins[interval.first_bin..].iter().copied(), |bin| {
                    let low = interval.low.saturating_add_unsigned((bin as u64) << interval.shift);
                    (low, low.saturating_add_unsigned((1 << interval.shift) - 1).min(high))
                });
            }
        }
    }
}

impl Interval {
    #[allow(clippy::cast_possible_truncation, reason = "less than the number of bins")]
    #[inline]
    fn count(&self, value: i64, bins: &mut [u64]) {
        let distance = value.wrapping_sub(self.low).cast_unsigned();
        if distance <= self.width {
            bins[self.first_bin + (distance >> self.shift) as usize] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbers() -> impl Strategy<Value = i64> {
        prop_oneof![0..20_i64, 0..5_000_000_000_i64, any::<i64>(), 1_000_000..1_000_300_i64]
    }

    fn quantiles(values: &[i64], qs: &[f64], max_bins: usize) -> Vec<f64> {
        let bounds = (values.iter().min().copied().unwrap_or(0), values.iter().max().copied().unwrap_or(0));
        let bins = GrowingBins::new(bounds, max_bins);
        let mut counts = vec![0_u64; bins.count()];
        for value in values {
            counts[bins.bin(*value)] += 1;
        }
        let mut targets: Vec<Target> = targets(qs, bins, &counts, values.len() as u64).collect();
        for pass in 0.. {
            let refinement = Refinement::new(&targets, 2 * qs.len(), max_bins);
            if refinement.is_empty() {
                break;
            }
            assert!(pass < 80, "every pass narrows");
            let mut bins = vec![0; refinement.bins()];
            let hulls = Hulls::new([&refinement, &Refinement::default()], 1);
            for value in values.iter().filter(|value| hulls.has(0, **value)) {
                refinement.count(*value, 0, &mut bins);
            }
            refinement.narrow(&mut targets, 2 * qs.len(), &bins);
        }
        let pairs = targets.as_chunks::<2>().0.iter();
        qs.iter().zip(pairs).map(|(q, pair)| interpolated(*q, values.len() as u64, *pair)).collect()
    }

    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "few values"
    )]
    fn naive(sorted: &[i64], q: f64) -> f64 {
        let rank = (sorted.len() - 1) as f64 * q;
        let (lower, upper) = (sorted[rank.floor() as usize], sorted[rank.ceil() as usize]);
        lower as f64 + (upper as f64 - lower as f64) * rank.fract()
    }

    proptest! {
        #[test]
        fn quantiles_match_the_sorted_values(
            mut values in prop::collection::vec(numbers(), 1..200), qs in prop::collection::vec(0.0..=1.0, 1..4),
            max_bins in prop_oneof![1..80_usize, Just(1 << 14)],
        ) {
            let computed = quantiles(&values, &qs, max_bins);
            values.sort_unstable();
            let expected: Vec<f64> = qs.iter().map(|q| naive(&values, *q)).collect();
            prop_assert_eq!(computed, expected);
        }

        #[test]
        fn every_value_is_within_the_bounds_of_its_bin(
            one in any::<i64>(), other in any::<i64>(), value in any::<i64>(), max in 1..20_000_usize,
        ) {
            let bounds = (one.min(other), one.max(other));
            let bins = GrowingBins::new(bounds, max);
            let value = value.clamp(bounds.0, bounds.1);
            let bin = bins.bin(value);
            prop_assert!(bin < bins.count());
            let (low, high) = bins.bounds(bin);
            prop_assert!((low..=high).contains(&value), "{} is not in {}..={}", value, low, high);
        }
    }
}
