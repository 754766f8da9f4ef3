//! Counts the spans of single rows of which a condition is true, by what is known of a segment.

use super::verify::Indexes;
use crate::filter::spans::{SpanFilter, SpansTest};

/// A condition on spans in terms of the indexes of one segment.
#[derive(Debug)]
pub struct SpanCounter<'i>(Option<SpansTest<'i>>);

impl<'i> SpanCounter<'i> {
    /// Returns the counter of the spans that a filter matches.
    pub fn new(spans: &SpanFilter, indexes: Indexes<'i>) -> Self {
        Self(indexes.of_spans().and_then(|indexes| spans.in_table(indexes)))
    }

    /// Returns how many spans of each of these rows, which ascend, match; `None` where the document must be looked at.
    pub fn counts(&self, rows: &[u32]) -> Vec<Option<u64>> {
        self.0.as_ref().map_or_else(|| vec![None; rows.len()], |test| test.counts(rows))
    }
}
