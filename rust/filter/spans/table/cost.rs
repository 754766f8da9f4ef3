//! Decides conditions of a trace by what is known of its spans: which there are, and what they cost.

use super::node::SpanIndexes;
use super::rows::SpansTest;
use crate::filter::spans::predicate::SpanTest;
use crate::filter::spans::truth::{TernaryMask, Truth};
use crate::index::RowBlock;
use crate::span_table::TableCalls;

/// A condition in terms of one table.
#[derive(Debug)]
pub(in crate::filter) enum TableTest<'t> {
    /// What is true of its spans.
    Spans(SpansTest<'t>),
    /// What the trace cost.
    Cost(Box<TableCalls<'t>>, SpanTest),
}

impl SpanTest {
    /// Returns the test in terms of a segment; `None` if what is known of its spans says nothing of it.
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
    /// Returns whether what holds of each of these rows, which ascend, is `wanted`, true or false; unknown where the trace
    /// itself must be looked at.
    pub(in crate::filter) fn matches(&self, rows: &RowBlock<'_>, wanted: Truth) -> TernaryMask {
        match self {
            Self::Spans(test) => test.are(wanted, rows),
            // A cost that is not known is neither above nor below an amount, and a look at the trace says no more.
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
