//! Predicates in terms of one index.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow_buffer::ScalarBuffer;

use crate::bitmap::{RowSet, fill, is_set};
use crate::filter::intervals::IntervalSet;
use crate::index::columns::{Ids, Numbers, Texts};

/// A predicate in terms of one index.
#[derive(Debug)]
pub(super) enum PlanNode {
    /// Every part matches.
    All(Vec<PlanNode>),
    /// At least one part matches.
    Any(Vec<PlanNode>),
    /// The row is in one of these ranges, which ascend and are separated by gaps.
    Ranges(Vec<Range<u32>>),
    /// The row's text has one of these codes.
    Texts(Arc<Texts>, CodeRanges),
    /// The row's number is in the set; the positions of matches in number order are known.
    Ordered {
        numbers: Arc<Numbers>,
        order: ScalarBuffer<u32>,
        positions: Vec<Range<usize>>,
        intervals: IntervalSet<i64>,
    },
    /// The row's number is in the set; the column must be scanned.
    Scanned(Arc<Numbers>, IntervalSet<i64>),
    /// The row's id is at one of these positions in id order.
    Ids(Arc<Ids>, Vec<Range<usize>>),
    /// The row is in the set.
    Rows(RowSet),
}

impl PlanNode {
    /// Matches no row.
    pub(super) const NONE: Self = Self::Ranges(Vec::new());

    /// Matches the rows of a range.
    pub(super) fn one_range(range: Range<u32>) -> Self {
        Self::Ranges(union(std::iter::once(range)))
    }
}

/// A set of codes.
#[derive(Debug)]
pub(super) struct CodeRanges {
    /// The ranges, ascending and separated by gaps.
    pub(super) ranges: Vec<Range<u32>>,
    /// The number of rows that have one of the codes.
    pub(super) rows: usize,
    /// The same codes as a bitmap, built when many ranges are searched for a code.
    bits: OnceLock<Vec<u64>>,
    /// The number of codes of the column, including the code of a missing value.
    all: usize,
}

/// With more ranges than this, membership is tested with a bitmap.
const MAX_SCANNED_RANGES: usize = 4;

impl CodeRanges {
    pub(super) fn new(texts: &Texts, ranges: Vec<Range<u32>>) -> Self {
        let rows = ranges.iter().map(|range| texts.count(range)).sum();
        Self { ranges, rows, bits: OnceLock::new(), all: texts.distinct() as usize + 1 }
    }

    /// Returns the intersection of both sets if `is_all`, otherwise the union.
    pub(super) fn joined(&self, other: &Self, texts: &Texts, is_all: bool) -> Self {
        let end = texts.distinct() + 1;
        Self::new(texts, joined([&self.ranges, &other.ranges], end, is_all))
    }

    /// Returns all other codes, including the code of a missing value.
    pub(super) fn complement(&self, texts: &Texts) -> Vec<Range<u32>> {
        complement(&self.ranges, texts.distinct() + 1)
    }

    pub(super) fn contains(&self, code: u32) -> bool {
        if self.ranges.len() <= MAX_SCANNED_RANGES {
            return self.ranges.iter().fold(false, |is_in, range| is_in | range.contains(&code));
        }
        let bits = self.bits.get_or_init(|| {
            let mut bits = vec![0; self.all.div_ceil(64)];
            for range in &self.ranges {
                fill(&mut bits, range.start as usize..range.end as usize);
            }
            bits
        });
        is_set(bits, code as usize)
    }

    /// Returns the number of codes.
    pub(super) fn count(&self) -> usize {
        self.ranges.iter().map(ExactSizeIterator::len).sum()
    }
}

/// Returns a node that matches exactly the other rows, out of `rows`.
pub(super) fn opposite(node: &PlanNode, rows: u32) -> PlanNode {
    let each = |parts: &[PlanNode]| parts.iter().map(|part| opposite(part, rows)).collect();
    match node {
        PlanNode::All(parts) => PlanNode::Any(each(parts)),
        PlanNode::Any(parts) => PlanNode::All(each(parts)),
        PlanNode::Ranges(ranges) => PlanNode::Ranges(complement(ranges, rows)),
        PlanNode::Texts(texts, codes) => {
            PlanNode::Texts(texts.clone(), CodeRanges::new(texts, codes.complement(texts)))
        }
        PlanNode::Ordered { numbers, order, positions, intervals } => PlanNode::Ordered {
            numbers: numbers.clone(),
            order: order.clone(),
            positions: complement(positions, order.len()),
            intervals: intervals.not(),
        },
        PlanNode::Scanned(numbers, intervals) => PlanNode::Scanned(numbers.clone(), intervals.not()),
        PlanNode::Ids(ids, positions) => PlanNode::Ids(ids.clone(), complement(positions, ids.order().len())),
        PlanNode::Rows(own) => PlanNode::Rows(RowSet::Range(0..rows).without(own)),
    }
}

/// Returns the intersection (if `is_all`) or the union of two lists of ascending ranges up to `end`.
pub(super) fn joined<T: Copy + Ord + Default>(
    lists: [&[Range<T>]; 2],
    end: T,
    is_all: bool,
) -> Vec<Range<T>> {
    if is_all {
        let gaps = lists.map(|ranges| complement(ranges, end));
        return complement(&joined([&gaps[0], &gaps[1]], end, false), end);
    }
    let mut ranges = lists.concat();
    ranges.sort_unstable_by_key(|range| range.start);
    union(ranges.into_iter())
}

/// Merges ascending ranges that touch, and drops empty ones.
pub(super) fn union<T: Copy + PartialOrd>(ranges: impl Iterator<Item = Range<T>>) -> Vec<Range<T>> {
    let mut union: Vec<Range<T>> = Vec::new();
    for range in ranges.filter(|range| range.start < range.end) {
        match union.last_mut() {
            Some(last) if last.end >= range.start => {
                if range.end > last.end {
                    last.end = range.end;
                }
            }
            _ => union.push(range),
        }
    }
    union
}

/// Returns the gaps between ascending ranges, from zero up to `end`.
pub(super) fn complement<T: Copy + PartialOrd + Default>(ranges: &[Range<T>], end: T) -> Vec<Range<T>> {
    let starts = std::iter::once(T::default()).chain(ranges.iter().map(|range| range.end));
    let ends = ranges.iter().map(|range| range.start).chain(std::iter::once(end));
    union(starts.zip(ends).map(|(start, end)| start..end))
}
