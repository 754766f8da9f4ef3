//! Building the indexes of a segment: missing indexes are built from the documents.

use std::sync::{Arc, MutexGuard, PoisonError};

use super::cache::identity_of_documents;
use super::document_index::{DocumentIndex, open_made_content};
use super::objects::{self as index_objects, fetch};
use super::{Builders, DocumentIndexes, OpenIndexes, PartIndexes, read_documents};
use crate::error::{Error, Result};
use crate::index::attributes::AttributeIndex;
use crate::index::columns::Projection;
use crate::storage::manifest::{INDEXES, IndexRecord, SegmentRecord};
use crate::storage::objects::Objects;
use crate::storage::options::{IndexKind, Indexing};
use crate::storage::segment::Segment;
use crate::trace::Trace;

impl Segment {
    /// Returns the indexes that searches read, with the columns of `projection` verified.
    ///
    /// # Errors
    /// The errors of [`Segment::index`].
    pub(crate) fn indexes(&self, projection: Projection) -> Result<PartIndexes> {
        Ok(PartIndexes { rows: self.index(projection)?, of_documents: self.of_documents.open() })
    }

    /// Returns the open document indexes.
    pub(in crate::storage) fn document_indexes(&self) -> OpenIndexes {
        self.of_documents.open()
    }

    /// Returns the attribute index, if it is open.
    pub(crate) fn attributes(&self) -> Option<Arc<AttributeIndex>> {
        self.of_documents.attributes.load_full()
    }

    /// Returns `true` if an index of this kind is open.
    pub(crate) fn has_index(&self, kind: IndexKind) -> bool {
        self.of_documents.has(kind)
    }

    /// Returns `true` if any of these indexes must be built: it is not open, and the segment is not being
    /// merged.
    pub(crate) fn awaits(&self, kinds: &[IndexKind]) -> bool {
        !self.record.awaits_compression && kinds.iter().any(|kind| self.is_missing(*kind))
    }

    fn is_missing(&self, kind: IndexKind) -> bool {
        !self.of_documents.has(kind) && !self.of_documents.is_given_up(kind)
    }

    /// Locks the segment's indexes. The lock is held while they are opened, built or written.
    pub(crate) fn making(&self) -> MutexGuard<'_, ()> {
        self.of_documents.making.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Updates the known index objects from a newer record of the segment.
    pub(crate) fn note_index_objects(&self, record: &SegmentRecord) {
        self.index_objects.note(record);
    }

    /// Returns `true` if any of these indexes can probably be opened from an object.
    pub(crate) fn awaits_copy(&self, kinds: &[IndexKind]) -> bool {
        let mut missing = kinds.iter().filter(|kind| self.is_missing(**kind));
        missing.any(|kind| self.index_objects.may_be_opened(kind.name()))
    }

    /// Like [`Segment::open_indexes`], while lease the lock of the segment's indexes.
    ///
    /// # Errors
    /// The errors of [`Segment::open_indexes`].
    pub(crate) fn open_indexes_first(&self, objects: &dyn Objects, kinds: &[IndexKind]) -> Result<()> {
        let _making = self.making();
        self.open_indexes(objects, kinds)
    }

    /// Opens existing document indexes: from the cache, or otherwise from their objects. If another process
    /// owns the cache, that process copies the objects.
    ///
    /// # Errors
    /// [`Error::Storage`] or [`Error::Busy`] if an object cannot be read now.
    pub(crate) fn open_indexes(&self, objects: &dyn Objects, kinds: &[IndexKind]) -> Result<()> {
        let own = &self.of_documents;
        for kind in kinds.iter().filter(|kind| self.is_missing(**kind)) {
            match kind {
                IndexKind::Spans => own.spans.store(self.present(objects)?),
                IndexKind::Texts => own.texts.store(self.present(objects)?),
                IndexKind::Attributes => own.attributes.store(self.present(objects)?),
            }
        }
        Ok(())
    }

    fn present<T: DocumentIndex>(&self, objects: &dyn Objects) -> Result<Option<Arc<T>>> {
        let (cache, record, index) = (&self.cache, &self.record, T::KIND.name());
        if let Some(cached) = cache.open_made::<T>(record) {
            self.index_objects.cached(index, cached.content().len() as u64);
            return Ok(Some(Arc::new(cached)));
        }
        let Some(object) = self.index_objects.object(index).filter(|_| !cache.is_foreign()) else {
            return Ok(None);
        };
        let may_end_with = |end: &[u8]| T::may_end_with(end, &identity_of_documents(record));
        let content = fetch(objects, cache, record, (index, &object), may_end_with)?;
        let fetched = content.and_then(|content| open_made_content(content, record));
        self.index_objects.fetched(index, &object, fetched.is_some());
        Ok(fetched.map(Arc::new))
    }

    /// Reads the documents for the missing indexes of these kinds, unless `is_cancelled` returns true
    /// meanwhile. An index that cannot be built, or takes too much memory, is abandoned.
    ///
    /// # Errors
    /// [`Error::Cancelled`]; [`Error::Storage`] if a document cannot be read.
    pub(crate) fn collect_indexes(
        &self,
        indexing: &Indexing,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Builders> {
        let kinds: Vec<_> = indexing.kinds.iter().copied().filter(|kind| self.is_missing(*kind)).collect();
        if kinds.is_empty() {
            return Ok(Builders::default());
        }
        let missing = Indexing { kinds, max_bytes: indexing.max_bytes };
        let collected =
            read_documents(&self.document_sizes(), &missing, |row| self.readable_trace(row), is_cancelled)?;
        let given_up = missing.kinds.into_iter().filter(|kind| !collected.has(*kind));
        given_up.for_each(|kind| self.of_documents.give_up(kind));
        Ok(collected)
    }

    /// Writes the collected indexes to the cache, and opens them.
    ///
    /// # Errors
    /// [`Error::Storage`] if an index would be too large.
    pub(crate) fn keep_indexes(&self, collected: Builders) -> Result<()> {
        let (own, cache, record) = (&self.of_documents, &self.cache, &self.record);
        let Builders { spans, texts, attributes, .. } = collected;
        if let Some(spans) = spans {
            own.spans.store(Some(Arc::new(cache.build_made(record, spans)?)));
        }
        if let Some(texts) = texts {
            own.texts.store(Some(Arc::new(cache.build_made(record, texts)?)));
        }
        if let Some(attributes) = attributes {
            own.attributes.store(Some(Arc::new(cache.build_made(record, attributes)?)));
        }
        Ok(())
    }

    /// Returns `true` if an index record must change. Either the open index has no matching object yet, or an
    /// object exists although the cache is on the same disk as the store.
    pub(crate) fn awaits_index_objects(&self, objects: &dyn Objects) -> bool {
        INDEXES.iter().any(|index| self.is_index_object_due(objects, index))
    }

    fn is_index_object_due(&self, objects: &dyn Objects, index: &str) -> bool {
        if objects.keeps_indexes() {
            let kind = IndexKind::ALL.into_iter().find(|kind| kind.name() == index);
            return kind.is_none_or(|kind| self.has_index(kind)) && !self.index_objects.is_open(index);
        }
        self.index_objects.object(index).is_some() && self.cache.map(&self.record, index).is_some()
    }

    /// Writes the index objects that are due, unless `is_cancelled` returns true meanwhile. Adds the new
    /// index records of the segment to `records`.
    ///
    /// # Errors
    /// [`Error::Cancelled`], [`Error::Storage`]; [`Error::Damage`] if an index must be rebuilt for its object
    /// and cannot be.
    pub(crate) fn write_index_objects(
        &self,
        objects: &dyn Objects,
        is_cancelled: &dyn Fn() -> bool,
        records: &mut Vec<IndexRecord>,
    ) -> Result<()> {
        for index in INDEXES.into_iter().filter(|index| self.is_index_object_due(objects, index)) {
            let record = if objects.keeps_indexes() {
                self.write_index_object(objects, index, is_cancelled)?
            } else {
                IndexRecord { segment_id: self.record.id.clone(), index, object: None }
            };
            self.index_objects.recorded(&record);
            records.push(record);
        }
        Ok(())
    }

    fn write_index_object(
        &self,
        objects: &dyn Objects,
        index: &'static str,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<IndexRecord> {
        let write =
            |content: &[u8]| index_objects::write(objects, &self.record, (index, content), is_cancelled);
        let DocumentIndexes { spans, texts, attributes, .. } = &self.of_documents;
        let missing = || Error::storage(self.record.file_path(index), "the index is not open");
        match IndexKind::ALL.into_iter().find(|kind| kind.name() == index) {
            None => write(self.index(Projection::ALL)?.content()),
            Some(IndexKind::Spans) => write(spans.load_full().ok_or_else(missing)?.content()),
            Some(IndexKind::Texts) => write(texts.load_full().ok_or_else(missing)?.content()),
            Some(IndexKind::Attributes) => write(attributes.load_full().ok_or_else(missing)?.content()),
        }
    }

    /// Returns the decoded sizes of the documents in bytes.
    pub(super) fn document_sizes(&self) -> Vec<u64> {
        let index = self.index.load();
        let decoded = |row| {
            let [_, _, decoded] = index.document_location(row);
            decoded
        };
        (0..self.count() as usize).map(decoded).collect()
    }

    /// Returns the trace of a row; `None` if its document is damaged.
    fn readable_trace(&self, row: usize) -> Result<Option<Trace>> {
        match self.trace(row) {
            Ok(trace) => Ok(Some(trace)),
            Err(Error::Damage { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
