//! Picks the segments to merge next (size-tiered compaction).
//!
//! Eight or more segments that are adjacent in time and of similar size become one segment of the next size.
//! Thus a row is rewritten only a few times before its segment reaches the maximum size.

use std::ops::Range;

use crate::storage::options::Options;

/// The number of similar segments per merge, and the ratio between two sizes.
const FAN_IN: usize = 8;

/// A merge holds its columns in memory, and an Arrow text column has at most 2 GiB.
const MAX_MEMORY: u64 = 1 << 30;

/// The size of a live segment, without the rows that a merge drops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SegmentSize {
    pub(super) rows: u64,
    /// The stored size of its documents in bytes.
    pub(super) bytes: u64,
    /// The memory of its columns in bytes.
    pub(super) memory: u64,
    /// The number of rows that a merge drops.
    pub(super) deleted_rows: u64,
    /// True if the compression of its documents was deferred.
    pub(super) awaits_compression: bool,
}

impl SegmentSize {
    /// The size of a segment that is too large for any merge.
    pub(super) const UNMERGEABLE: Self = Self {
        rows: u64::MAX,
        bytes: u64::MAX,
        memory: MAX_MEMORY + 1,
        deleted_rows: 0,
        awaits_compression: false,
    };
}

/// Picks merges within the limits of the options.
#[derive(Debug, Clone, Copy)]
pub(super) struct CompactionPicker {
    /// The maximum number of rows in a segment.
    rows: u64,
    /// The maximum size of a segment's documents in bytes.
    bytes: u64,
    /// The maximum number of segments.
    segments: usize,
}

impl CompactionPicker {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            rows: options.max_segment_traces,
            bytes: options.max_segment_bytes,
            segments: usize::try_from(options.max_segments).unwrap_or(usize::MAX),
        }
    }

    /// Returns the range of adjacent segments to merge next, if any. `sizes` are in time order. Deferred
    /// compression is only due with `compress_deferred`.
    pub(super) fn pick(self, sizes: &[SegmentSize], compress_deferred: bool) -> Option<Range<usize>> {
        let alone = |is_due: fn(&SegmentSize) -> bool| {
            let found = sizes.iter().position(is_due);
            found.map(|position| position..position + 1)
        };
        alone(|size| size.deleted_rows > size.rows)
            .or_else(|| self.similar(sizes))
            .or_else(|| self.smallest(sizes))
            .or_else(|| alone(|size| size.awaits_compression).filter(|_| compress_deferred))
    }

    /// Returns the ranges that a full compaction merges: adjacent segments that fit into one segment, and
    /// single segments that `is_rebuilt` selects.
    pub(super) fn pick_all(
        self,
        sizes: &[SegmentSize],
        is_rebuilt: impl Fn(&SegmentSize) -> bool,
    ) -> Vec<Range<usize>> {
        let (mut ranges, mut start) = (Vec::new(), 0);
        while start < sizes.len() {
            let longest = (start + 1..=sizes.len()).take_while(|end| self.fits(&sizes[start..*end])).last();
            let end = longest.unwrap_or(start + 1);
            if end - start > 1 || is_rebuilt(&sizes[start]) {
                ranges.push(start..end);
            }
            start = end;
        }
        ranges
    }

    /// Returns adjacent segments of similar size, from the smallest tier that has enough of them.
    fn similar(self, sizes: &[SegmentSize]) -> Option<Range<usize>> {
        let mut tiers: Vec<u32> = sizes.iter().map(|size| self.tier(size)).collect();
        tiers.sort_unstable();
        tiers.dedup();
        let mut starts = tiers.into_iter().flat_map(|tier| (0..sizes.len()).map(move |start| (tier, start)));
        starts.find_map(|(tier, start)| self.run_of(tier, start, sizes))
    }

    /// Returns the run of segments from `start` that are at most of `tier` and worth a merge.
    fn run_of(self, tier: u32, start: usize, sizes: &[SegmentSize]) -> Option<Range<usize>> {
        let is_small = |size: &&SegmentSize| self.tier(size) <= tier;
        let small = sizes[start..].iter().take_while(is_small).count();
        let fitting = (1..=small).take_while(|count| self.fits(&sizes[start..start + count])).last()?;
        let run = &sizes[start..start + fitting];
        let total = self.total_weight(run);
        let largest = run.iter().map(|size| self.weight(size)).max()?;
        // If the next segment does not fit, the run makes up a full segment.
        let is_enough = fitting >= FAN_IN || (fitting < small && total >= self.bytes / 2);
        (is_enough && fitting > 1 && total >= 2 * largest).then_some(start..start + fitting)
    }

    /// Returns the smallest adjacent segments if the number of segments is at its limit.
    fn smallest(self, sizes: &[SegmentSize]) -> Option<Range<usize>> {
        if sizes.len() < self.segments.max(2) {
            return None;
        }
        let of_count = |count: usize, is_allowed: &dyn Fn(&[SegmentSize]) -> bool| {
            let ranges = (0..=sizes.len().checked_sub(count)?).map(|start| start..start + count);
            ranges
                .filter(|range| is_allowed(&sizes[range.clone()]))
                .min_by_key(|range| self.total_weight(&sizes[range.clone()]))
        };
        let fitting = (2..=FAN_IN).rev().find_map(|count| of_count(count, &|run| self.fits(run)));
        // One segment above the size limit is better than exceeding the number of segments.
        fitting.or_else(|| of_count(2, &|run| run.iter().map(|size| size.memory).sum::<u64>() <= MAX_MEMORY))
    }

    fn fits(self, run: &[SegmentSize]) -> bool {
        let sum = |part: fn(&SegmentSize) -> u64| run.iter().map(part).fold(0, u64::saturating_add);
        sum(|size| size.rows) <= self.rows
            && sum(|size| size.bytes) <= self.bytes
            && sum(|size| size.memory) <= MAX_MEMORY
    }

    /// Returns the weight of a segment in bytes of documents. The fill level by rows counts if it is higher
    /// than the one by bytes.
    fn weight(self, size: &SegmentSize) -> u64 {
        size.rows.saturating_mul(self.bytes / self.rows.max(1)).max(size.bytes).max(1)
    }

    fn total_weight(self, run: &[SegmentSize]) -> u64 {
        run.iter().map(|size| self.weight(size)).fold(0, u64::saturating_add)
    }

    /// Returns the tier of a segment. Segments of each tier are [`FAN_IN`] times heavier than those one tier
    /// below.
    fn tier(self, size: &SegmentSize) -> u32 {
        self.weight(size).ilog2() / FAN_IN.ilog2()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{CompactionPicker, SegmentSize};
    use crate::storage::Options;

    /// Merges until no merge is due. Returns the number of rewritten rows.
    fn settle(picker: CompactionPicker, sizes: &mut Vec<SegmentSize>) -> u64 {
        let mut rewritten = 0;
        while let Some(due) = picker.pick(sizes, true) {
            let merged = sizes[due.clone()].iter().fold(SegmentSize::default(), |sum, size| SegmentSize {
                rows: sum.rows + size.rows,
                bytes: sum.bytes + size.bytes,
                memory: sum.memory + size.memory,
                ..SegmentSize::default()
            });
            assert!(due.len() > 1 || sizes[due.start].deleted_rows > 0, "a merge changes something");
            rewritten += merged.rows;
            sizes.splice(due, [merged]);
        }
        rewritten
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn segments_stay_few_and_rows_are_rarely_rewritten(
            flushes in proptest::collection::vec((1..20_000_u64, 100..2_000_u64), 1..1_500),
        ) {
            let picker = CompactionPicker::new(&Options::default());
            let (mut sizes, mut rewritten, mut rows) = (Vec::new(), 0, 0);
            for (count, size) in flushes {
                let (bytes, memory) = (count * size, count * 200);
                sizes.push(SegmentSize { rows: count, bytes, memory, ..SegmentSize::default() });
                rows += count;
                rewritten += settle(picker, &mut sizes);
                prop_assert!(sizes.len() < 64);
            }
            prop_assert_eq!(sizes.iter().map(|size| size.rows).sum::<u64>(), rows);
            prop_assert!(rewritten <= 5 * rows, "{} rows were rewritten, of {}", rewritten, rows);
            let full = sizes.iter().filter(|size| size.rows > 1_000_000 || size.bytes > 1 << 30).count();
            prop_assert_eq!(full, 0, "below the limit of segments, none is too large");
        }
    }

    #[test]
    fn a_segment_of_mostly_deleted_rows_is_rebuilt_alone() {
        let picker = CompactionPicker::new(&Options::default());
        let size = |deleted_rows| SegmentSize {
            rows: 100,
            bytes: 100,
            memory: 100,
            deleted_rows,
            ..SegmentSize::default()
        };
        assert_eq!(picker.pick(&[size(0), size(101), size(0)], false), Some(1..2));
        assert_eq!(picker.pick(&[size(100), size(0)], true), None);
    }

    #[test]
    fn what_cannot_be_merged_is_left_out() {
        let options = Options { max_segments: 4, ..Options::default() };
        let picker = CompactionPicker::new(&options);
        let size = SegmentSize { rows: 100, bytes: 100, memory: 100, ..SegmentSize::default() };
        let unmergeable = SegmentSize::UNMERGEABLE;
        assert_eq!(picker.pick(&[unmergeable, size, unmergeable, size, size], true), Some(3..5));
        assert_eq!(picker.pick(&[unmergeable, size, unmergeable, size, unmergeable], true), None);
        let mut many = vec![size; 20];
        many[3] = unmergeable;
        assert_eq!(CompactionPicker::new(&Options::default()).pick(&many, true), Some(4..20));
    }

    #[test]
    fn deferred_compression_is_due_once_the_ingest_rate_allows_it() {
        let picker = CompactionPicker::new(&Options::default());
        let size = |awaits_compression| SegmentSize {
            rows: 100,
            bytes: 100,
            awaits_compression,
            ..SegmentSize::default()
        };
        let sizes = [size(false), size(true), size(true)];
        assert_eq!(picker.pick(&sizes, false), None);
        assert_eq!(picker.pick(&sizes, true), Some(1..2));
    }
}
