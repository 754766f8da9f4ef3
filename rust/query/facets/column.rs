//! Adds up the counts of one field over all parts.

use std::ops::Range;

use crate::index::columns::Texts;
use crate::index::ordinals::{SharedCodes, SharedValues};
use crate::query::facets::head::HeadCounts;
use crate::query::facets::segment::{Counted, SegmentCounts};
use crate::query::facets::top::Top;

#[derive(Debug)]
pub(super) struct MergedField<'a> {
    /// The most frequent values with their counts, in order.
    pub(super) values: Vec<(u64, &'a [u8])>,
    /// The number of distinct values.
    pub(super) distinct: u64,
    /// Rows without a value.
    pub(super) missing: u64,
}

/// One field of all parts, with the values that several parts have.
pub(super) struct Column<'a> {
    segments: Vec<SegmentColumn<'a>>,
    /// One more than the greatest number of a shared value.
    end: u32,
    head: HeadCounts<'a>,
    /// For each value of the head, its number if several segments have it.
    numbers: Vec<Option<u32>>,
    limit: usize,
}

/// A field of one segment.
struct SegmentColumn<'a> {
    texts: &'a Texts,
    /// The codes that are counted.
    codes: Range<u32>,
    shared: &'a [u32],
    /// The number of each shared code.
    numbers: &'a [u32],
    /// The codes of values that the head has, but no other segment.
    in_head: Vec<u32>,
    /// The positions of these values in the head.
    positions: Vec<usize>,
}

impl<'a> Column<'a> {
    /// Returns the values of a field that start with `prefix`, in these segments and in the head.
    pub(super) fn new(
        segments: Vec<(&'a Texts, &'a SharedCodes)>,
        shared: &SharedValues,
        head: HeadCounts<'a>,
        (prefix, limit): (&str, usize),
    ) -> Self {
        let mut numbers = vec![None; head.values.len()];
        let segments = segments.into_iter().map(|(texts, shared)| {
            let mut segment = SegmentColumn::new(texts, shared, prefix);
            segment.find(&head, &mut numbers);
            segment
        });
        Self { segments: segments.collect(), end: shared.end(), head, numbers, limit }
    }

    /// Returns the texts of a segment and the codes to count in it.
    pub(super) fn counted(&self, segment: usize) -> (&'a Texts, Counted<'_>) {
        let SegmentColumn { texts, codes, shared, in_head, .. } = &self.segments[segment];
        (texts, Counted { codes: codes.clone(), shared, in_head, limit: self.limit })
    }

    /// Returns the counts over all parts, from the counts of each segment.
    pub(super) fn merge(&self, counts: &[&SegmentCounts]) -> MergedField<'a> {
        let mut totals = vec![0_u64; self.end as usize];
        let mut of_head: Vec<u64> = self.head.values.iter().map(|(_, count)| *count).collect();
        let mut missing = self.head.missing;
        for (segment, counts) in self.segments.iter().zip(counts) {
            missing += counts.missing;
            for (position, count) in &counts.shared {
                totals[segment.numbers[*position as usize] as usize] += u64::from(*count);
            }
            for (position, count) in segment.positions.iter().zip(&counts.in_head) {
                of_head[*position] += u64::from(*count);
            }
        }
        let (mut distinct, mut top) = (0, Top::new(self.limit));
        for (((value, _), count), number) in self.head.values.iter().zip(of_head).zip(&self.numbers) {
            let shared = number.map_or(0, |number| std::mem::take(&mut totals[number as usize]));
            distinct += 1;
            top.offer(count + shared, value.as_bytes());
        }
        for (segment, counts) in self.segments.iter().zip(counts) {
            distinct += counts.distinct;
            counts.top.iter().for_each(|(count, code)| _ = top.offer(*count, segment.texts.value(*code)));
            distinct += segment.offer_shared(counts, &mut totals, &mut top);
        }
        MergedField { values: top.into_sorted(), distinct, missing }
    }
}

impl<'a> SegmentColumn<'a> {
    fn new(texts: &'a Texts, shared: &'a SharedCodes, prefix: &str) -> Self {
        let codes = texts.codes_of_prefix(prefix.as_bytes());
        let from = shared.codes.partition_point(|code| *code < codes.start);
        let to = shared.codes.partition_point(|code| *code < codes.end);
        let (shared, numbers) = (&shared.codes[from..to], &shared.numbers[from..to]);
        Self { texts, codes, shared, numbers, in_head: Vec::new(), positions: Vec::new() }
    }

    /// Looks up the values of the head. Shared values get their number, and the others are recorded in `in_head`.
    fn find(&mut self, head: &HeadCounts<'_>, numbers: &mut [Option<u32>]) {
        let mut code = self.codes.start;
        for (position, (value, _)) in head.values.iter().enumerate() {
            if numbers[position].is_some() {
                continue;
            }
            code = self.texts.first_code_from(code, |own| own >= value.as_bytes());
            if code == self.texts.distinct() {
                break;
            }
            if self.texts.value(code) != value.as_bytes() {
                continue;
            }
            if let Ok(at) = self.shared.binary_search(&code) {
                numbers[position] = Some(self.numbers[at]);
            } else {
                self.in_head.push(code);
                self.positions.push(position);
            }
        }
    }

    /// Offers the shared values of this segment that have a total, and clears these totals. Returns their number.
    fn offer_shared(&self, counts: &SegmentCounts, totals: &mut [u64], top: &mut Top<&'a [u8]>) -> u64 {
        let mut distinct = 0;
        // Values ascend. Once a value is rejected, all later values with the same or a lower count are rejected too.
        let mut rejected_count = 0;
        for (position, _) in &counts.shared {
            let position = *position as usize;
            let total = std::mem::take(&mut totals[self.numbers[position] as usize]);
            distinct += u64::from(total > 0);
            let is_rejected = total <= rejected_count || total < top.least_count();
            if !is_rejected && !top.offer(total, self.texts.value(self.shared[position])) {
                rejected_count = total;
            }
        }
        distinct
    }
}
