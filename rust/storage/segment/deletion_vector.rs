//! Deletion vectors: the deleted rows of a segment as a Roaring bitmap.
//!
//! See docs/reference/storage.md#deletion-vector.

use roaring::RoaringBitmap;

use crate::error::{Error, Result};
use crate::storage::manifest::SegmentRecord;
use crate::storage::objects::Objects;
use crate::storage::segment::verify::read_file;

/// Returns the deleted rows of a segment, which are none if the record names no deletion vector.
///
/// # Errors
/// [`Error::Damage`], [`Error::Storage`].
pub(crate) fn read_deletion_vector(objects: &dyn Objects, record: &SegmentRecord) -> Result<RoaringBitmap> {
    let Some(vector) = record.deletion_vector else { return Ok(RoaringBitmap::new()) };
    let path = record.deletion_vector_path(vector.number);
    let content = read_file(&path, objects.open(&path)?.as_ref(), vector.file)?;
    let rows = RoaringBitmap::deserialize_from(content.as_ref())
        .map_err(|error| Error::damage(&path, 0, error.to_string()))?;
    if rows.len() != vector.rows || rows.max().is_some_and(|row| u64::from(row) >= record.rows) {
        return Err(Error::damage(&path, 0, format!("expected {} rows of {}", vector.rows, record.rows)));
    }
    Ok(rows)
}
