//! Counts distinct values of groups, in sets of pairs of a slot and the number of a value.

/// Up to this many bits, a set is a bitmap. A larger set is a list of sorted pairs, whose memory grows with the rows.
const MAX_BITS: usize = 1 << 26;

#[derive(Debug)]
pub(super) enum DistinctSet {
    /// One bitmap per slot, of `stride` words.
    Bits { words: Vec<u64>, stride: usize },
    /// Slots and values. The first `sorted` pairs are sorted and distinct.
    Pairs {
        /// The slot is in the upper half.
        pairs: Vec<u64>,
        sorted: usize,
    },
}

impl DistinctSet {
    /// Returns the empty set for `slots` slots and values below `values`.
    pub(super) fn new(slots: usize, values: usize) -> Self {
        let stride = values.div_ceil(64);
        if slots.saturating_mul(stride * 64) <= MAX_BITS {
            Self::Bits { words: vec![0; slots * stride], stride }
        } else {
            Self::Pairs { pairs: Vec::new(), sorted: 0 }
        }
    }

    /// Returns the bytes that a set of `rows` pairs may take.
    pub(super) fn max_bytes(slots: usize, values: usize, rows: usize) -> usize {
        let bits = slots.saturating_mul(values.div_ceil(64) * 64);
        // There are at most as many unsorted pairs as sorted ones, and a vector that grows is copied.
        if bits <= MAX_BITS { bits / 8 } else { rows.saturating_mul(4 * size_of::<u64>()) }
    }

    /// Adds values, each to its slot, or all to the only slot without `slots`. [`u32::MAX`] stands for no value.
    pub(super) fn add(&mut self, values: &[u32], slots: Option<&[u32]>) {
        let slot = |index: usize| slots.map_or(0, |slots| slots[index]);
        let values = values.iter().enumerate().filter(|(_, value)| **value != u32::MAX);
        match self {
            Self::Bits { words, stride } => values.for_each(|(index, value)| {
                words[slot(index) as usize * *stride + *value as usize / 64] |= 1 << (value % 64);
            }),
            Self::Pairs { pairs, .. } => {
                pairs.extend(values.map(|(index, value)| u64::from(slot(index)) << 32 | u64::from(*value)));
                self.tidy();
            }
        }
    }

    /// Adds the values of another set of the same slots.
    pub(super) fn unite(&mut self, other: &Self) {
        match (&mut *self, other) {
            (Self::Bits { words, .. }, Self::Bits { words: others, .. }) => {
                words.iter_mut().zip(others).for_each(|(word, other)| *word |= other);
            }
            (Self::Pairs { pairs, .. }, Self::Pairs { pairs: others, .. }) => {
                pairs.extend_from_slice(others);
                self.tidy();
            }
            _ => debug_assert!(false, "sets of the same slots and values have the same form"),
        }
    }

    /// Sorts the pairs whenever their number has doubled, so that each pair is sorted only a few times.
    fn tidy(&mut self) {
        const MIN_UNSORTED: usize = 1 << 16;
        if let Self::Pairs { pairs, sorted } = self
            && pairs.len() - *sorted > MIN_UNSORTED.max(*sorted)
        {
            pairs.sort_unstable();
            pairs.dedup();
            *sorted = pairs.len();
        }
    }

    /// Returns the number of values of each of `slots` slots.
    pub(super) fn counts(&mut self, slots: usize) -> Vec<u64> {
        match self {
            Self::Bits { words, stride } => {
                let count = |slot: usize| {
                    words[slot * *stride..][..*stride].iter().map(|word| u64::from(word.count_ones())).sum()
                };
                (0..slots).map(count).collect()
            }
            Self::Pairs { pairs, sorted } => {
                pairs.sort_unstable();
                pairs.dedup();
                *sorted = pairs.len();
                let mut counts = vec![0; slots];
                for pair in pairs.iter() {
                    counts[(*pair >> 32) as usize] += 1;
                }
                counts
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_forms_count_the_same(
            chunks in prop::collection::vec(
                prop::collection::vec((0..3_u32, prop_oneof![Just(u32::MAX), 0..90_u32]), 0..50), 1..5),
        ) {
            let empty = || [DistinctSet::new(3, 90), DistinctSet::Pairs { pairs: Vec::new(), sorted: 0 }];
            let mut sums = empty();
            prop_assert!(matches!(sums[0], DistinctSet::Bits { .. }), "a small set is a bitmap");
            for chunk in &chunks {
                let (slots, values): (Vec<u32>, Vec<u32>) = chunk.iter().copied().unzip();
                for (sum, mut set) in sums.iter_mut().zip(empty()) {
                    set.add(&values, Some(&slots));
                    sum.unite(&set);
                }
            }
            let all = chunks.iter().flatten().filter(|(_, value)| *value != u32::MAX);
            let all: std::collections::BTreeSet<_> = all.collect();
            let expected: Vec<u64> =
                (0..3).map(|slot| all.iter().filter(|(own, _)| *own == slot).count() as u64).collect();
            for sum in &mut sums {
                prop_assert_eq!(sum.counts(3), expected.clone());
            }
        }
    }
}
