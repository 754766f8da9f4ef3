//! Evaluates conditions on traces by the spans of a table and their cost.

use super::node::SpanIndexes;
use super::rows::SpansTest;
use crate::bitmap::RowBlock;
use crate::filter::spans::predicate::SpanTest;
use crate::filter::spans::truth::{TernaryMask, Truth};
use crate::index::spans::TableCalls;

/// A condition in terms of one table.
#[derive(Debug)]
pub(in crate::filter) enum TableTest<'t> {
    /// A condition on the spans.
    Spans(SpansTest<'t>),
    /// A condition on the cost of the trace.
    Cost(Box<TableCalls<'t>>, SpanTest),
}

impl SpanTest {
    /// Returns the test in terms of one segment; `None` if its span indexes cannot decide anything about
    /// it.
    pub(in crate::filter) fn in_table<'t>(&self, indexes: SpanIndexes<'t>) -> Option<TableTest<'t>> {
        match self {
            Self::Cost(_, _) | Self::HasCost(_) => {
                Some(TableTest::Cost(Box::new(indexes.table.calls()), self.clone()))
            }
            _ => self.spans_in_table(indexes).map(TableTest::Spans),
        }
    }
}

impl TableTest<'_> {
    /// Compares the truth for each of `rows` with `wanted`, true or false. The result is unknown for a row that
    /// needs a document check. `rows` must ascend.
    pub(in crate::filter) fn matches(&self, rows: &RowBlock<'_>, wanted: Truth) -> TernaryMask {
        match self {
            Self::Spans(test) => test.are(wanted, rows),
            // A NULL cost fails every comparison, and a document check would not change that.
            Self::Cost(calls, test) => {
                let fits = |cost| Truth::of(test.of_cost(cost) == Some(wanted));
                let mut truths = TernaryMask::unknown(0..rows.len());
                for (position, row) in rows.iter().enumerate() {
                    truths.insert(position, calls.cost(row).map_or(Truth::Unknown, fits));
                }
                truths
            }
        }
    }
}
