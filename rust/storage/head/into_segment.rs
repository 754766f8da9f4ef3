//! Writing rows of the head as a segment.

use std::sync::Arc;

use crate::error::Result;
use crate::storage::head::batch::{HeadBatch, HeadEntry};
use crate::storage::objects::Objects;
use crate::storage::options::Indexing;
use crate::storage::segment::builder::{NewSegment, write_rows};
use crate::storage::segment::documents::DocumentWriter;
use crate::storage::segment::indexes::cache::IndexCache;

/// Writes a segment of these traces, with indexes of their documents if any are asked for. With `defer_compression` its documents
/// are stored as they are, to be compressed by a later merge.
///
/// # Errors
/// As [`NewSegment::build`].
pub(crate) fn write_segment(
    (objects, cache, indexing): (&dyn Objects, &IndexCache, Option<&Indexing>),
    entries: &[Arc<HeadEntry>],
    defer_compression: bool,
) -> Result<NewSegment> {
    let rows = HeadBatch::new(entries.to_vec());
    let sealed = NewSegment::build(objects, cache, |record| {
        let path = record.documents_path();
        let mut documents =
            DocumentWriter::for_flush(path.clone(), objects.create(&path)?, defer_compression);
        record.awaits_compression = defer_compression;
        let places = documents.append_all(rows.entries(), |entry| entry.trace.document())?;
        record.documents = documents.finish()?;
        write_rows(objects, record, rows.batch(), &places)
    })?;
    if let Some(indexing) = indexing {
        // What is not made here is made by the indexing thread, which also reports why it cannot be.
        let _made_later = sealed.segment.make_indexes(indexing, |row| rows.trace(row).clone());
    }
    Ok(sealed)
}
