//! The counts of the rows of one chunk, by slot, and their sums over chunks.

use crate::query::aggregate::distinct::DistinctSet;
use crate::query::aggregate::histogram::Edges;
use crate::query::aggregate::parts::Values;
use crate::query::aggregate::plan::{NumberField, Subset};
use crate::query::aggregate::quantile::{GrowingBins, MAX_PASS_BINS};

/// How to count the numbers of one field.
#[derive(Debug)]
pub(super) struct NumberLayout {
    pub(super) has_stats: bool,
    /// The bins of the first pass, if there are quantiles.
    pub(super) bins: Option<GrowingBins>,
    pub(super) histograms: Vec<Edges>,
}

/// How to count a subset.
#[derive(Debug)]
pub(super) struct TallyLayout {
    pub(super) slots: usize,
    pub(super) numbers: Vec<NumberLayout>,
    /// The number of values of each distinct field.
    pub(super) distinct: Vec<usize>,
}

/// Bounds of the values of a number. Without values, the least is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NumberBounds {
    /// The bounds of the selected values, if a histogram needs them.
    pub(super) selected: (i64, i64),
    /// The bounds of all values, selected or not, if there are quantiles.
    pub(super) stored: (i64, i64),
}

impl NumberBounds {
    pub(super) const NONE: Self = Self { selected: (i64::MAX, i64::MIN), stored: (i64::MAX, i64::MIN) };

    /// Returns the bounds of both.
    pub(super) fn and(self, other: Self) -> Self {
        let both = |one: (i64, i64), other: (i64, i64)| (one.0.min(other.0), one.1.max(other.1));
        Self { selected: both(self.selected, other.selected), stored: both(self.stored, other.stored) }
    }
}

impl TallyLayout {
    /// Returns the layout of a subset from the bounds of its numbers and the number of values of its distinct fields.
    pub(super) fn new(slots: usize, subset: &Subset, bounds: &[NumberBounds], distinct: Vec<usize>) -> Self {
        let number = |(number, bounds): (&NumberField, &NumberBounds)| {
            let (low, high) = bounds.stored;
            let stored = if low <= high { (low, high) } else { (0, 0) };
            let bins = GrowingBins::new(stored, MAX_PASS_BINS / slots.max(1));
            NumberLayout {
                has_stats: number.has_stats,
                bins: (!number.qs.is_empty()).then_some(bins),
                histograms: number.histograms.iter().map(|bins| Edges::new(*bins, bounds.selected)).collect(),
            }
        };
        Self { slots, numbers: subset.numbers.iter().zip(bounds).map(number).collect(), distinct }
    }
}

/// The sum, the minimum and the maximum of some values.
#[derive(Debug, Clone, Copy)]
pub(super) struct NumberStats {
    pub(super) sum: i128,
    pub(super) min: i64,
    pub(super) max: i64,
}

impl NumberStats {
    const NONE: Self = Self { sum: 0, min: i64::MAX, max: i64::MIN };

    #[inline]
    fn add(&mut self, value: i64) {
        self.sum += i128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    fn merge(&mut self, other: &Self) {
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

/// The counts of a subset. Counts that are not needed are empty.
#[derive(Debug)]
pub(super) struct Tally {
    /// The number of rows per slot.
    pub(super) counts: Vec<u64>,
    pub(super) numbers: Vec<NumberTally>,
    pub(super) distinct: Vec<DistinctSet>,
}

/// The counts of the numbers of one field.
#[derive(Debug)]
pub(super) struct NumberTally {
    /// By slot.
    pub(super) stats: Vec<NumberStats>,
    /// The bins of the first pass, by slot.
    pub(super) bins: Vec<u64>,
    /// The counters by histogram and slot.
    pub(super) histograms: Vec<Vec<u64>>,
}

impl Tally {
    pub(super) fn new(layout: &TallyLayout) -> Self {
        let slots = layout.slots;
        let numbers = layout.numbers.iter().map(|number| NumberTally {
            stats: if number.has_stats { vec![NumberStats::NONE; slots] } else { Vec::new() },
            bins: vec![0; slots * number.bins.map_or(0, GrowingBins::count)],
            histograms: number.histograms.iter().map(|edges| vec![0; slots * edges.counters()]).collect(),
        });
        let distinct = layout.distinct.iter().map(|values| DistinctSet::new(slots, *values));
        Self { counts: vec![0; slots], numbers: numbers.collect(), distinct: distinct.collect() }
    }

    /// Counts `rows` rows, each in its slot, or all in the only slot without `slots`.
    pub(super) fn count(&mut self, rows: usize, slots: Option<&[u32]>) {
        match slots {
            Some(slots) => slots.iter().for_each(|slot| self.counts[*slot as usize] += 1),
            None => self.counts[0] += rows as u64,
        }
    }

    /// Computes the number of rows per slot from the bins of a field.
    pub(super) fn count_bins(&mut self, layout: &TallyLayout) {
        let binned = self.numbers.iter().zip(&layout.numbers);
        let mut binned = binned.filter_map(|(number, layout)| Some((number, layout.bins?)));
        if let Some((number, bins)) = binned.next() {
            let sums = number.bins.chunks(bins.count()).map(|bins| bins.iter().sum());
            self.counts.iter_mut().zip(sums).for_each(|(count, sum)| *count = sum);
        }
    }

    /// Adds another tally of the same layout.
    pub(super) fn merge(&mut self, other: &Self) {
        add(&mut self.counts, &other.counts);
        for (own, other) in self.numbers.iter_mut().zip(&other.numbers) {
            own.stats.iter_mut().zip(&other.stats).for_each(|(own, other)| own.merge(other));
            add(&mut own.bins, &other.bins);
            own.histograms.iter_mut().zip(&other.histograms).for_each(|(own, other)| add(own, other));
        }
        self.distinct.iter_mut().zip(&other.distinct).for_each(|(own, other)| own.unite(other));
    }
}

impl NumberTally {
    /// Counts the values of some rows, each in its slot, or all in the only slot without `slots`.
    pub(super) fn count(&mut self, layout: &NumberLayout, values: &Values<'_>, slots: Option<&[u32]>) {
        if layout.has_stats {
            if let Some(slots) = slots {
                let mut slots = slots.iter();
                values.for_each(|value| {
                    slots.next().into_iter().for_each(|slot| self.stats[*slot as usize].add(value));
                });
            } else {
                // A local copy may stay in registers.
                let mut stats = self.stats[0];
                values.for_each(|value| stats.add(value));
                self.stats[0] = stats;
            }
        }
        if let Some(bins) = layout.bins {
            tally(&mut self.bins, bins.count(), values, slots, |value| bins.bin(value));
        }
        for (counters, edges) in self.histograms.iter_mut().zip(&layout.histograms) {
            tally(counters, edges.counters(), values, slots, |value| edges.counter(value));
        }
    }
}

/// Counts each value in a counter of its slot. Each slot has `width` counters.
#[inline]
fn tally(
    counters: &mut [u64],
    width: usize,
    values: &Values<'_>,
    slots: Option<&[u32]>,
    counter: impl Fn(i64) -> usize,
) {
    if let Some(slots) = slots {
        let mut slots = slots.iter();
        values.for_each(|value| {
            let slot = slots.next().map_or(0, |slot| *slot as usize);
            counters[slot * width + counter(value)] += 1;
        });
    } else {
        values.for_each(|value| counters[counter(value)] += 1);
    }
}

pub(super) fn add(own: &mut [u64], others: &[u64]) {
    own.iter_mut().zip(others).for_each(|(own, other)| *own += other);
}
