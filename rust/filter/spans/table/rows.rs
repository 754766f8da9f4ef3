//! Which rows of a segment a test of traces is true of, by their spans.

use super::node::{Bound, Node, Sought, SpanIndexes};
use crate::attribute_index::AttributeIndex;
use crate::filter::spans::predicate::SpanTest;
use crate::filter::spans::truth::{Truth, Truths};
use crate::index::RowBlock;
use crate::span_table::{PlaceSet, SpanBlock, SpanTable};

/// The most rows of a block: what is known of its spans fits into the first-level cache.
const BLOCK_ROWS: u32 = 4_096;
/// Rows that are at most so far from each other are decided together, those between them included.
const MAX_GAP: u32 = 8;

/// A test of traces in terms of one segment.
#[derive(Debug)]
pub(in crate::filter) struct SpansTest<'t> {
    table: &'t SpanTable,
    node: Node<'t>,
    asked: Asked<'t>,
    /// Whether no trace has to be looked at.
    is_decided: bool,
}

/// Which spans are asked.
#[derive(Debug)]
enum Asked<'t> {
    /// How many of all the predicate is true of.
    Count { at_least: u64, at_most: Option<u64> },
    /// The run root.
    RunRoot(&'t AttributeIndex),
}

impl SpanTest {
    /// Returns the test in terms of a segment; `None` if what is known of its spans says nothing of it.
    pub(in crate::filter::spans) fn spans_in_table<'t>(
        &self,
        indexes: SpanIndexes<'t>,
    ) -> Option<SpansTest<'t>> {
        let table = indexes.table;
        let (node, asked) = match self {
            Self::Count { predicate, at_least, at_most } => {
                let asked = Asked::Count { at_least: *at_least, at_most: *at_most };
                (Node::of(predicate, indexes), asked)
            }
            Self::Attribute(test) => {
                let attributes = indexes.attributes?;
                (Node::Attribute(test.marked(attributes)?), Asked::RunRoot(attributes))
            }
            _ => return None,
        };
        let is_decided = node.is_decided(table);
        Some(SpansTest { table, node, asked, is_decided })
    }
}

impl SpansTest<'_> {
    /// Returns whether what holds of each of these rows, which ascend, is `wanted`; unknown where the trace itself must be
    /// looked at.
    pub(super) fn are(&self, wanted: Truth, rows: &RowBlock<'_>) -> Truths {
        let mut truths = Truths::unknown(0..rows.len());
        let mut first = 0;
        while first < rows.len() {
            let end = first + length_of_run(&rows.slice(first..rows.len()));
            let run = rows.slice(first..end);
            let block = self.table.block(run.row(0)..run.row(run.len() - 1) + 1);
            match &self.asked {
                Asked::Count { .. } => self.of_counted((&block, &run), first, &mut truths),
                Asked::RunRoot(attributes) => {
                    let run_root = |row| Some(block.places_of(row).start + attributes.run_root(row)?);
                    let of_roots = self.of_run_roots(&block, wanted, &run, run_root);
                    (first..).zip(of_roots).for_each(|(position, truth)| truths.insert(position, truth));
                }
            }
            first = end;
        }
        let is_negated = wanted == Truth::False && matches!(self.asked, Asked::Count { .. });
        truths.negated_if(is_negated)
    }

    /// Returns of how many spans of each of these rows, which ascend, the predicate is true; `None` where the trace itself
    /// must be looked at.
    pub(in crate::filter) fn counts(&self, rows: &[u32]) -> Vec<Option<u64>> {
        let rows = RowBlock::List(rows);
        let mut counts = Vec::with_capacity(rows.len());
        while counts.len() < rows.len() {
            let rest = rows.slice(counts.len()..rows.len());
            let run = rest.slice(0..length_of_run(&rest));
            let block = self.table.block(run.row(0)..run.row(run.len() - 1) + 1);
            let all = PlaceSet::all(block.places());
            let found = |bound| self.node.truths(&block, &all, Sought::all(bound)).yes;
            let least = found(Bound::Least);
            let most = (!self.is_decided).then(|| found(Bound::Most));
            for row in run.iter() {
                let places = block.places_of(row);
                let count = least.count(places.clone());
                let is_certain = most.as_ref().is_none_or(|most| most.count(places) == count);
                counts.push((is_certain && !self.table.is_unreadable(row)).then_some(count));
            }
        }
        counts
    }

    /// Says of the rows of a block, by their positions from `first` on, whether the predicate is true of as many spans as
    /// asked.
    fn of_counted(&self, (block, run): (&SpanBlock<'_>, &RowBlock<'_>), first: usize, truths: &mut Truths) {
        let is_any = matches!(self.asked, Asked::Count { at_least: 1, at_most: None });
        let all = PlaceSet::all(block.places());
        let found = |bound| self.node.truths(block, &all, Sought { bound, is_any }).yes;
        let least = found(Bound::Least);
        let most = (!self.is_decided).then(|| found(Bound::Most));
        let is_none = least.is_empty() && most.as_ref().is_none_or(PlaceSet::is_empty);
        let count = |set: &PlaceSet, places| {
            if is_any { u64::from(set.has_any(places)) } else { set.count(places) }
        };
        for (position, row) in (first..).zip(run.iter()) {
            let counts = if is_none {
                [0, 0]
            } else {
                let places = block.places_of(row);
                let at_least = count(&least, places.clone());
                [at_least, most.as_ref().map_or(at_least, |most| count(most, places))]
            };
            truths.insert(position, self.of_counts(row, counts));
        }
    }

    /// Returns what holds of a row of which the predicate is true of at least and at most so many spans.
    fn of_counts(&self, row: u32, [least, most]: [u64; 2]) -> Truth {
        let Asked::Count { at_least, at_most } = self.asked else { return Truth::Unknown };
        let fits = |count| at_most.is_none_or(|at_most| count <= at_most);
        if self.table.is_unreadable(row) {
            Truth::Unknown
        } else if least >= at_least && fits(most) {
            Truth::True
        } else if most < at_least || !fits(least) {
            Truth::False
        } else {
            Truth::Unknown
        }
    }

    /// Returns whether what holds of the run roots of these rows of a block is `wanted`.
    fn of_run_roots(
        &self,
        block: &SpanBlock<'_>,
        wanted: Truth,
        rows: &RowBlock<'_>,
        run_root: impl Fn(u32) -> Option<usize>,
    ) -> Vec<Truth> {
        let mut asked = PlaceSet::none(block.places());
        rows.iter().filter_map(&run_root).for_each(|place| asked.insert(place));
        let [least, most] = [Bound::Least, Bound::Most].map(|bound| {
            let bound = if wanted == Truth::True { bound } else { bound.other() };
            let truths = self.node.truths(block, &asked, Sought::all(bound));
            if wanted == Truth::True { truths.yes } else { truths.no }
        });
        let of_row = |row: u32| match run_root(row) {
            _ if self.table.is_unreadable(row) => Truth::Unknown,
            Some(place) if least.contains(place) => Truth::True,
            Some(place) if most.contains(place) => Truth::Unknown,
            Some(_) | None => Truth::False,
        };
        rows.iter().map(of_row).collect()
    }
}

/// Returns how many rows, from the first on, are decided together.
fn length_of_run(rows: &RowBlock<'_>) -> usize {
    let last_of_block = |row: u32| row / BLOCK_ROWS * BLOCK_ROWS + (BLOCK_ROWS - 1);
    match rows {
        RowBlock::Range(range) => {
            (last_of_block(range.start) - range.start + 1).min(range.end - range.start) as usize
        }
        RowBlock::List(rows) => {
            let last = last_of_block(rows[0]);
            let is_near = |pair: &[u32]| pair[1] - pair[0] <= MAX_GAP && pair[1] <= last;
            1 + rows.windows(2).take_while(|pair| is_near(pair)).count()
        }
    }
}
