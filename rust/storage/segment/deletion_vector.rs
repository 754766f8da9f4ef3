//! Rows of a segment as Roaring bitmaps: deleted rows, and rows of traces that have only fragments.
//!
//! See docs/reference/storage.md#deletion-vector and docs/reference/storage.md#traces-without-spans.

use roaring::RoaringBitmap;

use crate::error::{Error, Result};
use crate::storage::manifest::{FileRecord, SegmentRecord};
use crate::storage::objects::Objects;
use crate::storage::segment::verify::read_file;

/// The name of the file with the rows of traces that have only fragments.
pub(crate) const WITHOUT_SPANS: &str = "without-spans.roaring";

/// Returns the deleted rows of a segment; empty if the record names no deletion vector.
///
/// # Errors
/// [`Error::Damage`], [`Error::Storage`].
pub(crate) fn read_deletion_vector(objects: &dyn Objects, record: &SegmentRecord) -> Result<RoaringBitmap> {
    let Some(vector) = record.deletion_vector else { return Ok(RoaringBitmap::new()) };
    let path = record.deletion_vector_path(vector.number);
    let rows = read_rows(objects, &path, vector.file, record.rows)?;
    if rows.len() != vector.rows {
        return Err(Error::damage(&path, 0, format!("expected {} rows, found {}", vector.rows, rows.len())));
    }
    Ok(rows)
}

/// Returns the rows of a segment whose traces have only fragments. Usually the set is empty.
///
/// # Errors
/// [`Error::Damage`], [`Error::Storage`].
pub(crate) fn read_without_spans(objects: &dyn Objects, record: &SegmentRecord) -> Result<RoaringBitmap> {
    match record.files.get(WITHOUT_SPANS) {
        None => Ok(RoaringBitmap::new()),
        Some(file) => read_rows(objects, &record.file_path(WITHOUT_SPANS), *file, record.rows),
    }
}

fn read_rows(objects: &dyn Objects, path: &str, file: FileRecord, count: u64) -> Result<RoaringBitmap> {
    let content = read_file(path, objects.open(path)?.as_ref(), file)?;
    let rows = RoaringBitmap::deserialize_from(content.as_ref())
        .map_err(|error| Error::damage(path, 0, error.to_string()))?;
    match rows.max() {
        Some(row) if u64::from(row) >= count => {
            Err(Error::damage(path, 0, format!("expected rows below {count}, found {row}")))
        }
        _ => Ok(rows),
    }
}
