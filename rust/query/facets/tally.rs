//! Computes the number of values and the most frequent ones from the counts of their codes.

use crate::query::facets::top::Top;

/// Counts that are compared with the least count together.
const BLOCK: usize = 64;

/// Counts values in the order of their codes.
pub(super) struct Tally {
    distinct: u64,
    top: Top<u32>,
}

impl Tally {
    pub(super) fn new(limit: usize) -> Self {
        Self { distinct: 0, top: Top::new(limit) }
    }

    /// Adds the count of one code, in any order.
    pub(super) fn add_one(&mut self, code: u32, count: u32) {
        if count > 0 {
            self.distinct += 1;
            self.top.offer(u64::from(count), code);
        }
    }

    /// Adds the counts of consecutive codes. The codes must be greater than all earlier ones.
    pub(super) fn add(&mut self, first: u32, counts: &[u32]) {
        for (block, first) in counts.chunks(BLOCK).zip((first..).step_by(BLOCK)) {
            self.distinct += block.iter().filter(|count| **count > 0).count() as u64;
            let greatest = block.iter().copied().max().unwrap_or_default();
            if u64::from(greatest) < self.top.least_count_of_later() {
                continue;
            }
            for (code, count) in (first..).zip(block).filter(|(_, count)| **count > 0) {
                self.top.offer(u64::from(*count), code);
            }
        }
    }

    /// Adds the counts of consecutive codes, given by the first row of each code.
    pub(super) fn add_starts(&mut self, mut first: u32, mut starts: &[u32]) {
        let mut counts = [0; BLOCK];
        while starts.len() > 1 {
            let length = BLOCK.min(starts.len() - 1);
            for (count, bounds) in counts.iter_mut().zip(starts.windows(2)) {
                *count = bounds[1] - bounds[0];
            }
            self.add(first, &counts[..length]);
            starts = &starts[length..];
            first += u32::try_from(length).unwrap_or_default();
        }
    }

    /// Returns the number of values that occur, and the most frequent ones with their counts.
    pub(super) fn finish(self) -> (u64, Vec<(u64, u32)>) {
        (self.distinct, self.top.into_sorted())
    }
}
