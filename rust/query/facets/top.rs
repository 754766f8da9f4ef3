//! The most frequent values.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The values with the greatest counts; of equal counts the least values.
pub(in crate::query) struct Top<V> {
    limit: usize,
    /// The value to give up first is the greatest.
    taken: BinaryHeap<(Reverse<u64>, V)>,
}

impl<V: Ord> Top<V> {
    pub(in crate::query) fn new(limit: usize) -> Self {
        Self { limit, taken: BinaryHeap::new() }
    }

    /// Returns the count below which no value is taken any more.
    pub(super) fn least_count(&self) -> u64 {
        self.last().map_or(1, |(Reverse(count), _)| *count)
    }

    /// Returns the count below which no value is taken any more that is greater than all values before.
    pub(super) fn least_count_of_later(&self) -> u64 {
        self.last().map_or(1, |(Reverse(count), _)| count + 1)
    }

    /// Returns the value to give up first, if one must be given up for the next.
    fn last(&self) -> Option<&(Reverse<u64>, V)> {
        self.taken.peek().filter(|_| self.taken.len() == self.limit)
    }

    /// Takes a value with its count if it is among the greatest; returns whether it is.
    pub(in crate::query) fn offer(&mut self, count: u64, value: V) -> bool {
        let offered = (Reverse(count), value);
        if self.taken.len() < self.limit {
            self.taken.push(offered);
            return true;
        }
        match self.taken.peek_mut() {
            Some(mut last) if offered < *last => {
                *last = offered;
                true
            }
            _ => false,
        }
    }

    /// Returns the values with their counts, the greatest first.
    pub(in crate::query) fn into_sorted(self) -> Vec<(u64, V)> {
        self.taken.into_sorted_vec().into_iter().map(|(Reverse(count), value)| (count, value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_top_is_the_beginning_of_all_in_order(
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
