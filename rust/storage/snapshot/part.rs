//! One part of a snapshot: the rows of a segment or of a batch of the head.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arrow_array::RecordBatch;
use bytes::Bytes;
use roaring::RoaringBitmap;

use crate::attribute_index::AttributeIndex;
use crate::error::Result;
use crate::index::Projection;
use crate::otlp::TraceId;
use crate::otlp::fragment::has_fragments;
use crate::span_table::{CostColumn, SpanTable};
use crate::storage::global_ordinals::{GlobalOrdinals, KnownSessions};
use crate::storage::head::batch::HeadBatch;
use crate::storage::options::{IndexKind, Indexing};
use crate::storage::segment::Segment;
use crate::storage::snapshot::columns::PartColumns;
use crate::trace::Trace;

/// A sorted batch of rows, with the deletion vector that says which of them are deleted.
#[derive(Debug, Clone)]
pub struct SnapshotPart {
    pub(super) source: PartSource,
    deletion_vector: Arc<RoaringBitmap>,
    /// The deleted rows and those of traces without spans.
    invisible: Arc<RoaringBitmap>,
    /// See [`super::Snapshot::take_looks`].
    pub(super) looks: Option<Arc<AtomicU64>>,
}

/// A kind of rows that are not deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowKind {
    /// Those of traces, which searches return.
    Trace,
    /// Those of traces that have fragments alone, which wait for their spans.
    Fragments,
}

/// Where the rows of a part come from.
#[derive(Debug, Clone)]
pub(super) enum PartSource {
    Sealed(Arc<Segment>),
    Head(Arc<HeadBatch>),
}

impl SnapshotPart {
    /// Returns a part of the head with `traces`, which must be distinct. None is deleted.
    pub fn of_traces(traces: Vec<Trace>) -> Self {
        Self::head(Arc::new(HeadBatch::of_traces(traces)), Arc::default())
    }

    pub(crate) fn head(batch: Arc<HeadBatch>, deletion_vector: Arc<RoaringBitmap>) -> Self {
        let invisible = invisible(&deletion_vector, batch.without_spans());
        Self { source: PartSource::Head(batch), deletion_vector, invisible, looks: None }
    }

    pub(crate) fn sealed(segment: Arc<Segment>, deletion_vector: Arc<RoaringBitmap>) -> Self {
        let invisible = invisible(&deletion_vector, segment.without_spans());
        Self { source: PartSource::Sealed(segment), deletion_vector, invisible, looks: None }
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
    /// [`crate::error::Error::Damage`] if the rows are damaged.
    pub fn batch(&self) -> Result<RecordBatch> {
        match &self.source {
            PartSource::Sealed(segment) => segment.read_rows(),
            PartSource::Head(batch) => Ok(batch.batch().clone()),
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

    /// Returns what the traces of all rows cost; `is_cancelled` is asked while documents are read.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`], [`crate::error::Error::Storage`].
    pub fn costs(&self, is_cancelled: &dyn Fn() -> bool) -> Result<Arc<CostColumn>> {
        match &self.source {
            PartSource::Sealed(segment) => segment.costs(is_cancelled),
            PartSource::Head(batch) => batch.costs(),
        }
    }

    /// Returns whether conditions on spans, texts and attributes are decided by indexes.
    pub fn has_indexes(&self) -> bool {
        match &self.source {
            PartSource::Sealed(segment) => IndexKind::ALL.into_iter().all(|kind| segment.has_index(kind)),
            PartSource::Head(batch) => batch.indexes().is_some(),
        }
    }

    /// Whether an index that the store makes will save looks at traces of this part.
    pub fn awaits_indexes(&self) -> bool {
        self.looks.is_some() && !self.has_indexes()
    }

    /// Returns the rows of a batch of the head that are not deleted as a batch with indexes; `None` if they have some, or this is a
    /// segment.
    pub(crate) fn index_head(&self, indexing: &Indexing) -> Option<Result<HeadBatch>> {
        let PartSource::Head(batch) = &self.source else { return None };
        if indexing.kinds.is_empty() || batch.indexes().is_some() {
            return None;
        }
        let live = (0..).zip(batch.entries()).filter(|(row, _)| !self.deletion_vector.contains(*row));
        let entries = live.map(|(_, entry)| entry.clone()).collect();
        Some(HeadBatch::indexed(entries, indexing, &|| false))
    }

    /// Returns the table of the spans of a segment, once it is made; `None` for a batch of the head.
    ///
    /// # Errors
    /// Damage found while an index is rebuilt.
    pub fn span_table(&self) -> Result<Option<Arc<SpanTable>>> {
        let indexes = self.segment().map(|segment| segment.indexes(Projection::SORT_KEY)).transpose()?;
        Ok(indexes.and_then(|indexes| indexes.of_documents.spans))
    }

    /// Returns how many documents [`SnapshotPart::costs`] would read.
    pub fn documents_of_costs(&self) -> usize {
        self.segment().map_or(0, |segment| segment.documents_of_costs())
    }

    /// Returns the rows that no search returns or counts: those that are deleted or superseded, and those of traces
    /// that have fragments alone.
    pub fn invisible(&self) -> &RoaringBitmap {
        &self.invisible
    }

    /// Returns the rows of traces that have fragments alone, and wait for their spans.
    pub fn waiting(&self) -> RoaringBitmap {
        self.invisible.as_ref() - self.deletion_vector.as_ref()
    }

    /// Returns the rows that are deleted or superseded.
    pub(crate) fn deletion_vector(&self) -> &RoaringBitmap {
        &self.deletion_vector
    }

    pub(crate) fn shared_deletion_vector(&self) -> Arc<RoaringBitmap> {
        self.deletion_vector.clone()
    }

    /// Returns the row of a trace, if it is visible.
    pub fn find(&self, trace_id: TraceId) -> Option<usize> {
        let row = match &self.source {
            PartSource::Sealed(segment) => segment.find(trace_id),
            PartSource::Head(batch) => batch.find(trace_id),
        }?;
        (!self.invisible.contains(row)).then_some(row as usize)
    }

    /// Returns which segments contain the sessions of a batch of the head, or `None` for a segment.
    pub fn known_sessions(&self, ordinals: &GlobalOrdinals) -> Option<KnownSessions> {
        match &self.source {
            PartSource::Sealed(_) => None,
            PartSource::Head(batch) => Some(batch.known_sessions(ordinals)),
        }
    }

    /// Returns the index of the attributes of a segment, once it is made.
    pub fn attributes(&self) -> Option<Arc<AttributeIndex>> {
        self.segment().and_then(|segment| segment.attributes())
    }

    /// Returns the whole trace of a row: read from its document, or shared with the head.
    ///
    /// # Errors
    /// [`crate::error::Error::Damage`] if the document is damaged.
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

    /// Returns the document of a row, an encoded OTLP `TracesData` message, in which fragments are events of their spans.
    ///
    /// # Errors
    /// As [`SnapshotPart::trace`].
    pub fn document(&self, row: usize) -> Result<Bytes> {
        if let PartSource::Sealed(segment) = &self.source {
            let document = segment.document(row)?;
            if !has_fragments(&document) {
                return Ok(document);
            }
        }
        Ok(self.trace(row)?.assembled().document().into())
    }

    /// Returns the decoded size of a row's document in bytes.
    pub fn document_bytes(&self, row: usize) -> u64 {
        match &self.source {
            PartSource::Sealed(segment) => segment.document_bytes(row),
            PartSource::Head(batch) => batch.document_bytes(row),
        }
    }
}

/// Returns the deleted rows and those of traces without spans; most often there are none of the latter.
fn invisible(deleted: &Arc<RoaringBitmap>, without_spans: &RoaringBitmap) -> Arc<RoaringBitmap> {
    if without_spans.is_empty() { deleted.clone() } else { Arc::new(deleted.as_ref() | without_spans) }
}
