//! Opens the segments of a manifest, and quarantines damaged ones.
//!
//! Quarantine deletes nothing. The files of the segment stay, and every later manifest names it with its
//! error, as proof that the store was larger.

use std::sync::Arc;

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::error::{Error, Result};
use crate::storage::manifest::{Manifest, QuarantineRecord, SegmentRecord};
use crate::storage::objects::Objects;
use crate::storage::options::Options;
use crate::storage::segment::indexes::cache::IndexCache;
use crate::storage::segment::{Segment, read_deletion_vector};
use crate::storage::state::live_segment::LiveSegment;

/// Opens the segments of `manifest`, and reuses those in `open`. With the option `recover`, every byte is
/// verified, and damaged segments are quarantined in `manifest`.
///
/// # Errors
/// The first damage found, without `recover`; [`Error::Options`] for a newer format, [`Error::Storage`].
pub(crate) fn open_segments(
    objects: &dyn Objects,
    manifest: &mut Manifest,
    options: &Options,
    open: &[LiveSegment],
) -> Result<Vec<LiveSegment>> {
    let mut opened = Vec::with_capacity(manifest.segments.len());
    let records = std::mem::take(&mut manifest.segments);
    let known = |record: &SegmentRecord| open.iter().find(|live| live.record.id == record.id);
    let open_one = |record: &SegmentRecord| match known(record) {
        Some(live) => reopen_segment(objects, record, live),
        None => open_segment(objects, record, options),
    };
    let tried: Vec<_> = records.par_iter().map(open_one).collect();
    for (record, tried) in records.into_iter().zip(tried) {
        match tried {
            Ok(live) => opened.push(live),
            Err(error @ Error::Damage { .. }) if options.recover => {
                manifest.quarantined.push(QuarantineRecord { segment: record, error: error.to_string() });
            }
            Err(error) => return Err(error),
        }
    }
    manifest.segments = opened.iter().map(|live| live.record.clone()).collect();
    Ok(opened)
}

fn open_segment(objects: &dyn Objects, record: &SegmentRecord, options: &Options) -> Result<LiveSegment> {
    let deleted = read_deletion_vector(objects, record)?;
    let segment = Segment::open(objects, &IndexCache::of(options), record)?;
    if options.recover {
        segment.read_rows()?;
        segment.verify_documents()?;
    }
    options.progress.add(1);
    Ok(LiveSegment::with_deleted(record.clone(), Arc::new(segment), deleted))
}

/// Returns an open segment with the deleted rows and index objects of `record`.
fn reopen_segment(objects: &dyn Objects, record: &SegmentRecord, open: &LiveSegment) -> Result<LiveSegment> {
    let deleted = if record.deletion_vector == open.record.deletion_vector {
        open.durable_deletion_vector.as_ref().clone()
    } else {
        read_deletion_vector(objects, record)?
    };
    open.segment.note_index_objects(record);
    Ok(LiveSegment::with_deleted(record.clone(), open.segment.clone(), deleted))
}
