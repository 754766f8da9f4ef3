//! Merges the indexes of segments when their rows are merged. This takes a tenth of the time of a build from
//! the documents.

use std::io;
use std::sync::Arc;

use super::OpenIndexes;
use super::document_index::DocumentIndex;
use crate::error::{Error, Result};
use crate::index::MergedRows;
use crate::index::attributes::AttributeIndex;
use crate::index::spans::SpanTable;
use crate::index::texts::TextIndex;
use crate::storage::options::{IndexKind, Indexing};
use crate::storage::segment::Segment;

impl Segment {
    /// Builds indexes that are missing for only a few rows, so that the indexes of all inputs can be merged.
    /// If more rows lack an index, it is built once from the merged segment.
    ///
    /// # Errors
    /// [`Error::Cancelled`]; [`Error::Storage`] if a document cannot be read, or an index would be too large.
    pub(crate) fn complete_indexes(
        inputs: &[&Self],
        indexing: &Indexing,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<()> {
        let rows =
            |inputs: &mut dyn Iterator<Item = &&Self>| inputs.map(|input| u64::from(input.count())).sum();
        let all: u64 = rows(&mut inputs.iter());
        let is_lacked_by_few = |kind: &IndexKind| {
            let lacking: u64 = rows(&mut inputs.iter().filter(|input| !input.has_index(*kind)));
            lacking > 0 && lacking <= all / 2
        };
        let kinds: Vec<IndexKind> = indexing.kinds.iter().copied().filter(is_lacked_by_few).collect();
        let indexing = Indexing { kinds, max_bytes: indexing.max_bytes };
        if indexing.kinds.is_empty() {
            return Ok(());
        }
        for input in inputs {
            let _making = input.making();
            input.keep_indexes(input.collect_indexes(&indexing, is_cancelled)?)?;
        }
        Ok(())
    }

    /// Merges the indexes of the inputs whose rows this segment has. An index that an input lacks, or that
    /// would take too much memory, is skipped and later built from the documents.
    ///
    /// # Errors
    /// [`Error::Cancelled`]; [`Error::Storage`] if an index would be too large.
    pub(in crate::storage) fn merge_indexes(
        &self,
        inputs: &[OpenIndexes],
        rows: &MergedRows<'_>,
        indexing: &Indexing,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<()> {
        let own = &self.of_documents;
        let is_mergeable = |kind| {
            let bytes: u64 = inputs.iter().map(|input| input.bytes_of(kind)).sum();
            indexing.kinds.contains(&kind) && bytes <= indexing.max_bytes
        };
        let tables = all_of(inputs, |input| input.spans.clone());
        if let Some(tables) = tables.as_deref().filter(|_| is_mergeable(IndexKind::Spans)) {
            own.spans.store(
                self.merged(is_cancelled, |source, out| {
                    SpanTable::merge(&of_arcs(tables), rows, source, out)
                })?,
            );
        }
        let attributes = all_of(inputs, |input| input.attributes.clone());
        let ordinals =
            tables.as_deref().and_then(|tables| SpanTable::merged_ordinals(&of_arcs(tables), rows));
        let attributes = attributes.zip(ordinals).filter(|_| is_mergeable(IndexKind::Attributes));
        if let Some((attributes, ordinals)) = attributes {
            own.attributes.store(self.merged(is_cancelled, |source, out| {
                AttributeIndex::merge(&of_arcs(&attributes), &ordinals, source, out)
            })?);
        }
        let texts = all_of(inputs, |input| input.texts.clone());
        if let Some(texts) = texts.filter(|_| is_mergeable(IndexKind::Texts)) {
            own.texts.store(self.merged(is_cancelled, |source, out| {
                TextIndex::merge(&of_arcs(&texts), rows, source, out, is_cancelled)
            })?);
        }
        Ok(())
    }

    /// Calls `merge` to write an index; `None` if `merge` cannot determine its content.
    fn merged<T: DocumentIndex>(
        &self,
        is_cancelled: &dyn Fn() -> bool,
        merge: impl Fn(&str, &mut dyn io::Write) -> io::Result<bool>,
    ) -> Result<Option<Arc<T>>> {
        if is_cancelled() {
            return Err(Error::Cancelled);
        }
        let mut is_known = true;
        let merged = self.cache.write_made(&self.record, &mut |source, out| {
            is_known = is_known && merge(source, out)?;
            if is_known { Ok(()) } else { Err(io::Error::other("it is not known what to write")) }
        });
        match merged {
            Ok(merged) => Ok(Some(Arc::new(merged))),
            Err(_) if is_cancelled() => Err(Error::Cancelled),
            Err(_) if !is_known => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Returns the index of each input; `None` if an input lacks it.
fn all_of<T>(inputs: &[OpenIndexes], of: impl Fn(&OpenIndexes) -> Option<Arc<T>>) -> Option<Vec<Arc<T>>> {
    inputs.iter().map(of).collect()
}

fn of_arcs<T>(arcs: &[Arc<T>]) -> Vec<&T> {
    arcs.iter().map(Arc::as_ref).collect()
}
