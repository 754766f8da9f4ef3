//! Which page a search returns, and what a page is.

use crate::error::{Error, Result};

/// The largest page, in items.
pub const MAX_LIMIT: usize = 100;

/// The page to return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    /// The number of the page, from 1.
    pub page: u64,
    /// Items per page, 1 to [`MAX_LIMIT`].
    pub limit: usize,
}

impl PageRequest {
    /// Returns the request for page number `page` of pages of `limit` items.
    ///
    /// # Errors
    /// [`Error::Options`] if `page` is 0 or `limit` is not in 1 to [`MAX_LIMIT`].
    pub fn new(page: u64, limit: usize) -> Result<Self> {
        if page == 0 || !(1..=MAX_LIMIT).contains(&limit) {
            return Err(Error::Options(format!(
                "expected a page from 1 and a limit from 1 to {MAX_LIMIT}, got page {page} and limit {limit}"
            )));
        }
        Ok(Self { page, limit })
    }

    /// Returns how many items come before this page, saturating at the greatest number.
    pub(super) fn offset(self) -> u64 {
        let limit = u64::try_from(self.limit).unwrap_or(u64::MAX);
        self.page.saturating_sub(1).saturating_mul(limit)
    }
}

/// How much of each run a page shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// `TraceDetail`: with output, error and the tree.
    Full,
    /// `TraceSummary`: without them.
    Summary,
}

/// One page of results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The items, as a JSON array.
    pub data: Vec<u8>,
    /// The exact number of items on all pages together.
    pub total_count: u64,
    /// What is wrong with the items that are marked as damaged.
    pub damage: Vec<String>,
}

/// Returns `items`, each a JSON value, as a JSON array.
pub(super) fn json_array(items: &[Vec<u8>]) -> Vec<u8> {
    let bytes: usize = items.iter().map(|item| item.len() + 1).sum();
    let mut array = Vec::with_capacity(bytes + 2);
    array.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            array.push(b',');
        }
        array.extend_from_slice(item);
    }
    array.push(b']');
    array
}
