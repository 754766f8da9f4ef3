//! Checking a store: reads and verifies every object that the newest manifest names, and compares indexes
//! with the data. Writes nothing.

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

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// The number of the newest manifest.
    pub manifest: u64,
    /// The number of live segments.
    pub segments: u64,
    /// The number of live rows in segments.
    pub sealed_traces: u64,
    /// The number of deleted rows in segments.
    #[serde(rename = "hidden_rows")]
    pub deleted_rows: u64,
    /// The number of WAL objects after the checkpoint.
    pub wal_objects: u64,
    /// The number of bytes read.
    pub bytes: u64,
    /// The number of indexes that match a fresh build: index objects, and cache files of a store in a folder.
    pub indexes: u64,
    /// The paths of the other indexes, which are damaged or of another version. They are rebuilt.
    pub other_indexes: Vec<String>,
    /// Damaged segments, which are excluded from searches and not read.
    #[serde(rename = "aside")]
    pub quarantined: Vec<QuarantinedSegment>,
    /// Damaged WAL objects, whose requests may be lost.
    #[serde(rename = "wal_aside")]
    pub quarantined_wal: Vec<QuarantinedWal>,
}

/// Rows and documents are read twice: to verify them, and to compare the indexes with them.
const READS: u64 = 2;

/// Reads and verifies a store. If another process changes it meanwhile, it is read again. `progress` counts
/// the bytes that are read from `objects`.
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
