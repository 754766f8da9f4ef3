//! Cached costs of the traces of segments.
//!
//! A segment never changes, and a process has one price table, so the costs of its traces never change.

use std::sync::{Arc, LazyLock};

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::Segment;
use crate::error::{Error, Result};
use crate::index::spans::CostColumn;
use crate::storage::options::IndexKind;
use crate::trace::view::TraceView;

/// The memory limit of all cached columns of the process in bytes: the columns of ten million traces. The
/// least recently used columns are evicted.
const MAX_BYTES: u64 = 128 << 20;
/// The expected number of columns.
const EXPECTED_COLUMNS: usize = 64;

/// The cached columns, by the number of the open segment.
static CACHE: LazyLock<Cache<u64, Arc<CostColumn>, BySize>> =
    LazyLock::new(|| Cache::with_weighter(EXPECTED_COLUMNS, MAX_BYTES, BySize));

#[derive(Clone)]
struct BySize;

impl Weighter<u64, Arc<CostColumn>> for BySize {
    fn weight(&self, _: &u64, costs: &Arc<CostColumn>) -> u64 {
        (size_of::<CostColumn>() + costs.bytes()) as u64
    }
}

impl Segment {
    /// Returns the number of documents that [`Segment::costs`] would read.
    pub(crate) fn documents_of_costs(&self) -> usize {
        let is_known = self.has_index(IndexKind::Spans) || CACHE.peek(&self.filter_cache.segment()).is_some();
        if is_known { 0 } else { self.count() as usize }
    }

    /// Returns the costs of the traces of all rows, from the span table or otherwise from the documents. The
    /// cost of a trace with a damaged document is unknown.
    ///
    /// # Errors
    /// [`Error::Cancelled`], [`Error::Storage`].
    pub(crate) fn costs(&self, is_cancelled: &dyn Fn() -> bool) -> Result<Arc<CostColumn>> {
        let key = self.filter_cache.segment();
        if let Some(cached) = CACHE.get(&key) {
            return Ok(cached);
        }
        let table = self.of_documents.spans.load_full();
        let costs = table.map_or_else(|| self.costs_of_documents(is_cancelled), |table| Ok(table.costs()))?;
        let costs = Arc::new(costs);
        CACHE.insert(key, costs.clone());
        Ok(costs)
    }

    fn costs_of_documents(&self, is_cancelled: &dyn Fn() -> bool) -> Result<CostColumn> {
        let cost = |row: usize| {
            if is_cancelled() {
                return Err(Error::Cancelled);
            }
            match self.trace(row) {
                Ok(trace) => TraceView::of(&trace.assembled()).cost().map(Some),
                Err(Error::Damage { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        };
        (0..self.count() as usize).map(cost).collect()
    }
}
