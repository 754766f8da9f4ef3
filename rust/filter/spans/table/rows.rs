//! Evaluates tests of traces for the rows of a segment, by their spans.

use std::ops::Range;

use super::node::{EvalMode, SpanIndexes, SpanQuery, SpanTableNode};
use crate::bitmap::{Bitmap, RowBlock};
use crate::filter::spans::predicate::SpanTest;
use crate::filter::spans::truth::{TernaryMask, Truth};
use crate::index::attributes::AttributeIndex;
use crate::index::spans::{SpanBlock, SpanTable};

/// Maximum number of rows of a block, so that its bitmaps fit into the first-level cache.
const BLOCK_ROWS: u32 = 4_096;
/// Rows of a list with at most this mean gap share one block. The rows between them cost less than another
/// block.
const MAX_MEAN_GAP: usize = 64;
/// Adjacent rows with at most this gap also share a block.
const MAX_GAP: u32 = 8;

/// A test of traces in terms of one segment.
#[derive(Debug)]
pub(in crate::filter) struct SpansTest<'t> {
    table: &'t SpanTable,
    node: SpanTableNode<'t>,
    quantifier: SpanQuantifier<'t>,
    /// True if no row needs a document check.
    is_decided: bool,
}

/// The spans to which a test applies.
#[derive(Debug)]
enum SpanQuantifier<'t> {
    /// All spans: the number of matching ones must be within bounds.
    Count { at_least: u64, at_most: Option<u64> },
    /// The run root.
    RunRoot(&'t AttributeIndex),
}

impl SpanTest {
    /// Returns the test in terms of one segment; `None` if its span indexes cannot decide anything about
    /// it.
    pub(in crate::filter::spans) fn spans_in_table<'t>(
        &self,
        indexes: SpanIndexes<'t>,
    ) -> Option<SpansTest<'t>> {
        let table = indexes.table;
        let (node, quantifier) = match self {
            Self::Count { predicate, at_least, at_most } => {
                let quantifier = SpanQuantifier::Count { at_least: *at_least, at_most: *at_most };
                (SpanTableNode::of(predicate, indexes), quantifier)
            }
            Self::Attribute(test) => {
                let attributes = indexes.attributes?;
                (SpanTableNode::Attribute(test.marked(attributes)?), SpanQuantifier::RunRoot(attributes))
            }
            _ => return None,
        };
        let is_decided = node.is_decided(table);
        Some(SpansTest { table, node, quantifier, is_decided })
    }
}

impl SpansTest<'_> {
    /// Compares the truth for each of `rows` with `wanted`. The result is unknown for a row that needs a
    /// document check. `rows` must ascend.
    pub(super) fn are(&self, wanted: Truth, rows: &RowBlock<'_>) -> TernaryMask {
        let mut truths = TernaryMask::unknown(0..rows.len());
        let mut first = 0;
        while first < rows.len() {
            let end = first + length_of_run(&rows.slice(first..rows.len()));
            let run = rows.slice(first..end);
            let block = self.table.block(run.clone());
            match &self.quantifier {
                SpanQuantifier::Count { at_least, at_most } => {
                    let counted = self.of_counted(&block, *at_least, *at_most);
                    truths.yes.insert_words(first, counted.yes.words());
                    truths.no.insert_words(first, counted.no.words());
                }
                SpanQuantifier::RunRoot(attributes) => {
                    let run_root = |row| Some(block.ordinals_of(row).start + attributes.run_root(row)?);
                    let of_roots = self.of_run_roots(&block, wanted, &run, run_root);
                    (first..).zip(of_roots).for_each(|(position, truth)| truths.insert(position, truth));
                }
            }
            first = end;
        }
        let is_negated = wanted == Truth::False && matches!(self.quantifier, SpanQuantifier::Count { .. });
        truths.negated_if(is_negated)
    }

    /// Returns the number of spans of each row for which the predicate is true; `None` for a row that needs a
    /// document check. `rows` must ascend.
    pub(in crate::filter) fn counts(&self, rows: &[u32]) -> Vec<Option<u64>> {
        let rows = RowBlock::List(rows);
        let mut counts = Vec::with_capacity(rows.len());
        while counts.len() < rows.len() {
            let rest = rows.slice(counts.len()..rows.len());
            let run = rest.slice(0..length_of_run(&rest));
            let block = self.table.block(run.clone());
            let all = block.all();
            let matching = |bound| self.node.ordinals(&block, &all, SpanQuery::all(bound));
            let least = matching(EvalMode::LowerBound);
            let most = (!self.is_decided).then(|| matching(EvalMode::UpperBound));
            for row in run.iter() {
                let ordinals = block.ordinals_of(row);
                let count = least.count(ordinals.clone());
                let is_certain = most.as_ref().is_none_or(|most| most.count(ordinals) == count);
                counts.push((is_certain && !self.table.is_unreadable(row)).then_some(count));
            }
        }
        counts
    }

    /// Returns the truth for each row of a block, by its position.
    fn of_counted(&self, block: &SpanBlock<'_>, at_least: u64, at_most: Option<u64>) -> TernaryMask {
        let is_any = (at_least, at_most) == (1, None);
        let all = block.all();
        let matching = |bound| self.node.ordinals(block, &all, SpanQuery { is_any, ..SpanQuery::all(bound) });
        let least = matching(EvalMode::LowerBound);
        let most = (!self.is_decided).then(|| matching(EvalMode::UpperBound));
        let most = most.as_ref().unwrap_or(&least);
        let (mut yes, mut no) = if self.is_decided {
            let yes = if is_any {
                block.rows_with(&least)
            } else {
                block.rows_with_counts(&least, at_least..=at_most.unwrap_or(u64::MAX))
            };
            let no = yes.complement();
            (yes, no)
        } else if is_any {
            (block.rows_with(&least), block.rows_with(most).complement())
        } else {
            let fits = |count| at_most.is_none_or(|at_most| count <= at_most);
            let is_certain = |ordinals: Range<usize>| {
                least.count(ordinals.clone()) >= at_least && fits(most.count(ordinals))
            };
            let is_impossible = |ordinals: Range<usize>| {
                most.count(ordinals.clone()) < at_least || !fits(least.count(ordinals))
            };
            (block.rows_of(is_certain), block.rows_of(is_impossible))
        };
        if self.table.has_unreadable(block.range()) {
            for (position, _) in block.rows().enumerate().filter(|(_, row)| self.table.is_unreadable(*row)) {
                yes.remove(position);
                no.remove(position);
            }
        }
        TernaryMask { yes, no }
    }

    /// Compares the truth for the run root of each row with `wanted`.
    fn of_run_roots(
        &self,
        block: &SpanBlock<'_>,
        wanted: Truth,
        rows: &RowBlock<'_>,
        run_root: impl Fn(u32) -> Option<usize>,
    ) -> Vec<Truth> {
        let mut run_roots = Bitmap::none(block.ordinals());
        rows.iter().filter_map(&run_root).for_each(|ordinal| run_roots.insert(ordinal));
        let wanted = wanted == Truth::True;
        let [least, most] = [EvalMode::LowerBound, EvalMode::UpperBound].map(|bound| {
            self.node.ordinals(block, &run_roots, SpanQuery { wanted, ..SpanQuery::all(bound) })
        });
        let of_row = |row: u32| match run_root(row) {
            _ if self.table.is_unreadable(row) => Truth::Unknown,
            Some(ordinal) if least.contains(ordinal) => Truth::True,
            Some(ordinal) if most.contains(ordinal) => Truth::Unknown,
            Some(_) | None => Truth::False,
        };
        rows.iter().map(of_row).collect()
    }
}

/// Returns the number of rows, from the first one, that share a block.
fn length_of_run(rows: &RowBlock<'_>) -> usize {
    let last_of_block = |row: u32| row / BLOCK_ROWS * BLOCK_ROWS + (BLOCK_ROWS - 1);
    match rows {
        RowBlock::Range(range) => {
            (last_of_block(range.start) - range.start + 1).min(range.end - range.start) as usize
        }
        RowBlock::List(rows) => {
            let last = last_of_block(rows[0]);
            let in_block = rows.partition_point(|row| *row <= last);
            if (rows[in_block - 1] - rows[0]) as usize <= in_block * MAX_MEAN_GAP {
                return in_block;
            }
            let is_near = |pair: &[u32]| pair[1] - pair[0] <= MAX_GAP;
            1 + rows[..in_block].windows(2).take_while(|pair| is_near(pair)).count()
        }
    }
}
