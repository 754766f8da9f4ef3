//! The rows of segments that filters were found to match by a look at documents, kept for when they are asked again: for
//! the next page, a count of values, a chart.
//!
//! A segment never changes, so what a filter matches in it never does. A set has the deleted rows that match as well:
//! snapshots differ in what is deleted, and whoever reads a set leaves out what is deleted in its own. A filter is known
//! by its canonical form, which has the caller's restriction in it. Only numbers of rows are kept, nothing of what is
//! stored.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quick_cache::Weighter;
use quick_cache::sync::{Cache, GuardResult};

use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::index::RowSet;

/// The memory of all kept sets of the process, in bytes. The least used make place for others.
const MAX_BYTES: u64 = 64 << 20;
/// How often a search that waits for another one is asked whether it is cancelled.
const WAIT: Duration = Duration::from_millis(20);
/// About so many sets are expected.
const EXPECTED_SETS: usize = 1_024;

static KEPT: LazyLock<Cache<Key, RowSet, BySize>> =
    LazyLock::new(|| Cache::with_weighter(EXPECTED_SETS, MAX_BYTES, BySize));
static OPENED: AtomicU64 = AtomicU64::new(0);

/// An open segment, and the canonical form of a filter.
type Key = (u64, String);

#[derive(Clone)]
struct BySize;

impl Weighter<Key, RowSet> for BySize {
    fn weight(&self, (_, filter): &Key, rows: &RowSet) -> u64 {
        let rows = match rows {
            RowSet::Bits(bits) => size_of_val(bits.words()),
            rows => rows.count() * size_of::<u32>(),
        };
        (size_of::<Key>() + filter.len() + rows) as u64
    }
}

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
        KEPT.get(&(self.segment, filter.canonical()))
    }

    /// Returns the rows that `filter` matches: kept ones, those that another search is finding now, or what `find` finds,
    /// which is kept. So a page, its counts and its charts, which are asked for at once, look at documents once.
    ///
    /// # Errors
    /// Those of `find`; [`Error::Cancelled`] if `is_cancelled` returns true while the other search is waited for.
    pub(crate) fn get_or_find(
        &self,
        filter: &Filter,
        is_cancelled: &dyn Fn() -> bool,
        find: impl FnOnce() -> Result<RowSet>,
    ) -> Result<RowSet> {
        let key = (self.segment, filter.canonical());
        loop {
            match KEPT.get_value_or_guard(&key, Some(WAIT)) {
                GuardResult::Value(rows) => return Ok(rows),
                GuardResult::Guard(guard) => {
                    let rows = find()?;
                    // Another search may have kept them meanwhile: they are the same.
                    let _kept = guard.insert(rows.clone());
                    return Ok(rows);
                }
                GuardResult::Timeout if is_cancelled() => return Err(Error::Cancelled),
                GuardResult::Timeout => {}
            }
        }
    }

    /// Keeps the rows that `filter` matches.
    pub(crate) fn keep(&self, filter: &Filter, rows: RowSet) {
        KEPT.insert((self.segment, filter.canonical()), rows);
    }
}
