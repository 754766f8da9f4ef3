//! Reads documents sequentially, and prefetches documents from a disk.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::storage::segment::Segment;
use crate::trace::view::StoredTrace;

/// The threshold between cached and uncached reads. Reading and decompressing a document of 8 KB takes 10 µs
/// from the system's cache, and at least 80 µs from a disk.
const FROM_CACHE: Duration = Duration::from_micros(50);
/// The number of prefetched documents.
const FETCHED: usize = 64;

/// Rows of a segment whose documents are read in this order.
#[derive(Debug)]
pub(super) struct ReadAhead<'a> {
    segment: &'a Segment,
    rows: &'a [u32],
    /// The position of the first row that is not prefetched.
    next: Cell<usize>,
}

impl<'a> ReadAhead<'a> {
    pub(super) fn new(segment: &'a Segment, rows: &'a [u32]) -> Self {
        Self { segment, rows, next: Cell::new(0) }
    }

    /// Returns the trace at a position.
    ///
    /// # Errors
    /// The errors of [`Segment::stored_trace`].
    pub(super) fn stored_trace(&self, position: usize) -> Result<StoredTrace> {
        let began = Instant::now();
        let stored = self.segment.stored_trace(self.rows[position] as usize);
        if position >= self.next.get() && began.elapsed() > FROM_CACHE {
            let later = &self.rows[position + 1..];
            let fetched = &later[..later.len().min(FETCHED)];
            self.segment.will_read(fetched);
            self.next.set(position + 1 + fetched.len());
        }
        stored
    }
}
