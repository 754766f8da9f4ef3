//! Writing rows of the head as a segment.

use std::collections::HashSet;
use std::sync::Arc;

use crate::error::Result;
use crate::index::MergedRows;
use crate::priority;
use crate::storage::head::batch::{HeadBatch, HeadEntry};
use crate::storage::objects::Objects;
use crate::storage::options::Indexing;
use crate::storage::segment::Segment;
use crate::storage::segment::builder::{NewSegment, write_rows};
use crate::storage::segment::documents::DocumentWriter;
use crate::storage::segment::indexes::OpenIndexes;
use crate::storage::segment::indexes::cache::IndexCache;

/// Indexes the rows of `entries` that are in no batch of `indexed`; `None` if there are no such rows, or no
/// index is configured.
pub(crate) fn index_others(
    entries: &[Arc<HeadEntry>],
    indexed: &[Arc<HeadBatch>],
    indexing: &Indexing,
) -> Option<Arc<HeadBatch>> {
    let indexed: HashSet<*const HeadEntry> =
        indexed.iter().flat_map(|batch| batch.entries()).map(Arc::as_ptr).collect();
    let others = entries.iter().filter(|entry| !indexed.contains(&Arc::as_ptr(entry)));
    let others: Vec<_> = others.cloned().collect();
    if others.is_empty() || indexing.kinds.is_empty() {
        return None;
    }
    // After an error the indexing thread builds the indexes, and reports its errors.
    HeadBatch::indexed(others, indexing, &priority::never_cancelled).ok().map(Arc::new)
}

/// Writes a segment of these traces. With `indexes`, document indexes that the batches have for all of its
/// traces are merged. With `defer_compression`, documents are stored uncompressed until a later merge.
///
/// # Errors
/// The errors of [`NewSegment::build`].
pub(crate) fn write_segment(
    (objects, cache): (&dyn Objects, &IndexCache),
    entries: &[Arc<HeadEntry>],
    indexes: Option<(&[Arc<HeadBatch>], &Indexing)>,
    defer_compression: bool,
) -> Result<NewSegment> {
    let rows = HeadBatch::new(entries.to_vec());
    let new = NewSegment::build(objects, cache, |record| {
        let path = record.documents_path();
        let mut documents =
            DocumentWriter::for_flush(path.clone(), objects.create(&path)?, defer_compression);
        record.awaits_compression = defer_compression;
        let locations = documents.append_all(rows.entries(), |entry| entry.trace.document())?;
        record.documents = documents.finish()?;
        write_rows(objects, record, rows.batch(), &locations)
    })?;
    if let Some((indexed, indexing)) = indexes {
        // Unmerged indexes are built by the indexing thread, which also reports errors.
        let _made_later = merge_indexes(&new.segment, &rows, indexed, indexing);
    }
    Ok(new)
}

/// Merges the indexes of batches that together have all rows of a new segment.
fn merge_indexes(
    segment: &Segment,
    rows: &HeadBatch,
    indexed: &[Arc<HeadBatch>],
    indexing: &Indexing,
) -> Result<()> {
    let mut sources = vec![None; rows.entries().len()];
    for (input, batch) in indexed.iter().enumerate() {
        for (row, entry) in batch.entries().iter().enumerate() {
            let target = rows.find(entry.trace.trace_id).map(|target| target as usize);
            // The trace of another entry has changed since it was indexed.
            if let Some(target) = target.filter(|target| Arc::ptr_eq(&rows.entries()[*target], entry)) {
                sources[target] = Some((input, row));
            }
        }
    }
    let Some(sources) = sources.into_iter().collect::<Option<Vec<(usize, usize)>>>() else { return Ok(()) };
    let counts = indexed.iter().map(|batch| u32::try_from(batch.entries().len()).unwrap_or(u32::MAX));
    let inputs = indexed.iter().filter_map(|batch| batch.indexes());
    let inputs: Vec<OpenIndexes> = inputs.map(|indexes| indexes.of_documents.clone()).collect();
    segment.merge_indexes(&inputs, &MergedRows::new(counts, &sources), indexing, &priority::never_cancelled)
}
