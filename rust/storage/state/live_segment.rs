//! A live segment and its deleted rows.

use std::sync::Arc;

use roaring::RoaringBitmap;

use crate::storage::manifest::SegmentRecord;
use crate::storage::segment::Segment;
use crate::storage::segment::builder::NewSegment;

/// A live segment with its deletion vectors.
#[derive(Debug, Clone)]
pub(crate) struct LiveSegment {
    pub(crate) record: SegmentRecord,
    pub(crate) segment: Arc<Segment>,
    /// The durably deleted rows: their traces are in newer segments, or were deleted.
    pub(crate) durable_deletion_vector: Arc<RoaringBitmap>,
    /// The deleted rows in this state: the rows above, and the rows whose traces are in the head. The latter
    /// are needed after a crash, because the head is replayed on top of them.
    pub(crate) deletion_vector: Arc<RoaringBitmap>,
}

impl LiveSegment {
    /// Returns a segment without deleted rows.
    pub(crate) fn new(NewSegment { record, segment }: NewSegment) -> Self {
        Self::with_deleted(record, segment, RoaringBitmap::new())
    }

    /// Returns a segment in which `rows` are deleted durably.
    pub(crate) fn with_deleted(record: SegmentRecord, segment: Arc<Segment>, rows: RoaringBitmap) -> Self {
        let rows = Arc::new(rows);
        Self { record, segment, durable_deletion_vector: rows.clone(), deletion_vector: rows }
    }

    /// Deletes rows durably with the next manifest.
    pub(crate) fn delete(&mut self, rows: &RoaringBitmap) {
        if !rows.is_empty() {
            *Arc::make_mut(&mut self.durable_deletion_vector) |= rows;
            *Arc::make_mut(&mut self.deletion_vector) |= rows;
        }
    }

    /// Deletes rows in memory only, until the head is replayed.
    pub(crate) fn delete_in_memory(&mut self, rows: impl IntoIterator<Item = u32>) {
        Arc::make_mut(&mut self.deletion_vector).extend(rows);
    }
}
