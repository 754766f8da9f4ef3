//! The most frequent values of a field.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The values with the greatest counts. Among equal counts, the least values win.
pub(crate) struct Top<V> {
    limit: usize,
    /// The greatest entry is the value to evict first.
    entries: BinaryHeap<(Reverse<u64>, V)>,
}

impl<V: Ord> Top<V> {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, entries: BinaryHeap::new() }
    }

    /// Returns the count below which every value is rejected.
    pub(super) fn least_count(&self) -> u64 {
        self.last().map_or(1, |(Reverse(count), _)| *count)
    }

    /// Returns the count below which a value is rejected if it is greater than all earlier ones.
    pub(super) fn least_count_of_later(&self) -> u64 {
        self.last().map_or(1, |(Reverse(count), _)| count + 1)
    }

    /// Returns the value to evict first, if the limit is reached.
    fn last(&self) -> Option<&(Reverse<u64>, V)> {
        self.entries.peek().filter(|_| self.entries.len() == self.limit)
    }

    /// Adds a value with its count if it is among the greatest. Returns true if it was added.
    pub(crate) fn offer(&mut self, count: u64, value: V) -> bool {
        let offered = (Reverse(count), value);
        if self.entries.len() < self.limit {
            self.entries.push(offered);
            return true;
        }
        match self.entries.peek_mut() {
            Some(mut last) if offered < *last => {
                *last = offered;
                true
            }
            _ => false,
        }
    }

    /// Returns the values with their counts, greatest count first.
    pub(crate) fn into_sorted(self) -> Vec<(u64, V)> {
        self.entries.into_sorted_vec().into_iter().map(|(Reverse(count), value)| (count, value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_top_is_a_prefix_of_the_sorted_values(
            counts in prop::collection::vec(1..5_u64, 0..40), limit in 1..10_usize,
        ) {
            let mut top = Top::new(limit);
            let mut all: Vec<(u64, usize)> = counts.into_iter().zip(0..).collect();
            for (count, value) in &all {
                let least = top.least_count_of_later();
                prop_assert_eq!(top.offer(*count, *value), *count >= least);
            }
            all.sort_by_key(|(count, value)| (Reverse(*count), *value));
            all.truncate(limit);
            prop_assert_eq!(top.into_sorted(), all);
        }
    }
}
