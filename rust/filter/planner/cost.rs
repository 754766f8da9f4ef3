//! The cost model of index scans, in bitmap words.
//!
//! Combining two bitmap words is cheapest, because adjacent words arrive from memory together. Probing a
//! single row costs as much as many words, because nothing else in its cache line is used. The constants were
//! measured on segments of a million rows that other work had just evicted from the processor's caches.

use std::ops::Range;

use super::plan_node::{CodeRanges, PlanNode};
use crate::bitmap::RowSet;
use crate::filter::intervals::IntervalSet;
use crate::filter::text::TextMatcher;
use crate::index::columns::{Ids, Texts};

/// A result with fewer than one row in this many is a sorted list (sparse); otherwise it is a bitmap (dense).
pub(super) const SPARSE_RATIO: usize = 256;
/// Maximum number of lists that are merged row by row. More lists are combined into one set.
pub(super) const MAX_MERGED_LISTS: usize = 16;
/// The cost of reading one row of a column.
const PROBE_COST: usize = 32;
/// The cost of taking a row from a list, or of setting its bit.
const ROW_COST: usize = 3;
/// The cost of sorting one row.
const SORT_COST: usize = 32;
/// Lookups that cost more are deferred.
pub(super) const MAX_COST_AT_ONCE: usize = 1 << 15;
/// The cost of testing the text of a row: its code, its offset, the text, and the search in it. Usually
/// several threads share the work.
pub(super) const TEXT_TEST_COST: usize = 4 * PROBE_COST;
/// The cost of testing the id of a row: the id, and the search in its digits. Usually several threads share
/// the work.
pub(super) const ID_TEST_COST: usize = PROBE_COST;
/// The cost of testing the number of a row.
pub(super) const NUMBER_TEST_COST: usize = 2 * PROBE_COST;
/// The number of text bytes that are searched in the time it takes to combine one bitmap word, without and
/// with case folding.
const SEARCHED_BYTES: usize = 32;
const FOLDED_BYTES: usize = 4;
/// The number of ids whose digits are compared in the time it takes to combine one bitmap word.
const COMPARED_IDS: usize = 2;

/// The number of rows that are tested in about the time it takes to wake another thread.
pub const INLINE_ROW_BUDGET: usize = 1 << 10;

/// Returns the cost of `count` binary searches among `values` values.
pub(super) fn of_lookups(count: usize, values: usize) -> usize {
    count * (values.max(1).ilog2() as usize + 1) * PROBE_COST
}

/// Returns the cost of finding the texts that a matcher matches.
pub(super) fn of_reading_texts(texts: &Texts, matcher: &TextMatcher) -> usize {
    let (bytes, distinct) = (texts.all().0.len(), texts.distinct() as usize);
    match matcher.interval_count(texts.is_lower_case()) {
        Some(intervals) => of_lookups(intervals, distinct),
        None if texts.is_lower_case() || !matcher.folds() => bytes / SEARCHED_BYTES + distinct,
        None => bytes / FOLDED_BYTES + distinct * PROBE_COST,
    }
}

/// Returns the cost of finding the ids that a matcher matches.
pub(super) fn of_reading_ids(ids: &Ids, matcher: &TextMatcher) -> usize {
    let rows = ids.order().len();
    matcher.interval_count(true).map_or(rows / COMPARED_IDS, |intervals| of_lookups(intervals, rows))
}

/// Returns an upper bound on the number of rows that `node` matches, out of `rows`.
pub(super) fn max_rows(node: &PlanNode, rows: u32) -> usize {
    let all_rows = rows as usize;
    match node {
        PlanNode::All(parts) => parts.iter().map(|part| max_rows(part, rows)).min().unwrap_or(all_rows),
        PlanNode::Any(parts) => parts.iter().map(|part| max_rows(part, rows)).sum::<usize>().min(all_rows),
        PlanNode::Ranges(ranges) => ranges.iter().map(ExactSizeIterator::len).sum(),
        PlanNode::Texts(_, codes) => codes.rows,
        PlanNode::Ordered { positions, .. } | PlanNode::Ids(_, positions) => {
            positions.iter().map(ExactSizeIterator::len).sum()
        }
        PlanNode::Rows(rows) => rows.count(),
        PlanNode::Scanned(_, _) => all_rows,
    }
}

/// Returns a lower bound on the number of rows that `node` matches, out of `rows`.
pub(super) fn min_rows(node: &PlanNode, rows: u32) -> usize {
    let all_rows = rows as usize;
    match node {
        PlanNode::All(parts) => {
            let left_out: usize = parts.iter().map(|part| all_rows - min_rows(part, rows)).sum();
            all_rows.saturating_sub(left_out)
        }
        PlanNode::Any(parts) => parts.iter().map(|part| min_rows(part, rows)).max().unwrap_or(0),
        PlanNode::Scanned(_, _) => 0,
        exact => max_rows(exact, rows),
    }
}

/// Returns `true` if `node` certainly matches each of `rows` rows.
pub(super) fn is_every_row(node: &PlanNode, rows: u32) -> bool {
    min_rows(node, rows) == rows as usize
}

/// Returns the number of rows that a condition on one column matches; `None` if it is small enough for a
/// list.
pub(super) fn counted(node: &PlanNode, rows: u32) -> Option<usize> {
    match node {
        PlanNode::Ranges(_) | PlanNode::Texts(_, _) | PlanNode::Ordered { .. } | PlanNode::Ids(_, _) => {
            Some(max_rows(node, rows)).filter(|count| *count >= rows as usize / SPARSE_RATIO)
        }
        _ => None,
    }
}

/// Returns an upper bound on the number of rows that are read to evaluate `node`.
pub(super) fn max_rows_read(node: &PlanNode, rows: u32) -> usize {
    match node {
        node if lies_in_index(node) || counted(node, rows).is_some() => 0,
        node => max_rows(node, rows).min(rows as usize - min_rows(node, rows)),
    }
}

/// Returns `true` if the rows of `node` are found without reading any row: one list or range from the index,
/// or only ranges.
fn lies_in_index(node: &PlanNode) -> bool {
    match node {
        PlanNode::Ranges(_) | PlanNode::Rows(_) => true,
        PlanNode::Texts(_, codes) => codes.count() <= MAX_MERGED_LISTS,
        PlanNode::All(parts) => {
            let lists = parts.iter().filter(|part| as_range(part).is_none()).count();
            lists <= 1 && parts.iter().all(lies_in_index)
        }
        PlanNode::Any(_) | PlanNode::Ordered { .. } | PlanNode::Scanned(_, _) | PlanNode::Ids(_, _) => false,
    }
}

/// Returns the range of `node` if it is a single range or an empty one.
pub(super) fn as_range(node: &PlanNode) -> Option<Range<u32>> {
    match node {
        PlanNode::Ranges(ranges) => match ranges.as_slice() {
            [] => Some(0..0),
            [range] => Some(range.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// The parts of an `AND`: the intersection of its ranges, and the other parts, smallest first.
pub(super) struct Conjunction<'p> {
    pub(super) window: Range<u32>,
    pub(super) parts: Vec<&'p PlanNode>,
    rows: u32,
}

/// The plan to intersect the parts as bitmaps.
pub(super) struct IntersectionPlan<'p> {
    /// The parts that become bitmaps, in this order.
    pub(super) bitmaps: Vec<&'p PlanNode>,
    /// The parts in which every remaining row is probed.
    pub(super) probed: Vec<&'p PlanNode>,
    pub(super) cost: usize,
}

impl<'p> Conjunction<'p> {
    /// Returns the conjunction of `parts` over `rows` rows.
    pub(super) fn new(parts: &'p [PlanNode], rows: u32) -> Self {
        let (mut window, mut others) = (0..rows, Vec::with_capacity(parts.len()));
        for part in parts {
            match part {
                part if let Some(range) = as_range(part) => {
                    window.start = window.start.max(range.start);
                    window.end = window.end.min(range.end).max(window.start);
                }
                part => others.push(part),
            }
        }
        Self { window, parts: others, rows }
    }

    /// Returns `true` if scanning the window costs less than collecting the rows of the smallest part.
    pub(super) fn is_window_first(&self) -> bool {
        self.parts.first().is_none_or(|first| self.cost_of_window(first) < self.cost_of_collecting(first))
    }

    /// Returns the cost of taking the rows of the smallest part, or of the window, and probing them in the
    /// others. It assumes that each part matches the same share of any rows.
    pub(super) fn cost_one_by_one(&self) -> usize {
        let Some((first, others)) = self.parts.split_first() else { return 0 };
        let mut cost = self.cost_of_window(first).min(self.cost_of_collecting(first));
        let mut left = expected_rows(self.window.len(), first, self.rows);
        for part in others {
            cost += left * probe_cost(part);
            left = expected_rows(left, part, self.rows);
        }
        cost + left * SORT_COST
    }

    /// Returns a plan: the parts that become bitmaps, cheapest first, and the parts in which the remaining
    /// rows are probed.
    pub(super) fn plan(&self) -> IntersectionPlan<'p> {
        let mut parts_by_cost: Vec<_> =
            self.parts.iter().map(|part| (cost(part, self.rows), *part)).collect();
        parts_by_cost.sort_by_key(|(cost, _)| *cost);
        let mut plan = IntersectionPlan { bitmaps: Vec::new(), probed: Vec::new(), cost: 0 };
        let mut left = self.window.len();
        for (cost, part) in parts_by_cost {
            let one_by_one = left * probe_cost(part);
            if plan.bitmaps.is_empty() || cost <= one_by_one {
                plan.bitmaps.push(part);
                plan.cost += cost;
            } else {
                plan.probed.push(part);
                plan.cost += one_by_one;
            }
            left = expected_rows(left, part, self.rows);
        }
        plan
    }

    fn cost_of_window(&self, first: &PlanNode) -> usize {
        self.window.len() * probe_cost(first)
    }

    fn cost_of_collecting(&self, first: &PlanNode) -> usize {
        let all = max_rows(first, self.rows);
        match first {
            // Each list is clipped to the window.
            PlanNode::Texts(_, codes) if codes.count() <= MAX_MERGED_LISTS => {
                ROW_COST * expected_rows(self.window.len(), first, self.rows)
            }
            _ => ROW_COST * all,
        }
    }
}

/// Estimates how many of `rows_in` rows a part matches.
fn expected_rows(rows_in: usize, part: &PlanNode, rows: u32) -> usize {
    rows_in * max_rows(part, rows) / (rows as usize).max(1)
}

/// Returns the cost of probing one row in a node.
fn probe_cost(node: &PlanNode) -> usize {
    match node {
        PlanNode::All(parts) | PlanNode::Any(parts) => parts.iter().map(probe_cost).sum(),
        PlanNode::Ranges(_) => 1,
        PlanNode::Texts(_, _)
        | PlanNode::Ordered { .. }
        | PlanNode::Ids(_, _)
        | PlanNode::Rows(_)
        | PlanNode::Scanned(_, _) => PROBE_COST,
    }
}

/// Returns the cost of building the bitmap of a node.
pub(super) fn cost(node: &PlanNode, count: u32) -> usize {
    let rows = count as usize;
    let words = rows / 64 + 1;
    match node {
        PlanNode::All(parts) => {
            let parts = Conjunction::new(parts, count);
            words + parts.cost_one_by_one().min(parts.plan().cost)
        }
        PlanNode::Any(parts) => parts.iter().map(|part| cost(part, count)).sum(),
        PlanNode::Ranges(_) | PlanNode::Rows(RowSet::Bits(_) | RowSet::Range(_)) => words,
        PlanNode::Texts(texts, codes) => words + cost_of_codes(texts, codes, rows),
        PlanNode::Ordered { positions, intervals, .. } => {
            let listed: usize = positions.iter().map(ExactSizeIterator::len).sum();
            words + cost_of_rows(listed, rows).min(cost_of_scans(intervals, rows))
        }
        PlanNode::Ids(_, _) => words + cost_of_rows(max_rows(node, count), rows),
        PlanNode::Rows(RowSet::Tested(tested)) => words + cost_of_rows(tested.count(), rows),
        PlanNode::Rows(_) => words + ROW_COST * max_rows(node, count),
        PlanNode::Scanned(_, intervals) => words + cost_of_scans(intervals, rows),
    }
}

/// Returns the cost of scanning a column once for each interval. One scan takes as long as setting the bits
/// of a fifth of the rows, or of a third of the rows if a hundred segments are read.
pub(super) fn cost_of_scans(intervals: &IntervalSet<i64>, rows: usize) -> usize {
    intervals.iter().count() * (2 * rows / 3)
}

/// Returns the cost of adding `changed` rows, or of removing the other rows if these are fewer.
pub(super) fn cost_of_rows(changed: usize, rows: usize) -> usize {
    ROW_COST * changed.min(rows.saturating_sub(changed))
}

/// Returns the cost of adding the rows of `codes`, or of removing the rows of the other codes if these are
/// fewer.
fn cost_of_codes(texts: &Texts, codes: &CodeRanges, rows: usize) -> usize {
    let is_majority = codes.rows > rows / 2;
    let frequent = texts.frequent(&(0..texts.distinct() + 1));
    let changed = frequent.iter().filter(|code| codes.contains(**code) != is_majority);
    let (mut bitmaps, mut by_bitmap) = (0, 0);
    for code in changed {
        bitmaps += 1;
        by_bitmap += texts.count(&(*code..code + 1));
    }
    let all = if is_majority { rows - codes.rows } else { codes.rows };
    (bitmaps + usize::from(is_majority)) * (rows / 64) + ROW_COST * all.saturating_sub(by_bitmap)
}
