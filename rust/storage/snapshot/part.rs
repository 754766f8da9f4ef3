//! One part of a snapshot: the rows of a segment or of a head batch.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arrow_array::RecordBatch;
use bytes::Bytes;
use roaring::RoaringBitmap;

use crate::error::Result;
use crate::index::attributes::AttributeIndex;
use crate::index::columns::Projection;
use crate::index::ordinals::{GlobalOrdinals, KnownSessions};
use crate::index::spans::{CostColumn, SpanTable};
use crate::otlp::TraceId;
use crate::otlp::fragment::has_fragments;
use crate::storage::head::batch::HeadBatch;
use crate::storage::options::{IndexKind, Indexing};
use crate::storage::segment::Segment;
use crate::storage::snapshot::columns::PartColumns;
use crate::trace::Trace;

/// A sorted batch of rows, with the deletion vector of its deleted rows.
#[derive(Debug, Clone)]
pub struct SnapshotPart {
    pub(super) source: PartSource,
    deletion_vector: Arc<RoaringBitmap>,
    /// The deleted rows and the rows of traces without spans.
    invisible: Arc<RoaringBitmap>,
    /// See [`super::Snapshot::take_document_checks`].
    pub(super) document_checks: Option<Arc<AtomicU64>>,
}

/// A type of undeleted rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowKind {
    /// Rows of traces with spans, which searches return.
    Trace,
    /// Rows of traces that have only fragments, and wait for their spans.
    Fragments,
}

/// The source of a part's rows.
#[derive(Debug, Clone)]
pub(super) enum PartSource {
    Segment(Arc<Segment>),
    Head(Arc<HeadBatch>),
}

impl SnapshotPart {
    /// Returns a part of the head with `traces`, which must be distinct. No row is deleted.
    pub fn of_traces(traces: Vec<Trace>) -> Self {
        Self::head(Arc::new(HeadBatch::of_traces(traces)), Arc::default())
    }

    pub(crate) fn head(batch: Arc<HeadBatch>, deletion_vector: Arc<RoaringBitmap>) -> Self {
        let invisible = invisible(&deletion_vector, batch.without_spans());
        Self { source: PartSource::Head(batch), deletion_vector, invisible, document_checks: None }
    }

    pub(crate) fn of_segment(segment: Arc<Segment>, deletion_vector: Arc<RoaringBitmap>) -> Self {
        let invisible = invisible(&deletion_vector, segment.without_spans());
        Self { source: PartSource::Segment(segment), deletion_vector, invisible, document_checks: None }
    }

    /// Returns `true` for a segment and `false` for a head batch.
    pub fn is_segment(&self) -> bool {
        self.segment().is_some()
    }

    /// Returns the segment; `None` for a head batch.
    pub(crate) fn segment(&self) -> Option<&Arc<Segment>> {
        match &self.source {
            PartSource::Segment(segment) => Some(segment),
            PartSource::Head(_) => None,
        }
    }

    /// Returns the number of rows, including deleted ones.
    pub fn count(&self) -> usize {
        match &self.source {
            PartSource::Segment(segment) => segment.count() as usize,
            PartSource::Head(batch) => batch.entries().len(),
        }
    }

    /// Returns all rows in [`crate::schema::trace_schema`], ordered by
    /// [`crate::trace::TraceRow::newest_first`], including deleted ones. The rows of a segment are read and
    /// verified.
    ///
    /// # Errors
    /// [`crate::error::Error::Damage`] if the rows are damaged.
    pub fn batch(&self) -> Result<RecordBatch> {
        match &self.source {
            PartSource::Segment(segment) => segment.read_rows(),
            PartSource::Head(batch) => Ok(batch.batch().clone()),
        }
    }

    /// Returns the values of the projected columns.
    ///
    /// # Errors
    /// Damage found while an index is rebuilt.
    pub fn columns(&self, projection: Projection) -> Result<PartColumns> {
        match &self.source {
            PartSource::Segment(segment) => segment.index(projection).map(PartColumns::of_index),
            PartSource::Head(batch) => Ok(PartColumns::head(batch.clone())),
        }
    }

    /// Returns the costs of the traces of all rows. `is_cancelled` is checked while documents are read.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`], [`crate::error::Error::Storage`].
    pub fn costs(&self, is_cancelled: &dyn Fn() -> bool) -> Result<Arc<CostColumn>> {
        match &self.source {
            PartSource::Segment(segment) => segment.costs(is_cancelled),
            PartSource::Head(batch) => batch.costs(),
        }
    }

    /// Returns `true` if indexes decide all conditions on spans, texts and attributes.
    pub fn has_indexes(&self) -> bool {
        match &self.source {
            PartSource::Segment(segment) => IndexKind::ALL.into_iter().all(|kind| segment.has_index(kind)),
            PartSource::Head(batch) => batch.indexes().is_some(),
        }
    }

    /// Returns `true` if a pending index will avoid document checks on this part.
    pub fn awaits_indexes(&self) -> bool {
        self.document_checks.is_some() && !self.has_indexes()
    }

    /// Returns the undeleted rows of a head batch as an indexed batch; `None` for an indexed batch or a
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

    /// Returns the span table of a segment, if it is built; `None` for a head batch.
    ///
    /// # Errors
    /// Damage found while an index is rebuilt.
    pub fn span_table(&self) -> Result<Option<Arc<SpanTable>>> {
        let indexes = self.segment().map(|segment| segment.indexes(Projection::SORT_KEY)).transpose()?;
        Ok(indexes.and_then(|indexes| indexes.of_documents.spans))
    }

    /// Returns the number of documents that [`SnapshotPart::costs`] would read.
    pub fn documents_of_costs(&self) -> usize {
        self.segment().map_or(0, |segment| segment.documents_of_costs())
    }

    /// Returns the rows that searches exclude: deleted or superseded rows, and rows of traces that have only
    /// fragments.
    pub fn invisible(&self) -> &RoaringBitmap {
        &self.invisible
    }

    /// Returns the rows of traces that have only fragments, and wait for their spans.
    pub fn waiting(&self) -> RoaringBitmap {
        self.invisible.as_ref() - self.deletion_vector.as_ref()
    }

    /// Returns the deleted or superseded rows.
    pub(crate) fn deletion_vector(&self) -> &RoaringBitmap {
        &self.deletion_vector
    }

    pub(crate) fn shared_deletion_vector(&self) -> Arc<RoaringBitmap> {
        self.deletion_vector.clone()
    }

    /// Returns the row of a trace, if it is visible.
    pub fn find(&self, trace_id: TraceId) -> Option<usize> {
        let row = match &self.source {
            PartSource::Segment(segment) => segment.find(trace_id),
            PartSource::Head(batch) => batch.find(trace_id),
        }?;
        (!self.invisible.contains(row)).then_some(row as usize)
    }

    /// Returns the location of each session of a head batch in the segments of `ordinals`; `None` for a
    /// segment.
    pub fn known_sessions(&self, ordinals: &GlobalOrdinals) -> Option<KnownSessions> {
        match &self.source {
            PartSource::Segment(_) => None,
            PartSource::Head(batch) => Some(batch.known_sessions(ordinals)),
        }
    }

    /// Returns the attribute index of a segment, if it is built.
    pub fn attributes(&self) -> Option<Arc<AttributeIndex>> {
        self.segment().and_then(|segment| segment.attributes())
    }

    /// Returns the whole trace of a row, read from its document or shared with the head.
    ///
    /// # Errors
    /// [`crate::error::Error::Damage`] if the document is damaged.
    pub fn trace(&self, row: usize) -> Result<Trace> {
        match &self.source {
            PartSource::Segment(segment) => segment.trace(row),
            PartSource::Head(batch) => Ok(batch.trace(row).clone()),
        }
    }

    /// Returns the time when a row's trace was first received, in microseconds since 1970.
    ///
    /// # Errors
    /// Damage found while an index is rebuilt.
    pub fn created_at(&self, row: usize) -> Result<i64> {
        match &self.source {
            PartSource::Segment(segment) => segment.created_at(row),
            PartSource::Head(batch) => Ok(batch.trace(row).created_at),
        }
    }

    /// Returns the document of a row: an encoded OTLP `TracesData` message with fragments as events of their
    /// spans.
    ///
    /// # Errors
    /// The errors of [`SnapshotPart::trace`].
    pub fn document(&self, row: usize) -> Result<Bytes> {
        if let PartSource::Segment(segment) = &self.source {
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
            PartSource::Segment(segment) => segment.document_bytes(row),
            PartSource::Head(batch) => batch.document_bytes(row),
        }
    }
}

/// Returns the deleted rows and the rows of traces without spans. The latter are usually empty.
fn invisible(deleted: &Arc<RoaringBitmap>, without_spans: &RoaringBitmap) -> Arc<RoaringBitmap> {
    if without_spans.is_empty() { deleted.clone() } else { Arc::new(deleted.as_ref() | without_spans) }
}
