//! Checking: every object the newest manifest names is read and verified; nothing is written.

use serde::Serialize;

use crate::error::{Error, Result};
use crate::storage::manifest::{Manifest, SegmentRecord};
use crate::storage::objects::Objects;
use crate::storage::segment::index_cache::IndexCache;
use crate::storage::segment::{Segment, read_deletion_vector};
use crate::storage::state::open_segments::Aside;
use crate::storage::wal;

/// What a check read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The number of the newest manifest.
    pub manifest: u64,
    /// Live segments.
    pub segments: u64,
    /// Rows of the segments that are not hidden.
    pub sealed_traces: u64,
    /// Rows of the segments that are hidden.
    pub hidden_rows: u64,
    /// Write-ahead objects that are not folded into segments.
    pub wal_objects: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Segments that were set aside and are in no answer; they are not read.
    pub aside: Vec<Aside>,
}

/// Reads and verifies a store. A store at work may move on meanwhile; then it is read again.
///
/// # Errors
/// The first damage found; [`Error::Options`] if there is no store.
pub(crate) fn check(objects: &dyn Objects) -> Result<Report> {
    const TRIES: usize = 8;
    let mut newest = Manifest::newest(objects)?;
    for _ in 1..TRIES {
        let Some(manifest) = &newest else {
            return Err(Error::Options("expected a store, found no manifest".into()));
        };
        let checked = check_manifest(objects, manifest);
        let present = Manifest::newest(objects)?;
        if checked.is_ok() || present == newest {
            return checked;
        }
        newest = present;
    }
    Err(Error::Busy("the store moves on faster than it can be checked".into()))
}

fn check_manifest(objects: &dyn Objects, manifest: &Manifest) -> Result<Report> {
    let aside = manifest.quarantined.iter().map(Aside::of).collect();
    let mut report = Report { manifest: manifest.number, aside, ..Report::default() };
    for record in &manifest.segments {
        check_segment(objects, record, &mut report)?;
    }
    let folded_through = manifest.wal_checkpoint;
    for number in folded_through + 1..=wal::newest(objects, folded_through)? {
        let (_, bytes) = wal::read(objects, number)?;
        report.wal_objects += 1;
        report.bytes += bytes;
    }
    Ok(report)
}

fn check_segment(objects: &dyn Objects, record: &SegmentRecord, report: &mut Report) -> Result<()> {
    let segment = Segment::open(objects, &IndexCache::default(), record)?;
    let hidden = read_deletion_vector(objects, record)?;
    segment.verify_documents()?;
    (0..segment.count() as usize).try_for_each(|row| segment.trace(row).map(drop))?;
    report.segments += 1;
    report.sealed_traces += record.rows - hidden.len();
    report.hidden_rows += hidden.len();
    report.bytes += record.traces.bytes + record.documents.bytes;
    report.bytes += record.deletion_vector.map_or(0, |hidden| hidden.file.bytes);
    report.bytes += record.dictionary.map_or(0, |dictionary| dictionary.bytes);
    Ok(())
}
