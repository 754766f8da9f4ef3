//! Writing a new segment: writes its files, then reads and verifies them.
//!
//! A segment has no effect until a manifest names it. Until then its files may be written slowly and deleted
//! at any time.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use roaring::RoaringBitmap;
use ulid::Ulid;

use crate::error::{Error, Result};
use crate::storage::manifest::{FileRecord, SegmentRecord};
use crate::storage::objects::Objects;
use crate::storage::segment::deletion_vector::WITHOUT_SPANS;
use crate::storage::segment::documents::DocumentLocation;
use crate::storage::segment::indexes::cache::IndexCache;
use crate::storage::segment::{Segment, encode_rows};

/// A segment that is written and verified, but that no manifest names yet.
#[derive(Debug, Clone)]
pub(crate) struct NewSegment {
    pub(crate) record: SegmentRecord,
    pub(crate) segment: Arc<Segment>,
}

impl NewSegment {
    /// Calls `write_files` to write the files of a new segment and to complete its record. Then opens the
    /// segment, which builds its index, and verifies it. Where indexes are objects, the row index is also
    /// written as an object.
    ///
    /// # Errors
    /// [`Error::Storage`], or [`Error::Damage`] if the files differ from the written data. The files are
    /// deleted as far as possible.
    pub(crate) fn build(
        objects: &dyn Objects,
        cache: &IndexCache,
        write_files: impl FnOnce(&mut SegmentRecord) -> Result<()>,
    ) -> Result<Self> {
        let empty = FileRecord { bytes: 0, crc32c: 0 };
        let mut record = SegmentRecord {
            id: Ulid::generate().to_string(),
            rows: 0,
            traces: empty,
            documents: empty,
            deletion_vector: None,
            dictionary: None,
            awaits_compression: false,
            files: BTreeMap::new(),
        };
        let opened = write_files(&mut record).and_then(|()| {
            let segment = Segment::open(objects, cache, &record)?;
            segment.verify_documents()?;
            let mut indexes = Vec::new();
            // After an error, the indexing thread writes the objects later.
            let _written_later = segment.write_index_objects(objects, &|| false, &mut indexes);
            for written in indexes {
                record.record_index(written.index, written.object);
            }
            Ok(segment)
        });
        match opened {
            Ok(segment) => Ok(Self { record, segment: Arc::new(segment) }),
            Err(error) => {
                discard(objects, cache, &record);
                Err(error)
            }
        }
    }
}

/// Writes and records the rows of a segment, whose documents are at `locations`.
pub(crate) fn write_rows(
    objects: &dyn Objects,
    record: &mut SegmentRecord,
    rows: &RecordBatch,
    locations: &[DocumentLocation],
) -> Result<()> {
    let path = record.traces_path();
    let content = encode_rows(rows, locations).map_err(|error| Error::storage(&path, error))?;
    record.rows = rows.num_rows() as u64;
    record.traces = write_file(objects, &path, &content)?;
    write_without_spans(objects, record, rows)
}

/// Writes the rows of traces that have only fragments, if there are any.
fn write_without_spans(objects: &dyn Objects, record: &mut SegmentRecord, rows: &RecordBatch) -> Result<()> {
    let path = record.file_path(WITHOUT_SPANS);
    let totals = rows.column_by_name("total_spans").and_then(|column| column.as_primitive_opt::<Int64Type>());
    let totals = totals.ok_or_else(|| Error::storage(&path, "expected a column `total_spans`"))?;
    let without_spans = (0..).zip(totals.values()).filter(|(_, total)| **total == 0).map(|(row, _)| row);
    let without_spans: RoaringBitmap = without_spans.collect();
    if without_spans.is_empty() {
        return Ok(());
    }
    let mut content = Vec::with_capacity(without_spans.serialized_size());
    without_spans.serialize_into(&mut content).map_err(|error| Error::storage(&path, error))?;
    // Recorded before the write, so that it is deleted if the write fails.
    record.files.insert(WITHOUT_SPANS.to_owned(), FileRecord::of(&content));
    write_file(objects, &path, &content).map(drop)
}

/// Writes and records the dictionary of a segment's documents. An empty dictionary is not written.
pub(crate) fn write_dictionary(
    objects: &dyn Objects,
    record: &mut SegmentRecord,
    dictionary: &[u8],
) -> Result<()> {
    if !dictionary.is_empty() {
        // Recorded before the write, so that it is deleted if the write fails.
        record.dictionary = Some(FileRecord::of(dictionary));
        write_file(objects, &record.dictionary_path(), dictionary)?;
    }
    Ok(())
}

fn write_file(objects: &dyn Objects, path: &str, content: &[u8]) -> Result<FileRecord> {
    let mut object = objects.create(path)?;
    object.write(content)?;
    object.finish()?;
    Ok(FileRecord::of(content))
}

/// Deletes the files of a segment that no manifest names. Failed deletions are repeated when the store is
/// next opened.
pub(crate) fn discard(objects: &dyn Objects, cache: &IndexCache, record: &SegmentRecord) {
    cache.remove(&record.id);
    for path in record.paths() {
        let _deleted_at_next_open = objects.delete(&path);
    }
}
