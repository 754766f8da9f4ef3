//! Reads documents one after the other; those that come from a disk are fetched meanwhile.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::storage::segment::Segment;
use crate::trace::view::StoredTrace;

/// A document of 8 KB from the cache of the system takes 10 microseconds with its decompression, one from a disk 80 or more.
const FROM_CACHE: Duration = Duration::from_micros(50);
/// So many documents are fetched at once.
const FETCHED: usize = 64;

/// Some rows of a segment whose documents are read in this order.
#[derive(Debug)]
pub(super) struct ReadAhead<'a> {
    segment: &'a Segment,
    rows: &'a [u32],
    /// The position of the first row that nobody fetches.
    next: Cell<usize>,
}

impl<'a> ReadAhead<'a> {
    pub(super) fn new(segment: &'a Segment, rows: &'a [u32]) -> Self {
        Self { segment, rows, next: Cell::new(0) }
    }

    /// Returns the trace at a position.
    ///
    /// # Errors
    /// As [`Segment::stored_trace`].
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
