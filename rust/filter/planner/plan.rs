//! Finds the rows of an index that match a predicate, by the cheapest plan.
//!
//! The rows of one value are used in place; nothing is copied or counted. The parts of an `AND` are
//! intersected starting with the smallest. Its rows are probed in the other parts one by one. If there are
//! many rows, the parts become bitmaps instead ([`super::cost`]). A range of start times limits the other
//! parts.

use std::ops::Range;

use super::cost::{
    Conjunction, IntersectionPlan, MAX_MERGED_LISTS, SPARSE_RATIO, as_range, cost, cost_of_rows,
    cost_of_scans, counted, max_rows, min_rows,
};
use super::flatten::flattened;
use super::plan_node::{CodeRanges, PlanNode, complement, opposite};
use super::resolve::{ResolveContext, SpanRows, resolve};
use super::text_rows::TextRows;
use crate::bitmap::{Bits, LazyRowSet, RowList, RowSet, RowTest, fill};
use crate::filter::predicate::Predicate;
use crate::index::columns::{Ids, Index, Numbers, Texts};

/// Returns the rows of `index` for which `predicate` is true; `None` if the search is cancelled first.
/// `texts` decides conditions on texts, and `span_rows` is the bound for other conditions on spans.
pub(in crate::filter) fn rows(
    predicate: &Predicate,
    (index, texts): (&Index, &TextRows<'_>),
    span_rows: SpanRows,
    is_cancelled: &dyn Fn() -> bool,
) -> Option<RowSet> {
    let rows_left = index.rows() as usize;
    let plan = resolve(predicate, true, &ResolveContext { index, texts, is_cancelled, span_rows, rows_left });
    let rows = Planner { rows: index.rows(), is_cancelled }.narrowed(plan, RowSet::Range(0..index.rows()));
    (!is_cancelled()).then_some(rows)
}

/// Returns the rows as [`rows`] does, and an upper bound on the number of rows read to find them; `None` if
/// the bound exceeds `most`. Only for predicates that do not read spans.
pub(in crate::filter) fn try_cheap_rows(
    predicate: &Predicate,
    index: &Index,
    most: usize,
) -> Option<(RowSet, usize)> {
    let (texts, is_cancelled, rows_left) = (&TextRows::default(), &|| false, index.rows() as usize);
    let context = ResolveContext { index, texts, is_cancelled, span_rows: SpanRows::Possible, rows_left };
    let plan = resolve(predicate, true, &context).flattened(index.rows());
    let read = plan.max_rows_read(index.rows());
    let all = RowSet::Range(0..index.rows());
    (read <= most).then(|| (Planner { rows: index.rows(), is_cancelled }.narrowed(plan, all), read))
}

/// Returns `true` if a node matches a row.
pub(super) fn contains(node: &PlanNode, row: u32) -> bool {
    let index = row as usize;
    match node {
        PlanNode::All(parts) => parts.iter().all(|part| contains(part, row)),
        PlanNode::Any(parts) => parts.iter().any(|part| contains(part, row)),
        PlanNode::Ranges(ranges) => ranges[..ranges.partition_point(|range| range.start <= row)]
            .last()
            .is_some_and(|last| row < last.end),
        PlanNode::Texts(texts, codes) => codes.contains(texts.code(index)),
        PlanNode::Ordered { numbers, intervals, .. } | PlanNode::Scanned(numbers, intervals) => {
            intervals.contains(numbers.value(index))
        }
        PlanNode::Ids(ids, positions) => has_id_within(ids, positions, index),
        PlanNode::Rows(rows) => rows.contains(row),
    }
}

impl RowTest for PlanNode {
    fn selects(&self, row: u32) -> bool {
        contains(self, row)
    }

    fn mark(&self, words: &mut [u64], rows: u32) {
        Planner { rows, is_cancelled: &|| false }.unite(self, words);
    }
}

/// Returns `true` if the id of a row is at one of these positions. The id is compared with the ids at the
/// ends of a range, which are in the processor's cache after the first row. No range may be empty.
fn has_id_within(ids: &Ids, positions: &[Range<usize>], row: usize) -> bool {
    let at = |position: usize| ids.bytes(ids.order()[position] as usize);
    let own = ids.bytes(row);
    let begun = positions.partition_point(|range| at(range.start) <= own);
    positions[..begun].last().is_some_and(|range| own <= at(range.end - 1))
}

/// Keeps the subset of `rows` that a node matches. It has no branch that depends on a match, so the processor
/// waits for the values of many rows at once.
fn retain_matches(node: &PlanNode, rows: &mut Vec<u32>) {
    let mut count = 0;
    for index in 0..rows.len() {
        let row = rows[index];
        rows[count] = row;
        count += usize::from(contains(node, row));
    }
    rows.truncate(count);
}

/// Builds row sets of one index. After a cancellation, the remaining sets are empty.
#[derive(Clone, Copy)]
pub(super) struct Planner<'w> {
    pub(super) rows: u32,
    pub(super) is_cancelled: &'w dyn Fn() -> bool,
}

impl Planner<'_> {
    pub(super) fn rows(self, node: PlanNode) -> RowSet {
        match node {
            node if let Some(range) = as_range(&node) => RowSet::Range(range),
            PlanNode::Rows(rows) => rows,
            PlanNode::Texts(texts, codes) if codes.count() <= MAX_MERGED_LISTS => {
                lists(&texts, &codes, &(0..self.rows))
            }
            node if let Some(others) = cheaper_opposite(&node, self.rows) => {
                RowSet::Range(0..self.rows).without(&self.rows(others))
            }
            PlanNode::All(parts) => self.all(&parts),
            node if let Some(count) = counted(&node, self.rows) => {
                RowSet::Tested(LazyRowSet::new(node, count, self.rows))
            }
            node if max_rows(&node, self.rows) < self.rows as usize / SPARSE_RATIO => self.sparse(&node),
            node => RowSet::Bits(Bits::new(self.bits(&node))),
        }
    }

    /// Returns the rows of a node that matches few rows, sorted.
    fn sparse(self, node: &PlanNode) -> RowSet {
        let mut matching = Vec::new();
        self.collect_rows(node, &(0..self.rows), &mut matching);
        sorted(matching)
    }

    /// Appends the rows of a node in no particular order. Rows may repeat, and some may be outside `window`.
    fn collect_rows(self, node: &PlanNode, window: &Range<u32>, matching: &mut Vec<u32>) {
        match node {
            PlanNode::Any(parts) => parts.iter().for_each(|part| self.collect_rows(part, window, matching)),
            PlanNode::All(parts) => self.all(parts).for_each(|row| matching.push(row)),
            PlanNode::Ranges(ranges) => matching.extend(ranges.iter().flat_map(Clone::clone)),
            PlanNode::Texts(texts, codes) if codes.count() <= MAX_MERGED_LISTS => {
                lists(texts, codes, window).for_each(|row| matching.push(row));
            }
            PlanNode::Texts(texts, codes) => {
                codes.ranges.iter().for_each(|range| matching.extend_from_slice(texts.rows(range)));
            }
            PlanNode::Ordered { order, positions, .. } => {
                matching.extend(positions.iter().flat_map(|range| &order[range.clone()]));
            }
            PlanNode::Ids(ids, positions) => {
                matching.extend(positions.iter().flat_map(|range| &ids.order()[range.clone()]));
            }
            PlanNode::Rows(rows) => rows.for_each(|row| matching.push(row)),
            PlanNode::Scanned(_, _) => {
                RowSet::Bits(Bits::new(self.bits(node))).for_each(|row| matching.push(row));
            }
        }
    }

    /// Returns the rows that match all parts. The smallest part comes first.
    fn all(self, parts: &[PlanNode]) -> RowSet {
        let conjunction = Conjunction::new(parts, self.rows);
        let window = conjunction.window.clone();
        let Some((smallest, others)) = conjunction.parts.split_first() else { return RowSet::Range(window) };
        if max_rows(smallest, self.rows) == 0 || (self.is_cancelled)() {
            return RowSet::NONE;
        }
        if let (PlanNode::Texts(texts, codes), []) = (smallest, others)
            && codes.count() <= MAX_MERGED_LISTS
        {
            return lists(texts, codes, &window);
        }
        let intersection = conjunction.plan();
        if conjunction.cost_one_by_one() > intersection.cost {
            return RowSet::Bits(Bits::new(self.intersected(&window, &intersection)));
        }
        if conjunction.is_window_first() {
            let mut matching: Vec<u32> = window.collect();
            for part in &conjunction.parts {
                retain_matches(part, &mut matching);
            }
            return RowSet::List(matching.into());
        }
        let mut matching = Vec::new();
        self.collect_rows(smallest, &window, &mut matching);
        matching.retain(|row| window.contains(row));
        for part in others {
            retain_matches(part, &mut matching);
        }
        sorted(matching)
    }

    fn intersected(self, window: &Range<u32>, intersection: &IntersectionPlan<'_>) -> Vec<u64> {
        let mut words = vec![0; (self.rows as usize).div_ceil(64)];
        fill(&mut words, window.start as usize..window.end as usize);
        for part in &intersection.bitmaps {
            self.intersect(part, &mut words);
        }
        for part in &intersection.probed {
            for (first_row, word) in (0..).step_by(64).zip(&mut words) {
                let mut left = *word;
                while left != 0 {
                    let bit = left.trailing_zeros();
                    left &= left - 1;
                    *word &= !(u64::from(!contains(part, first_row + bit)) << bit);
                }
            }
        }
        words
    }

    /// Returns the rows of a node as a bitmap.
    fn bits(self, node: &PlanNode) -> Vec<u64> {
        let mut words = vec![0; (self.rows as usize).div_ceil(64)];
        self.unite(node, &mut words);
        words
    }

    /// Keeps in `words` only rows that match the node.
    fn intersect(self, node: &PlanNode, words: &mut [u64]) {
        if let PlanNode::Texts(texts, codes) = node
            && codes.count() == 1
            && let Some(bits) = texts.bits(codes.ranges[0].start)
        {
            words.iter_mut().zip(bits).for_each(|(word, own)| *word &= own);
            return;
        }
        let own = self.bits(node);
        words.iter_mut().zip(own).for_each(|(word, own)| *word &= own);
    }

    /// Adds the rows of a node to `words`.
    fn unite(self, node: &PlanNode, words: &mut [u64]) {
        match node {
            _ if (self.is_cancelled)() => {}
            PlanNode::Any(parts) => parts.iter().for_each(|part| self.unite(part, words)),
            PlanNode::All(parts) => unite_rows(&self.all(parts), words),
            PlanNode::Rows(rows) => unite_rows(rows, words),
            PlanNode::Ranges(ranges) => {
                for range in ranges {
                    fill(words, range.start as usize..range.end as usize);
                }
            }
            PlanNode::Texts(texts, codes) => self.unite_texts(texts, codes, words),
            PlanNode::Ordered { numbers, order, positions, intervals } => {
                let (count, rows) = (positions.iter().map(ExactSizeIterator::len).sum(), order.len());
                if cost_of_scans(intervals, rows) < cost_of_rows(count, rows) {
                    scan(numbers, intervals.iter(), words);
                } else {
                    unite_positions(order, positions, words);
                }
            }
            PlanNode::Scanned(numbers, intervals) => scan(numbers, intervals.iter(), words),
            PlanNode::Ids(ids, positions) => unite_positions(ids.order(), positions, words),
        }
    }

    /// Adds the rows of some codes. If they are the majority, adds all rows and removes the rows of the other
    /// codes.
    fn unite_texts(self, texts: &Texts, codes: &CodeRanges, words: &mut [u64]) {
        if codes.rows <= self.rows as usize / 2 {
            return change(texts, &codes.ranges, words, |word, bits| *word |= bits);
        }
        let mut own = vec![0; words.len()];
        fill(&mut own, 0..self.rows as usize);
        change(texts, &codes.complement(texts), &mut own, |word, bits| *word &= !bits);
        unite_words(&own, words);
    }
}

/// Returns the complement of a node with parts, if it matches fewer rows and costs less.
fn cheaper_opposite(node: &PlanNode, rows: u32) -> Option<PlanNode> {
    let has_parts = matches!(node, PlanNode::All(_) | PlanNode::Any(_));
    if !has_parts || min_rows(node, rows) <= rows as usize / 2 {
        return None;
    }
    Some(flattened(opposite(node, rows), rows)).filter(|others| cost(others, rows) < cost(node, rows))
}

/// Adds the rows at some positions of an order. If they are the majority, adds all rows and removes the
/// others.
fn unite_positions(order: &[u32], positions: &[Range<usize>], words: &mut [u64]) {
    if positions.iter().map(ExactSizeIterator::len).sum::<usize>() <= order.len() / 2 {
        return rows_at(order, positions).for_each(|row| set(words, row));
    }
    let mut own = vec![0; words.len()];
    fill(&mut own, 0..order.len());
    for row in rows_at(order, &complement(positions, order.len())) {
        own[row as usize / 64] &= !(1 << (row % 64));
    }
    unite_words(&own, words);
}

fn rows_at(order: &[u32], positions: &[Range<usize>]) -> impl Iterator<Item = u32> {
    positions.iter().flat_map(|range| &order[range.clone()]).copied()
}

/// Applies `change` to the bits of the rows of some codes: by bitmap for a frequent code, row by row for the
/// others.
fn change(texts: &Texts, codes: &[Range<u32>], words: &mut [u64], change: impl Fn(&mut u64, u64)) {
    let one_by_one = |codes: Range<u32>, words: &mut [u64]| {
        for row in texts.rows(&codes) {
            change(&mut words[*row as usize / 64], 1 << (row % 64));
        }
    };
    for range in codes {
        let mut from = range.start;
        for code in texts.frequent(range) {
            one_by_one(from..*code, words);
            if let Some(bits) = texts.bits(*code) {
                words.iter_mut().zip(bits).for_each(|(word, own)| change(word, *own));
            }
            from = code + 1;
        }
        one_by_one(from..range.end, words);
    }
}

fn scan(numbers: &Numbers, intervals: impl Iterator<Item = (i64, i64)>, words: &mut [u64]) {
    intervals.for_each(|interval| numbers.mark_between(interval, words));
}

fn unite_rows(rows: &RowSet, words: &mut [u64]) {
    match rows.words() {
        Some(own) => unite_words(own, words),
        None => rows.for_each(|row| set(words, row)),
    }
}

fn unite_words(own: &[u64], words: &mut [u64]) {
    words.iter_mut().zip(own).for_each(|(word, own)| *word |= own);
}

fn set(words: &mut [u64], row: u32) {
    words[row as usize / 64] |= 1 << (row % 64);
}

/// Returns the rows of a few codes within a range, shared with the index.
fn lists(texts: &Texts, codes: &CodeRanges, window: &Range<u32>) -> RowSet {
    let each = codes.ranges.iter().flat_map(Clone::clone);
    let mut lists: Vec<_> = each.map(|code| within(texts.row_list(code), window)).collect();
    if lists.len() == 1 { RowSet::List(lists.remove(0)) } else { RowSet::Lists(lists) }
}

/// Returns the part of an ascending list that is in a range.
fn within(list: RowList, range: &Range<u32>) -> RowList {
    let position = |bound: u32| list.partition_point(|row| *row < bound);
    // Most ranges contain the whole list, which its ends show.
    let start = if range.start == 0 { 0 } else { position(range.start) };
    let end = if list.last().is_none_or(|last| *last < range.end) { list.len() } else { position(range.end) };
    list.slice(start, end)
}

fn sorted(mut rows: Vec<u32>) -> RowSet {
    rows.sort_unstable();
    rows.dedup();
    RowSet::List(rows.into())
}
