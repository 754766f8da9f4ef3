//! The rows of segments that filters were found to match by a look at documents, kept for when they are asked again: for
//! the next page, a count of values, a chart.
//!
//! A segment never changes, so what a filter matches in it never does. A set has the deleted rows that match as well:
//! snapshots differ in what is deleted, and whoever reads a set leaves out what is deleted in its own. A filter is known
//! by its caller and its canonical form, which has the caller's restriction in it. Only numbers of rows are kept, nothing
//! of what is stored.

mod tenant_lru_cache;

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use self::tenant_lru_cache::{FilterCacheKey, TenantLruCache};
use crate::error::Result;
use crate::filter::Filter;
use crate::index::RowSet;

/// The memory of all kept sets of the process, in bytes.
const MAX_BYTES: u64 = 64 << 20;

static KEPT: LazyLock<TenantLruCache> = LazyLock::new(|| TenantLruCache::new(MAX_BYTES));
static OPENED: AtomicU64 = AtomicU64::new(0);

/// What is kept of one open segment.
#[derive(Debug)]
pub(crate) struct KeptRows {
    /// No other segment that this process opens has it.
    segment: u64,
}

impl KeptRows {
    /// Returns what is kept of a segment that is just opened: nothing.
    pub(crate) fn new() -> Self {
        Self { segment: OPENED.fetch_add(1, Ordering::Relaxed) }
    }

    /// Returns the number that no other segment has which this process opens.
    pub(crate) fn segment(&self) -> u64 {
        self.segment
    }

    /// Returns the rows that `filter` matches, if they are kept.
    pub(crate) fn get(&self, filter: &Filter) -> Option<RowSet> {
        KEPT.get(filter.caller(), &self.key(filter)).map(|rows| rows.as_ref().clone())
    }

    /// Returns the rows that `filter` matches: kept ones, those that another search of its caller is finding now, or what
    /// `find` finds, which is kept. So a page, its counts and its charts, which are asked for at once, look at documents
    /// once.
    ///
    /// # Errors
    /// Those of `find`; [`crate::error::Error::Cancelled`] if `is_cancelled` returns true while the other search is waited
    /// for.
    pub(crate) fn get_or_find(
        &self,
        filter: &Filter,
        is_cancelled: &dyn Fn() -> bool,
        find: impl FnOnce() -> Result<RowSet>,
    ) -> Result<RowSet> {
        let rows = KEPT.get_or_find(filter.caller(), self.key(filter), is_cancelled, find)?;
        Ok(rows.as_ref().clone())
    }

    /// Keeps the rows that `filter` matches.
    pub(crate) fn keep(&self, filter: &Filter, rows: RowSet) {
        KEPT.keep(filter.caller(), self.key(filter), rows.into());
    }

    fn key(&self, filter: &Filter) -> FilterCacheKey {
        (self.segment, filter.canonical().into())
    }
}

impl Drop for KeptRows {
    fn drop(&mut self) {
        KEPT.forget(self.segment);
    }
}
