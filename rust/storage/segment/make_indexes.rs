//! Making the indexes of a segment: what is not in the cache is made of the documents.

use std::sync::{Arc, PoisonError};

use super::Segment;
use super::index_cache::IndexCache;
use super::indexes::{Builders, DocumentIndexes, SegmentIndexes};
use super::rows::read_rows;
use crate::attribute_index::AttributeIndex;
use crate::error::{Error, Result};
use crate::index::Projection;
use crate::span_table::SpanTable;
use crate::storage::options::{IndexKind, Indexing};
use crate::text_index::TextIndex;

impl Segment {
    /// Returns what searches read of this segment, with the columns of `projection` verified.
    ///
    /// # Errors
    /// As [`Segment::index`].
    pub(crate) fn indexes(&self, projection: Projection) -> Result<SegmentIndexes> {
        let DocumentIndexes { spans, texts, attributes, .. } = &self.of_documents;
        Ok(SegmentIndexes {
            rows: self.index(projection)?,
            spans: spans.load_full(),
            texts: texts.load_full(),
            attributes: attributes.load_full(),
        })
    }

    /// Returns the index of the attributes, once it is made.
    pub(crate) fn attributes(&self) -> Option<Arc<AttributeIndex>> {
        self.of_documents.attributes.load_full()
    }

    /// Whether the segment has an index.
    pub(crate) fn has_index(&self, kind: IndexKind) -> bool {
        self.of_documents.has(kind)
    }

    /// Whether any of these indexes is to be made: it is not there, and the segment is not about to be merged.
    pub(crate) fn awaits(&self, kinds: &[IndexKind]) -> bool {
        !self.record.awaits_compression && kinds.iter().any(|kind| self.is_missing(*kind))
    }

    fn is_missing(&self, kind: IndexKind) -> bool {
        !self.of_documents.has(kind) && !self.of_documents.is_given_up(kind)
    }

    /// Opens indexes that another process has made in its cache meanwhile.
    pub(crate) fn open_indexes(&self, kinds: &[IndexKind]) {
        self.of_documents.open(&self.cache, &self.record, kinds);
    }

    /// Opens indexes from the cache, and makes those that are not there of the documents, unless `is_cancelled` returns
    /// true meanwhile. One that cannot be made, or takes too much memory, is given up.
    ///
    /// # Errors
    /// [`Error::Cancelled`]; [`Error::Storage`] if a document cannot be read, or an index would be too large.
    pub(crate) fn make_indexes(&self, indexing: &Indexing, is_cancelled: &dyn Fn() -> bool) -> Result<()> {
        let own = &self.of_documents;
        let _guard = own.making.lock().unwrap_or_else(PoisonError::into_inner);
        own.open(&self.cache, &self.record, &indexing.kinds);
        let kinds: Vec<IndexKind> =
            indexing.kinds.iter().copied().filter(|kind| self.is_missing(*kind)).collect();
        if kinds.is_empty() {
            return Ok(());
        }
        let missing = Indexing { kinds, max_bytes: indexing.max_bytes };
        let Builders { spans, texts, attributes, .. } = self.read_documents(&missing, is_cancelled)?;
        if let Some(spans) = spans {
            own.spans.store(Some(Arc::new(self.cache.build_made(&self.record, spans)?)));
        }
        if let Some(texts) = texts {
            own.texts.store(Some(Arc::new(self.cache.build_made(&self.record, texts)?)));
        }
        if let Some(attributes) = attributes {
            own.attributes.store(Some(Arc::new(self.cache.build_made(&self.record, attributes)?)));
        }
        missing.kinds.into_iter().filter(|kind| !own.has(*kind)).for_each(|kind| own.give_up(kind));
        Ok(())
    }

    /// Reads all documents, and compares what `cache` has of the segment with what they and the rows give. Returns how many
    /// files are the same, and the paths of those that are not.
    ///
    /// # Errors
    /// [`Error::Damage`] of the rows or of a document, [`Error::Storage`].
    pub(crate) fn compare_indexes(&self, cache: &IndexCache) -> Result<(u64, Vec<String>)> {
        let rows = read_rows(self.rows.as_ref(), &self.record, &self.documents)?;
        let mut found = vec![cache.compare(&self.record, &rows)?];
        drop(rows);
        let cached: Vec<IndexKind> = IndexKind::ALL
            .into_iter()
            .filter(|kind| cache.map(&self.record, kind.name()).is_some())
            .collect();
        let mut builders = Builders::of(&Indexing { kinds: cached, max_bytes: u64::MAX });
        for row in 0..self.count() as usize {
            builders.add(row, Some(&self.trace(row)?));
        }
        if let Some(spans) = builders.spans {
            found.push(cache.compare_made::<SpanTable>(&self.record, spans)?);
        }
        if let Some(texts) = builders.texts {
            found.push(cache.compare_made::<TextIndex>(&self.record, texts)?);
        }
        if let Some(attributes) = builders.attributes {
            found.push(cache.compare_made::<AttributeIndex>(&self.record, attributes)?);
        }
        let (same, others): (Vec<_>, Vec<_>) = found.into_iter().flatten().partition(|(is_same, _)| *is_same);
        let others = others.into_iter().map(|(_, path)| path.display().to_string());
        Ok((same.len() as u64, others.collect()))
    }

    fn read_documents(&self, indexing: &Indexing, is_cancelled: &dyn Fn() -> bool) -> Result<Builders> {
        let mut builders = Builders::of(indexing);
        for row in 0..self.count() as usize {
            if is_cancelled() {
                return Err(Error::Cancelled);
            }
            if builders.is_empty() {
                break;
            }
            match self.trace(row) {
                Ok(trace) => builders.add(row, Some(&trace)),
                Err(Error::Damage { .. }) => builders.add(row, None),
                Err(error) => return Err(error),
            }
        }
        Ok(builders)
    }
}
