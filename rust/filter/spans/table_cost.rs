//! Decides conditions of a trace by the span table of a segment: how many spans there are, and what they cost.

use super::predicate::SpanTest;
use super::table::SpanCountTest;
use super::truth::Truth;
use crate::span_table::{SpanTable, TableCalls};

/// A condition in terms of one table.
#[derive(Debug)]
pub(in crate::filter) enum TableTest<'t> {
    /// How many spans a predicate is true of.
    Count(SpanCountTest<'t>),
    /// What the trace cost.
    Cost(TableCalls<'t>, SpanTest),
}

impl SpanTest {
    /// Returns the test in terms of a table; `None` if the table says nothing of it.
    pub(in crate::filter) fn in_table<'t>(&self, table: &'t SpanTable) -> Option<TableTest<'t>> {
        match self {
            Self::Cost(_, _) | Self::HasCost(_) => Some(TableTest::Cost(table.calls(), self.clone())),
            _ => self.count_in_table(table).map(TableTest::Count),
        }
    }
}

impl TableTest<'_> {
    /// Returns whether what holds of each of these rows, which ascend, is `wanted`, true or false; unknown where the trace
    /// itself must be looked at.
    pub(in crate::filter) fn matches(&self, rows: &[u32], wanted: Truth) -> Vec<Truth> {
        match self {
            Self::Count(test) if wanted == Truth::True => test.truths(rows),
            Self::Count(test) => test.truths(rows).into_iter().map(Truth::not).collect(),
            // A cost that is not known is neither above nor below an amount, and a look at the trace says no more.
            Self::Cost(calls, test) => {
                let is_wanted = |cost| Truth::of(test.of_cost(cost) == Some(wanted));
                rows.iter().map(|row| calls.cost(*row).map_or(Truth::Unknown, is_wanted)).collect()
            }
        }
    }
}
