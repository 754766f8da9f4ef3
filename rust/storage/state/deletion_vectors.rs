//! Writing the deletion vectors that the next manifest names.

use roaring::RoaringBitmap;

use crate::error::{Error, Result};
use crate::storage::manifest::{DeletionVectorRecord, FileRecord, SegmentRecord, fresh_number};
use crate::storage::objects::{Objects, PutOutcome, put_verified};
use crate::storage::state::live_segment::LiveSegment;

/// The maximum number of concurrent puts. A put spends most of its time in a sync, and the disk serves
/// several syncs together.
const MAX_CONCURRENT_PUTS: usize = 8;

/// Writes the vector of each segment that has more deleted rows than its record, and records it.
///
/// # Errors
/// [`Error::Storage`]. Vectors that were already written are not named by any manifest.
pub(crate) fn write_deletion_vectors(objects: &dyn Objects, segments: &mut [LiveSegment]) -> Result<()> {
    let recorded = |live: &LiveSegment| live.record.deletion_vector.map_or(0, |deleted| deleted.rows);
    let mut changed: Vec<&mut LiveSegment> =
        segments.iter_mut().filter(|live| live.durable_deletion_vector.len() > recorded(live)).collect();
    let write_all = |share: &mut [&mut LiveSegment]| {
        share.iter_mut().try_for_each(|live| {
            live.record.deletion_vector = Some(write(objects, &live.record, &live.durable_deletion_vector)?);
            Ok(())
        })
    };
    if changed.len() < 2 {
        return write_all(&mut changed);
    }
    let share = changed.len().div_ceil(MAX_CONCURRENT_PUTS);
    std::thread::scope(|scope| {
        let shares = changed.chunks_mut(share);
        let writers: Vec<_> = shares.map(|share| scope.spawn(|| write_all(share))).collect();
        let died = |_| Err(Error::storage("segments", "a writing thread has died"));
        writers.into_iter().try_for_each(|writer| writer.join().unwrap_or_else(died))
    })
}

/// Writes a deletion vector under a fresh number, because a replaced writer may still delete objects by name.
fn write(
    objects: &dyn Objects,
    segment: &SegmentRecord,
    rows: &RoaringBitmap,
) -> Result<DeletionVectorRecord> {
    let mut content = Vec::with_capacity(rows.serialized_size());
    let number = fresh_number();
    let path = segment.deletion_vector_path(number);
    rows.serialize_into(&mut content).map_err(|error| Error::storage(&path, error))?;
    let file = FileRecord::of(&content);
    match put_verified(objects, &path, &content.into()) {
        PutOutcome::Created => Ok(DeletionVectorRecord { number, rows: rows.len(), file }),
        PutOutcome::Conflict => Err(Error::storage(path, "another deletion vector has the number")),
        PutOutcome::NotCreated(error) | PutOutcome::Unknown(error) => Err(error),
    }
}
