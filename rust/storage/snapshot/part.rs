//! One part of a snapshot: the rows of a segment or of a batch of the head.

use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::Bytes;
use roaring::RoaringBitmap;

use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::index::{Bits, LiveRows, Projection, RowSet};
use crate::otlp::TraceId;
use crate::storage::global_ordinals::{GlobalOrdinals, KnownSessions};
use crate::storage::head::batch::HeadBatch;
use crate::storage::segment::Segment;
use crate::storage::snapshot::columns::PartColumns;
use crate::trace::Trace;

/// A sorted batch of rows, with the deletion vector that says which of them are deleted.
#[derive(Debug, Clone)]
pub struct SnapshotPart {
    source: PartSource,
    deletion_vector: Arc<RoaringBitmap>,
}

/// Where the rows of a part come from.
#[derive(Debug, Clone)]
enum PartSource {
    Sealed(Arc<Segment>),
    Head(Arc<HeadBatch>),
}

impl SnapshotPart {
    /// Returns a part of the head with `traces`, which must be distinct. None is deleted.
    pub fn of_traces(traces: Vec<Trace>) -> Self {
        Self::head(Arc::new(HeadBatch::of_traces(traces)), Arc::default())
    }

    pub(crate) fn head(batch: Arc<HeadBatch>, deletion_vector: Arc<RoaringBitmap>) -> Self {
        Self { source: PartSource::Head(batch), deletion_vector }
    }

    pub(crate) fn sealed(segment: Arc<Segment>, deletion_vector: Arc<RoaringBitmap>) -> Self {
        Self { source: PartSource::Sealed(segment), deletion_vector }
    }

    /// Returns whether this is a segment, and not a batch of the head.
    pub fn is_sealed(&self) -> bool {
        self.segment().is_some()
    }

    /// Returns the segment, or `None` for a batch of the head.
    pub(crate) fn segment(&self) -> Option<&Arc<Segment>> {
        match &self.source {
            PartSource::Sealed(segment) => Some(segment),
            PartSource::Head(_) => None,
        }
    }

    /// Returns the number of rows, deleted ones included.
    pub fn count(&self) -> usize {
        match &self.source {
            PartSource::Sealed(segment) => segment.count() as usize,
            PartSource::Head(batch) => batch.entries().len(),
        }
    }

    /// Returns all rows as [`crate::schema::trace_schema`], ordered by [`crate::trace::TraceRow::newest_first`],
    /// deleted ones included. The rows of a segment are read and verified.
    ///
    /// # Errors
    /// [`Error::Damage`] if the rows are damaged.
    pub fn batch(&self) -> Result<RecordBatch> {
        match &self.source {
            PartSource::Sealed(segment) => segment.read_rows(),
            PartSource::Head(batch) => Ok(batch.batch().clone()),
        }
    }

    /// Returns the rows that `filter` matches and that are not deleted, unless `is_cancelled` returns true meanwhile.
    ///
    /// # Errors
    /// [`Error::Cancelled`]; damage found while an index is rebuilt.
    pub fn rows(&self, filter: &Filter, is_cancelled: &dyn Fn() -> bool) -> Result<LiveRows> {
        let rows = match &self.source {
            PartSource::Sealed(segment) => {
                let index = segment.index(filter.projection(Projection::SORT_KEY))?;
                filter.rows(&index, is_cancelled).ok_or(Error::Cancelled)?
            }
            PartSource::Head(batch) => RowSet::Bits(Bits::of_mask(filter.mask(batch.batch())?.values())),
        };
        Ok(LiveRows::new(rows, &self.deletion_vector))
    }

    /// Returns whether `filter` matches a row.
    ///
    /// # Errors
    /// Damage found while an index is rebuilt.
    pub fn is_match(&self, filter: &Filter, row: usize) -> Result<bool> {
        match &self.source {
            PartSource::Sealed(segment) => {
                let index = segment.index(filter.projection(Projection::SORT_KEY))?;
                Ok(u32::try_from(row).is_ok_and(|row| filter.holds(&index, row)))
            }
            PartSource::Head(batch) => Ok(filter.mask(&batch.batch().slice(row, 1))?.value(0)),
        }
    }

    /// Returns the values of the projected columns.
    ///
    /// # Errors
    /// Damage found while an index is rebuilt.
    pub fn columns(&self, projection: Projection) -> Result<PartColumns> {
        match &self.source {
            PartSource::Sealed(segment) => segment.index(projection).map(PartColumns::sealed),
            PartSource::Head(batch) => Ok(PartColumns::head(batch.clone())),
        }
    }

    /// Returns the rows that are deleted or superseded. They are never returned or counted.
    pub fn deletion_vector(&self) -> &RoaringBitmap {
        &self.deletion_vector
    }

    pub(crate) fn shared_deletion_vector(&self) -> Arc<RoaringBitmap> {
        self.deletion_vector.clone()
    }

    /// Returns the row of a trace, unless it is deleted.
    pub fn find(&self, trace_id: TraceId) -> Option<usize> {
        let row = match &self.source {
            PartSource::Sealed(segment) => segment.find(trace_id),
            PartSource::Head(batch) => batch.find(trace_id),
        }?;
        (!self.deletion_vector.contains(row)).then_some(row as usize)
    }

    /// Returns which segments contain the sessions of a batch of the head, or `None` for a segment.
    pub fn known_sessions(&self, ordinals: &GlobalOrdinals) -> Option<KnownSessions> {
        match &self.source {
            PartSource::Sealed(_) => None,
            PartSource::Head(batch) => Some(batch.known_sessions(ordinals)),
        }
    }

    /// Returns the whole trace of a row: read from its document, or shared with the head.
    ///
    /// # Errors
    /// [`Error::Damage`] if the document is damaged.
    pub fn trace(&self, row: usize) -> Result<Trace> {
        match &self.source {
            PartSource::Sealed(segment) => segment.trace(row),
            PartSource::Head(batch) => Ok(batch.trace(row).clone()),
        }
    }

    /// Returns when a row's trace was first received, in microseconds since 1970.
    ///
    /// # Errors
    /// Damage found while an index is rebuilt.
    pub fn created_at(&self, row: usize) -> Result<i64> {
        match &self.source {
            PartSource::Sealed(segment) => segment.created_at(row),
            PartSource::Head(batch) => Ok(batch.trace(row).created_at),
        }
    }

    /// Returns the document of a row: an encoded OTLP `TracesData` message.
    ///
    /// # Errors
    /// As [`SnapshotPart::trace`].
    pub fn document(&self, row: usize) -> Result<Bytes> {
        match &self.source {
            PartSource::Sealed(segment) => segment.document(row),
            PartSource::Head(batch) => Ok(batch.trace(row).document().into()),
        }
    }

    /// Returns the decoded size of a row's document in bytes.
    pub fn document_bytes(&self, row: usize) -> u64 {
        match &self.source {
            PartSource::Sealed(segment) => segment.document_bytes(row),
            PartSource::Head(batch) => batch.document_bytes(row),
        }
    }
}
