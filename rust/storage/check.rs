//! Checking a store: every object that the newest manifest names is read and verified, and indexes are compared with what is
//! read; nothing is written.

use serde::Serialize;

use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::storage::manifest::quarantined::{QuarantinedSegment, QuarantinedWal};
use crate::storage::manifest::{Manifest, SegmentRecord};
use crate::storage::objects::Objects;
use crate::storage::segment::indexes::cache::IndexCache;
use crate::storage::segment::verify::verify_content;
use crate::storage::segment::{Segment, read_deletion_vector};
use crate::storage::wal;

/// What a check has read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// The number of the newest manifest.
    pub manifest: u64,
    /// Live segments.
    pub segments: u64,
    /// Live rows of the segments.
    pub sealed_traces: u64,
    /// Deleted rows of the segments.
    #[serde(rename = "hidden_rows")]
    pub deleted_rows: u64,
    /// WAL objects that are not contained in segments.
    pub wal_objects: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Indexes that are what the store would build: objects, and files of the cache of a store in a folder.
    pub indexes: u64,
    /// The paths of indexes that are not, as damaged ones and those of another version: what does not match is built anew.
    pub other_indexes: Vec<String>,
    /// Damaged segments that no search returns; they are not read.
    #[serde(rename = "aside")]
    pub quarantined: Vec<QuarantinedSegment>,
    /// Damaged objects of the write-ahead log, of which requests may be lost.
    #[serde(rename = "wal_aside")]
    pub quarantined_wal: Vec<QuarantinedWal>,
}

/// Each byte of rows and documents is read to verify it, and again to compare indexes with it.
const READS: u64 = 2;

/// Reads and verifies a store. If another process changes it meanwhile, it is read again. `progress` counts the bytes that
/// are read of `objects`.
///
/// # Errors
/// The first damage found; [`Error::Options`] if there is no store.
pub(crate) fn check(objects: &dyn Objects, cache: &IndexCache, progress: &Progress) -> Result<CheckReport> {
    const MAX_TRIES: usize = 8;
    let mut newest = Manifest::newest_of_store(objects)?;
    for _ in 1..MAX_TRIES {
        progress.begin(newest.segments.iter().map(bytes_to_read).sum());
        let checked = check_manifest(objects, cache, &newest);
        let present = Manifest::newest_of_store(objects)?;
        if checked.is_ok() || present == newest {
            return checked;
        }
        newest = present;
    }
    Err(Error::Busy("the store changes faster than it can be checked".into()))
}

fn bytes_to_read(record: &SegmentRecord) -> u64 {
    READS * record.bytes() + record.index_objects().map(|(_, file)| file.bytes).sum::<u64>()
}

fn check_manifest(objects: &dyn Objects, cache: &IndexCache, manifest: &Manifest) -> Result<CheckReport> {
    let quarantined = manifest.quarantined.iter().map(QuarantinedSegment::of).collect();
    let quarantined_wal = QuarantinedWal::all_of(objects, manifest)?;
    let mut report =
        CheckReport { manifest: manifest.number, quarantined, quarantined_wal, ..CheckReport::default() };
    for record in &manifest.segments {
        check_segment((objects, cache), record, &mut report)?;
    }
    let numbers = manifest.wal_checkpoint + 1..=wal::newest(objects, manifest.wal_through)?;
    for number in numbers.filter(|number| manifest.quarantined_wal(*number).is_none()) {
        let (_, bytes) = wal::read(objects, number)?;
        report.wal_objects += 1;
        report.bytes += bytes;
    }
    Ok(report)
}

fn check_segment(
    (objects, cache): (&dyn Objects, &IndexCache),
    record: &SegmentRecord,
    report: &mut CheckReport,
) -> Result<()> {
    let segment = Segment::open(objects, &IndexCache::default(), record)?;
    let deleted = read_deletion_vector(objects, record)?;
    segment.verify_documents()?;
    for (path, file) in record.further_files() {
        verify_content(&path, objects.open(&path)?.as_ref(), file)?;
    }
    let compared = segment.compare_indexes(objects, cache)?;
    report.indexes += compared.same;
    report.other_indexes.extend(compared.others);
    report.segments += 1;
    report.sealed_traces += record.rows - (&deleted | segment.without_spans()).len();
    report.deleted_rows += deleted.len();
    report.bytes += record.files().map(|(_, file)| file.bytes).sum::<u64>();
    Ok(())
}
