//! The edges of a histogram, which are the same for all groups, and the bin of a value.

use crate::query::aggregate::measure::Bins;
use crate::query::aggregate::quantile::GrowingBins;

/// The counters for values below the first edge, and for values at or above the last edge.
const OUTSIDE: usize = 2;

/// The edges of the bins, ascending. Each bin ends before the next edge.
#[derive(Debug, Clone)]
pub(super) struct Edges {
    all: Vec<i128>,
    /// Finds the bin of a value; `None` if there are no bins.
    lookup: Option<Lookup>,
    /// True if the request gives the range of the bins.
    is_given: bool,
}

/// Finds the bin of a value with a table of growing bins, then by stepping over a few edges.
#[derive(Debug, Clone)]
struct Lookup {
    first: i64,
    /// The greatest value of the last bin.
    last: i64,
    growing: GrowingBins,
    /// The bin of the least value of each growing bin.
    bins: Vec<usize>,
    /// The greatest value of each bin.
    ends: Vec<i64>,
}

impl Edges {
    /// Returns the edges for values from `least` to `greatest`, unless the request gives a range. Each bin contains at
    /// least one whole number, so there may be fewer bins than requested.
    pub(super) fn new(bins: Bins, (least, greatest): (i64, i64)) -> Self {
        let data = (i128::from(least), i128::from(greatest) + 1);
        let (low, high) = bins.range.map_or(data, |(low, high)| (i128::from(low), i128::from(high)));
        let edges = if low >= high {
            Vec::new()
        } else if bins.is_log {
            growing(low, high, bins.count)
        } else {
            equal(low, high, bins.count)
        };
        Self { lookup: Lookup::new(&edges), all: edges, is_given: bins.range.is_some() }
    }

    /// Returns the first value of each bin, and the first value above the last bin.
    pub(super) fn edges(&self) -> &[i128] {
        &self.all
    }

    pub(super) fn is_given(&self) -> bool {
        self.is_given
    }

    /// Returns the number of counters: one per bin, and one for the values on each side.
    pub(super) fn counters(&self) -> usize {
        self.all.len().saturating_sub(1) + OUTSIDE
    }

    /// Returns the counter of a value: the first one if it is too small, the last one if it is too large.
    #[inline]
    pub(super) fn counter(&self, value: i64) -> usize {
        let Some(lookup) = &self.lookup else { return 0 };
        if value < lookup.first {
            0
        } else if value > lookup.last {
            self.counters() - 1
        } else {
            lookup.bin(value) + 1
        }
    }
}

impl Lookup {
    fn new(edges: &[i128]) -> Option<Self> {
        let clamped =
            |edge: i128| i64::try_from(edge.clamp(i64::MIN.into(), i64::MAX.into())).unwrap_or_default();
        let (first, ends) = edges.split_first()?;
        let ends: Vec<i64> = ends.iter().map(|edge| clamped(edge - 1)).collect();
        let (first, last) = (clamped(*first), *ends.last()?);
        let growing = GrowingBins::new((first, last), usize::MAX);
        let first_of = |bin: usize| growing.bounds(bin).0;
        let bins = (0..growing.count()).map(|bin| ends.partition_point(|end| *end < first_of(bin)));
        Some(Self { first, last, growing, bins: bins.collect(), ends })
    }

    #[inline]
    fn bin(&self, value: i64) -> usize {
        let mut bin = self.bins[self.growing.bin(value)];
        while self.ends[bin] < value {
            bin += 1;
        }
        bin
    }
}

/// Returns the edges of equally wide bins.
#[allow(clippy::cast_possible_wrap, clippy::cast_sign_loss, reason = "below 2^66 and not negative")]
fn equal(low: i128, high: i128, count: usize) -> Vec<i128> {
    let length = (high - low) as u128;
    let width = length.div_ceil(count as u128);
    (0..=length.div_ceil(width)).map(|bin| low + (bin * width) as i128).collect()
}

/// Returns the edges of the same number of bins for each doubling. Values below one have a bin of their own, because no
/// doubling reaches them.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "edges are rounded")]
fn growing(low: i128, high: i128, count: usize) -> Vec<i128> {
    let first = low.max(1);
    let mut edges = vec![low];
    if first < high {
        let bins = if low < first { count.saturating_sub(1) } else { count };
        let ratio = high as f64 / first as f64;
        let edge = |bin: usize| (first as f64 * ratio.powf(bin as f64 / bins as f64)).round() as i128;
        // The first edge is not computed, because a large number may not be exact in floating point.
        edges.extend((0..bins).map(|bin| if bin == 0 { first } else { edge(bin).clamp(first, high) }));
    }
    edges.push(high);
    edges.dedup();
    edges
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_value_is_in_the_bin_between_its_edges(
            values in prop::collection::vec(prop_oneof![-5..40_i64, 0..100_000_i64, any::<i64>()], 1..20),
            is_log in any::<bool>(), count in prop_oneof![1..4_usize, 1..50_usize],
            range in prop::option::of((any::<i32>(), 1..i32::MAX).prop_map(|(low, length)| {
                (i64::from(low), i64::from(low) + i64::from(length))
            })),
        ) {
            let bounds = (values.iter().min().copied(), values.iter().max().copied());
            let bounds = bounds.0.zip(bounds.1).expect("a value");
            let edges = Edges::new(Bins { is_log, count, range }, bounds);
            prop_assert!(edges.counters() <= count + OUTSIDE);
            prop_assert!(edges.edges().windows(2).all(|pair| pair[0] < pair[1]));
            for value in values {
                let expected = edges.edges().partition_point(|edge| *edge <= i128::from(value));
                prop_assert_eq!(edges.counter(value), expected, "{} in {:?}", value, edges.edges());
                prop_assert!(range.is_some() || (1..edges.counters() - 1).contains(&expected));
            }
        }
    }
}
