//! Counts the matching spans of single rows by the indexes of a segment.

use super::verify::Indexes;
use crate::filter::spans::{SpanFilter, SpansTest};

/// A condition on spans in terms of one segment's indexes.
#[derive(Debug)]
pub struct SpanCounter<'i>(Option<SpansTest<'i>>);

impl<'i> SpanCounter<'i> {
    /// Returns the counter for the spans that a filter matches.
    pub fn new(spans: &SpanFilter, indexes: Indexes<'i>) -> Self {
        Self(indexes.of_spans().and_then(|indexes| spans.in_table(indexes)))
    }

    /// Returns the number of matching spans of each row; `None` for a row that needs a document check. `rows`
    /// must ascend.
    pub fn counts(&self, rows: &[u32]) -> Vec<Option<u64>> {
        self.0.as_ref().map_or_else(|| vec![None; rows.len()], |test| test.counts(rows))
    }
}
