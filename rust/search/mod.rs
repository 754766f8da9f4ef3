//! Pages of runs, of sessions: how does a filter become a page?
//!
//! Decide on slim columns, order, cut the page, and only then read documents and build trees for
//! what the page shows (design, section 7). A search works on one immutable snapshot, so no page
//! mixes two states.

mod merge;
mod numbered;
mod pool;
mod runs;
mod selection;
mod sessions;

use std::sync::atomic::{AtomicBool, Ordering};

pub use runs::{ids, limit_pages, runs, span, trace};
pub use sessions::sessions;

use crate::error::{Error, Result};

/// The most items a page may have.
pub const MAX_LIMIT: usize = 100;

/// Which page is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    /// Counted from one.
    pub page: u64,
    /// Items on a page, 1 to [`MAX_LIMIT`].
    pub limit: usize,
}

impl PageRequest {
    /// Returns how many items stand before this page; the greatest number if there are more.
    fn offset(self) -> u64 {
        let limit = u64::try_from(self.limit).unwrap_or(u64::MAX);
        self.page.saturating_sub(1).saturating_mul(limit)
    }
}

/// How much of a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// `TraceDetail`: with output, error and the tree.
    Full,
    /// `TraceSummary`: without them.
    Summary,
}

/// One page of answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// A finished JSON array.
    pub data: Vec<u8>,
    /// Items on all pages together, exact.
    pub total_count: u64,
}

/// Withdraws a search that is under way.
#[derive(Debug, Default)]
pub struct CancellationToken(AtomicBool);

impl CancellationToken {
    /// Withdraws the search; it ends soon with [`Error::Cancelled`].
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the search was cancelled.
    fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }
}

/// Returns `items` as a JSON array; each is a finished JSON value.
fn json_array(items: &[Vec<u8>]) -> Vec<u8> {
    let bytes: usize = items.iter().map(|item| item.len() + 1).sum();
    let mut array = Vec::with_capacity(bytes + 2);
    array.push(b'[');
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            array.push(b',');
        }
        array.extend_from_slice(item);
    }
    array.push(b']');
    array
}
