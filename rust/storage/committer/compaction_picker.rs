//! Which segments are merged next, and which are left as they are?
//!
//! Neighbours in time are merged, eight or more of about one size into one of the next, so that a row is
//! rewritten few times before its segment is as large as segments become.

use std::ops::Range;

use crate::storage::options::Options;

/// So many segments of about one size are merged; the next size is so many times larger.
const FAN_IN: usize = 8;

/// A merge holds its columns in memory, and a text column of Arrow has 2 GiB at most.
const MOST_MEMORY: u64 = 1 << 30;

/// How large a live segment is, without the rows that a merge leaves out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) rows: u64,
    /// Of its documents, as they are stored.
    pub(crate) bytes: u64,
    /// Of its columns.
    pub(crate) memory: u64,
    /// Rows that a merge leaves out.
    pub(crate) dead_rows: u64,
    /// Its documents are to be compressed once there is time.
    pub(crate) awaits_compression: bool,
}

/// The sizes to which segments are merged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    rows: u64,
    bytes: u64,
    segments: usize,
}

impl Plan {
    pub(crate) fn of(options: &Options) -> Self {
        let Options { max_segment_traces: rows, max_segment_bytes: bytes, .. } = *options;
        Self { rows, bytes, segments: usize::try_from(options.max_segments).unwrap_or(usize::MAX) }
    }

    /// Returns which neighbours are due for a merge, if any; `extents` are in the order of time. Only while it
    /// `is_calm` is anything due for its documents alone.
    pub(crate) fn due(self, extents: &[Extent], is_calm: bool) -> Option<Range<usize>> {
        let alone = |is_due: fn(&Extent) -> bool| {
            let found = extents.iter().position(is_due);
            found.map(|place| place..place + 1)
        };
        alone(|extent| extent.dead_rows > extent.rows)
            .or_else(|| self.of_one_size(extents))
            .or_else(|| self.smallest(extents))
            .or_else(|| alone(|extent| extent.awaits_compression).filter(|_| is_calm))
    }

    /// Returns the neighbours to merge when somebody asks for all there is to merge: those that fit
    /// into one segment together, and what `is_rebuilt` alone.
    pub(crate) fn all(self, extents: &[Extent], is_rebuilt: impl Fn(&Extent) -> bool) -> Vec<Range<usize>> {
        let (mut ranges, mut start) = (Vec::new(), 0);
        while start < extents.len() {
            let longest =
                (start + 1..=extents.len()).take_while(|end| self.fits(&extents[start..*end])).last();
            let end = longest.unwrap_or(start + 1);
            if end - start > 1 || is_rebuilt(&extents[start]) {
                ranges.push(start..end);
            }
            start = end;
        }
        ranges
    }

    fn of_one_size(self, extents: &[Extent]) -> Option<Range<usize>> {
        let mut sizes: Vec<u32> = extents.iter().map(|extent| self.size(extent)).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let mut ranges =
            sizes.into_iter().flat_map(|size| (0..extents.len()).map(move |start| (size, start)));
        ranges.find_map(|(size, start)| self.run_of(size, start, extents))
    }

    /// Returns the segments from `start` on that are no larger than `size` and worth a merge.
    fn run_of(self, size: u32, start: usize, extents: &[Extent]) -> Option<Range<usize>> {
        let is_small = |extent: &&Extent| self.size(extent) <= size;
        let small = extents[start..].iter().take_while(is_small).count();
        let fitting = (1..=small).take_while(|count| self.fits(&extents[start..start + count])).last()?;
        let run = &extents[start..start + fitting];
        let total = self.total(run);
        let largest = run.iter().map(|extent| self.weight(extent)).max()?;
        // What does not fit any more makes a full one of what does.
        let is_enough = fitting >= FAN_IN || (fitting < small && total >= self.bytes / 2);
        (is_enough && fitting > 1 && total >= 2 * largest).then_some(start..start + fitting)
    }

    /// Returns the smallest neighbours if there are as many segments as there may be.
    fn smallest(self, extents: &[Extent]) -> Option<Range<usize>> {
        if extents.len() < self.segments.max(2) {
            return None;
        }
        let of_count = |count: usize, may: &dyn Fn(&[Extent]) -> bool| {
            let ranges = (0..=extents.len().checked_sub(count)?).map(|start| start..start + count);
            ranges
                .filter(|range| may(&extents[range.clone()]))
                .min_by_key(|range| self.total(&extents[range.clone()]))
        };
        let fitting = (2..=FAN_IN).rev().find_map(|count| of_count(count, &|run| self.fits(run)));
        // Rather a segment that is too large than one too many.
        fitting.or_else(|| {
            of_count(2, &|run| run.iter().map(|extent| extent.memory).sum::<u64>() <= MOST_MEMORY)
        })
    }

    fn fits(self, run: &[Extent]) -> bool {
        let sum = |part: fn(&Extent) -> u64| run.iter().map(part).fold(0, u64::saturating_add);
        sum(|extent| extent.rows) <= self.rows
            && sum(|extent| extent.bytes) <= self.bytes
            && sum(|extent| extent.memory) <= MOST_MEMORY
    }

    /// Returns how full a segment is, as bytes of documents: by traces or by bytes, whichever is more.
    fn weight(self, extent: &Extent) -> u64 {
        extent.rows.saturating_mul(self.bytes / self.rows.max(1)).max(extent.bytes).max(1)
    }

    fn total(self, run: &[Extent]) -> u64 {
        run.iter().map(|extent| self.weight(extent)).fold(0, u64::saturating_add)
    }

    /// Returns the class of weight: each is [`FAN_IN`] times the one before.
    fn size(self, extent: &Extent) -> u32 {
        self.weight(extent).ilog2() / FAN_IN.ilog2()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Extent, Plan};
    use crate::storage::Options;

    /// Merges until nothing is due; returns how many rows were written again.
    fn settle(plan: Plan, extents: &mut Vec<Extent>) -> u64 {
        let mut rewritten = 0;
        while let Some(due) = plan.due(extents, true) {
            let merged = extents[due.clone()].iter().fold(Extent::default(), |sum, extent| Extent {
                rows: sum.rows + extent.rows,
                bytes: sum.bytes + extent.bytes,
                memory: sum.memory + extent.memory,
                ..Extent::default()
            });
            assert!(due.len() > 1 || extents[due.start].dead_rows > 0, "a merge changes something");
            rewritten += merged.rows;
            extents.splice(due, [merged]);
        }
        rewritten
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn segments_stay_few_and_rows_are_rewritten_seldom(
            seals in proptest::collection::vec((1..20_000_u64, 100..2_000_u64), 1..1_500),
        ) {
            let plan = Plan::of(&Options::default());
            let (mut extents, mut rewritten, mut rows) = (Vec::new(), 0, 0);
            for (count, size) in seals {
                let (bytes, memory) = (count * size, count * 200);
                extents.push(Extent { rows: count, bytes, memory, ..Extent::default() });
                rows += count;
                rewritten += settle(plan, &mut extents);
                prop_assert!(extents.len() < 64);
            }
            prop_assert_eq!(extents.iter().map(|extent| extent.rows).sum::<u64>(), rows);
            prop_assert!(rewritten <= 5 * rows, "{} rows were written again, of {}", rewritten, rows);
            let full = extents.iter().filter(|extent| extent.rows > 1_000_000 || extent.bytes > 1 << 30).count();
            prop_assert_eq!(full, 0, "as long as there are few, none is too large");
        }
    }

    #[test]
    fn what_is_mostly_dead_is_rebuilt_alone() {
        let plan = Plan::of(&Options::default());
        let extent =
            |dead_rows| Extent { rows: 100, bytes: 100, memory: 100, dead_rows, ..Extent::default() };
        assert_eq!(plan.due(&[extent(0), extent(101), extent(0)], false), Some(1..2));
        assert_eq!(plan.due(&[extent(100), extent(0)], true), None);
    }

    #[test]
    fn what_was_written_in_a_hurry_is_due_alone_once_there_is_time() {
        let plan = Plan::of(&Options::default());
        let extent =
            |awaits_compression| Extent { rows: 100, bytes: 100, awaits_compression, ..Extent::default() };
        let extents = [extent(false), extent(true), extent(true)];
        assert_eq!(plan.due(&extents, false), None);
        assert_eq!(plan.due(&extents, true), Some(1..2));
    }
}
