//! The filter cache: segment rows that filters match after document checks, cached for the next page, facet
//! or chart.
//!
//! A segment never changes, so the rows that a filter matches in it never change. A cached set includes
//! deleted rows that match. Snapshots differ in their deleted rows, and each reader removes the deleted rows
//! of its own snapshot. The key of a set is the caller and the canonical form of the filter, which includes
//! the caller's restriction. Only row numbers are cached, no stored data.

mod tenant_lru_cache;

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use self::tenant_lru_cache::{FilterCacheKey, TenantLruCache};
use crate::bitmap::RowSet;
use crate::error::Result;
use crate::filter::Filter;

/// The memory limit of all cached sets of the process, in bytes.
const MAX_BYTES: u64 = 64 << 20;

static CACHE: LazyLock<TenantLruCache> = LazyLock::new(|| TenantLruCache::new(MAX_BYTES));
static OPENED: AtomicU64 = AtomicU64::new(0);

/// The filter cache of one open segment.
#[derive(Debug)]
pub(crate) struct FilterCache {
    /// A number that is unique among all segments that this process opens.
    segment: u64,
}

impl FilterCache {
    /// Returns an empty cache for a segment that is just opened.
    pub(crate) fn new() -> Self {
        Self { segment: OPENED.fetch_add(1, Ordering::Relaxed) }
    }

    /// Returns a number that is unique among all segments that this process opens.
    pub(crate) fn segment(&self) -> u64 {
        self.segment
    }

    /// Returns the rows that `filter` matches, if they are cached.
    pub(crate) fn get(&self, filter: &Filter) -> Option<RowSet> {
        CACHE.get(filter.caller(), &self.key(filter)).map(|rows| rows.as_ref().clone())
    }

    /// Returns the rows that `filter` matches: from the cache, from a concurrent search of the same caller,
    /// or from `find`, whose result is cached. Thus concurrent requests for a page, its facets and its charts
    /// check documents once.
    ///
    /// # Errors
    /// The errors of `find`; [`crate::error::Error::Cancelled`] if `is_cancelled` returns true while waiting
    /// for the other search.
    pub(crate) fn get_or_find(
        &self,
        filter: &Filter,
        is_cancelled: &dyn Fn() -> bool,
        find: impl FnOnce() -> Result<RowSet>,
    ) -> Result<RowSet> {
        let rows = CACHE.get_or_find(filter.caller(), self.key(filter), is_cancelled, find)?;
        Ok(rows.as_ref().clone())
    }

    /// Caches the rows that `filter` matches.
    pub(crate) fn keep(&self, filter: &Filter, rows: RowSet) {
        CACHE.keep(filter.caller(), self.key(filter), rows.into());
    }

    fn key(&self, filter: &Filter) -> FilterCacheKey {
        (self.segment, filter.canonical().into())
    }
}

impl Drop for FilterCache {
    fn drop(&mut self) {
        CACHE.forget(self.segment);
    }
}
