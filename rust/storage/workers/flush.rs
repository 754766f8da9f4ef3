//! Sealing: a cut generation becomes a segment, on a thread of its own.
//!
//! A segment means nothing until a manifest names it, so its files may be written at leisure and
//! thrown away at any time. The commit of a seal is the committer's ([`crate::storage::committer`]).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use arrow_array::RecordBatch;
use bytes::Bytes;
use crossbeam_channel::{Receiver, Sender};
use ulid::Ulid;

use crate::error::{Error, Result};
use crate::storage::committer::Order;
use crate::storage::head::batch::{HeadBatch, HeadEntry};
use crate::storage::manifest::{FileRecord, SegmentRecord};
use crate::storage::objects::Objects;
use crate::storage::priority;
use crate::storage::segment::documents::{DocumentLocation, DocumentWriter};
use crate::storage::segment::index_cache::IndexCache;
use crate::storage::segment::{Segment, encode_rows};

/// A written segment, not yet live.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub(crate) record: SegmentRecord,
    pub(crate) segment: Arc<Segment>,
}

/// What a generation will hold as a segment.
pub(crate) struct Cut {
    pub(crate) entries: Arc<[Arc<HeadEntry>]>,
    /// Whether there is no time to compress its documents.
    pub(crate) is_hurried: bool,
}

/// Starts the sealing thread: it writes each cut it is handed and reports to the committer. It ends
/// when the committer drops its end.
pub(crate) fn start(
    objects: Arc<dyn Objects>,
    cache: IndexCache,
    cuts: Receiver<Cut>,
    reports: Sender<Order>,
) -> std::io::Result<JoinHandle<()>> {
    let seal = move || {
        priority::step_back();
        for cut in cuts {
            // A thread that dies would leave the committer waiting for ever.
            let written = catch_unwind(AssertUnwindSafe(|| {
                write_segment(objects.as_ref(), &cache, &cut.entries, cut.is_hurried)
            }));
            let written = written.unwrap_or_else(|_| Err(Error::storage("segments", "sealing panicked")));
            if reports.send(Order::Sealed(written)).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("spanwise-seal".into()).spawn(seal)
}

/// Writes a segment of these traces; in a hurry its documents are not compressed yet.
pub(crate) fn write_segment(
    objects: &dyn Objects,
    cache: &IndexCache,
    entries: &[Arc<HeadEntry>],
    is_hurried: bool,
) -> Result<Written> {
    let rows = HeadBatch::new(entries.to_vec());
    write(objects, cache, |record| {
        let path = record.documents_path();
        let mut documents = DocumentWriter::for_flush(path.clone(), objects.create(&path)?, is_hurried)?;
        record.awaits_compression = is_hurried;
        let places = documents.append_all(rows.entries(), |entry| entry.trace.document())?;
        record.documents = documents.finish()?;
        write_rows(objects, record, rows.batch(), &places)
    })
}

/// Lets `write_files` write the files of a new segment, and opens and verifies what it
/// wrote, which also writes its index.
///
/// # Errors
/// [`Error::Storage`], or [`Error::Damage`] if what is read back is not what was written. The files
/// are removed as far as possible.
pub(crate) fn write(
    objects: &dyn Objects,
    cache: &IndexCache,
    write_files: impl FnOnce(&mut SegmentRecord) -> Result<()>,
) -> Result<Written> {
    let nothing = FileRecord { bytes: 0, crc32c: 0 };
    let mut record = SegmentRecord {
        id: Ulid::generate().to_string(),
        rows: 0,
        traces: nothing,
        documents: nothing,
        deletion_vector: None,
        dictionary: None,
        awaits_compression: false,
    };
    let written = write_files(&mut record).and_then(|()| {
        let segment = Segment::open(objects, cache, &record)?;
        segment.verify_documents()?;
        Ok(segment)
    });
    match written {
        Ok(segment) => Ok(Written { record, segment: Arc::new(segment) }),
        Err(fault) => {
            discard(objects, cache, &record);
            Err(fault)
        }
    }
}

/// Writes the rows of a segment whose documents stand at `places`.
pub(crate) fn write_rows(
    objects: &dyn Objects,
    record: &mut SegmentRecord,
    rows: &RecordBatch,
    places: &[DocumentLocation],
) -> Result<()> {
    let path = record.traces_path();
    let content: Bytes = encode_rows(rows, places).map_err(|fault| Error::storage(&path, fault))?;
    record.rows = rows.num_rows() as u64;
    record.traces = write_object(objects, &path, &content)?;
    Ok(())
}

/// Writes an object that is whole already.
pub(crate) fn write_object(objects: &dyn Objects, path: &str, content: &[u8]) -> Result<FileRecord> {
    let mut object = objects.create(path)?;
    object.write(content)?;
    object.finish()?;
    Ok(FileRecord::of(content))
}

/// Removes the files of a segment that no manifest names. What cannot be removed now is removed when
/// the store is opened next.
pub(crate) fn discard(objects: &dyn Objects, cache: &IndexCache, record: &SegmentRecord) {
    cache.remove(&record.id);
    for path in record.paths() {
        let _removed_at_next_open = objects.delete(&path);
    }
}
