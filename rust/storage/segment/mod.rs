//! A segment on disk: immutable rows, their documents, and the index for searches.
//!
//! Searches read the index, which is built from the rows and cached ([`indexes`]). Merges read the rows
//! ([`rows`]). Documents are read individually ([`documents`]).

pub(crate) mod builder;
mod completed_rows;
mod costs;
mod deletion_vector;
pub(crate) mod documents;
pub(crate) mod indexes;
mod filter_cache;
mod mmap;
mod rows;
pub(crate) mod verify;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use arrow_array::RecordBatch;
use bytes::Bytes;
use roaring::RoaringBitmap;

pub(crate) use self::deletion_vector::read_deletion_vector;
use self::deletion_vector::read_without_spans;
use self::documents::{Dictionary, DocumentLocation, SegmentDocuments};
use self::filter_cache::FilterCache;
use self::indexes::DocumentIndexes;
pub use self::indexes::PartIndexes;
use self::indexes::cache::{INDEX, IndexCache, identity, open_content};
use self::indexes::objects::{IndexObjects, fetch};
pub(crate) use self::rows::encode_rows;
use self::rows::read_rows;
use self::verify::{read_file, verify_content, verify_size};
use crate::error::{Error, Result};
use crate::index::columns::{Index, Projection};
use crate::otlp::TraceId;
use crate::schema::Field;
use crate::storage::manifest::SegmentRecord;
use crate::storage::objects::{ObjectReader, Objects};
use crate::storage::options::IndexKind;
use crate::trace::Trace;
use crate::trace::view::StoredTrace;

/// A segment is large above this size of documents in bytes, or above the number of rows. Large segments have
/// a dictionary and are rarely merged again.
const LARGE_BYTES: u64 = 512 << 20;
const LARGE_ROWS: u64 = 250_000;

/// Returns `true` if a segment of this size is large. Smaller ones are merged soon.
pub(crate) fn is_large(bytes: u64, rows: u64) -> bool {
    bytes > LARGE_BYTES || rows > LARGE_ROWS
}

/// An open segment.
#[derive(Debug)]
pub(crate) struct Segment {
    record: SegmentRecord,
    rows: Arc<dyn ObjectReader>,
    cache: IndexCache,
    index: ArcSwap<Index>,
    of_documents: DocumentIndexes,
    index_objects: IndexObjects,
    /// Held while the index is rebuilt.
    rebuilding: Mutex<()>,
    documents: SegmentDocuments,
    /// The rows of traces that have only fragments.
    without_spans: RoaringBitmap,
    filter_cache: FilterCache,
    is_being_merged: AtomicBool,
    opened: Instant,
}

impl Segment {
    /// Opens the segment of `record`. Its index comes from the cache, from its object, or is built from its
    /// rows. Documents are verified when they are read.
    ///
    /// # Errors
    /// [`Error::Damage`] with the object and the offset, [`Error::Storage`].
    pub(crate) fn open(objects: &dyn Objects, cache: &IndexCache, record: &SegmentRecord) -> Result<Self> {
        let path = record.traces_path();
        let rows = objects.open(&path)?;
        verify_size(&path, rows.as_ref(), record.traces)?;
        let path = record.documents_path();
        let object = objects.open(&path)?;
        let documents = SegmentDocuments { path, object, dictionary: read_dictionary(objects, record)? };
        verify_size(&documents.path, documents.object.as_ref(), record.documents)?;
        let index_objects = IndexObjects::of(record);
        let index = match open_index((objects, cache), record, &index_objects) {
            Some(index) => index,
            None => cache.build(record, &read_rows(rows.as_ref(), record, &documents)?)?,
        };
        let segment = Self {
            record: record.clone(),
            rows,
            cache: cache.clone(),
            index: ArcSwap::from_pointee(index),
            of_documents: DocumentIndexes::default(),
            index_objects,
            rebuilding: Mutex::new(()),
            documents,
            without_spans: read_without_spans(objects, record)?,
            filter_cache: FilterCache::new(),
            is_being_merged: AtomicBool::new(false),
            opened: Instant::now(),
        };
        if cache.is_foreign() {
            // Opens existing indexes only, without building any.
            segment.open_indexes(objects, &IndexKind::ALL)?;
        }
        Ok(segment)
    }

    /// Returns the time since the segment was opened.
    pub(crate) fn age(&self) -> Duration {
        self.opened.elapsed()
    }

    /// Returns the index with the columns of `projection` verified. If a column is damaged, the index is
    /// rebuilt first.
    ///
    /// # Errors
    /// [`Error::Damage`], [`Error::Storage`] if a rebuild is needed and the rows cannot be read.
    pub(crate) fn index(&self, projection: Projection) -> Result<Arc<Index>> {
        let present = self.index.load_full();
        if present.is_sound(projection) {
            return Ok(present);
        }
        let _guard = self.rebuilding.lock().unwrap_or_else(PoisonError::into_inner);
        let present = self.index.load_full();
        if present.is_sound(projection) {
            return Ok(present);
        }
        let rows = read_rows(self.rows.as_ref(), &self.record, &self.documents)?;
        let built = Arc::new(self.cache.build(&self.record, &rows)?);
        self.index_objects.made(INDEX);
        self.index.store(built.clone());
        if built.is_sound(projection) {
            return Ok(built);
        }
        Err(Error::storage(
            format!("the index of segment {}", self.record.id),
            "its content changes while it is written",
        ))
    }

    /// Reads and verifies all rows.
    ///
    /// # Errors
    /// [`Error::Damage`] with the object, [`Error::Storage`].
    pub(crate) fn read_rows(&self) -> Result<RecordBatch> {
        Ok(read_rows(self.rows.as_ref(), &self.record, &self.documents)?.batch)
    }

    /// Verifies the checksum of all documents together.
    ///
    /// # Errors
    /// [`Error::Damage`], [`Error::Storage`].
    pub(crate) fn verify_documents(&self) -> Result<()> {
        verify_content(&self.documents.path, self.documents.object.as_ref(), self.record.documents)
    }

    /// Returns the number of rows, deleted ones included.
    pub(crate) fn count(&self) -> u32 {
        self.index.load().rows()
    }

    /// Returns the rows of traces that have only fragments. Searches exclude them.
    pub(crate) fn without_spans(&self) -> &RoaringBitmap {
        &self.without_spans
    }

    /// Returns the cached results of searches that checked documents.
    pub(crate) fn filter_cache(&self) -> &FilterCache {
        &self.filter_cache
    }

    /// Returns the size of its objects in bytes, without index objects.
    pub(crate) fn bytes(&self) -> u64 {
        self.record.bytes()
    }

    /// Records if the merge thread is merging this segment.
    pub(crate) fn set_being_merged(&self, is_merged: bool) {
        self.is_being_merged.store(is_merged, Ordering::Relaxed);
    }

    /// Returns `true` if its rows are being merged into another segment.
    pub(crate) fn is_being_merged(&self) -> bool {
        self.is_being_merged.load(Ordering::Relaxed)
    }

    /// See [`is_large`].
    pub(crate) fn is_large(&self) -> bool {
        is_large(self.record.documents.bytes, self.record.rows)
    }

    /// Returns the size of its indexes in bytes.
    pub(crate) fn index_bytes(&self) -> u64 {
        self.index.load().bytes() + self.of_documents.bytes()
    }

    /// Returns the size of the row index in bytes.
    pub(crate) fn row_index_bytes(&self) -> u64 {
        self.index.load().bytes()
    }

    /// Returns the row of a trace, including deleted rows.
    pub(crate) fn find(&self, trace_id: TraceId) -> Option<u32> {
        self.index.load().find(trace_id)
    }

    /// Returns the trace id of a row.
    ///
    /// # Errors
    /// [`Error::Damage`] if the id is malformed.
    pub(crate) fn trace_id(&self, row: usize) -> Result<TraceId> {
        self.index.load().ids().id(row).ok_or_else(|| {
            Error::damage(&self.documents.path, self.location(row).offset, "expected a trace id")
        })
    }

    /// Returns the time when a row's trace was first received, in microseconds since 1970.
    ///
    /// # Errors
    /// The errors of [`Segment::index`].
    pub(crate) fn created_at(&self, row: usize) -> Result<i64> {
        let index = self.index(Projection::SORT_KEY.and(Field::CreatedAt))?;
        Ok(index.numbers(Field::CreatedAt).map_or(0, |created| created.value(row)))
    }

    /// Reads the trace of a row.
    ///
    /// # Errors
    /// [`Error::Damage`] with the document's offset, [`Error::Storage`].
    pub(crate) fn trace(&self, row: usize) -> Result<Trace> {
        let damage =
            |error: Error| Error::damage(&self.documents.path, self.location(row).offset, error.to_string());
        self.stored_trace(row)?.trace().map_err(damage)
    }

    /// Reads the document of a row's trace. Decoding verifies that it belongs to that trace.
    ///
    /// # Errors
    /// The errors of [`Segment::trace`].
    pub(crate) fn stored_trace(&self, row: usize) -> Result<StoredTrace> {
        let (trace_id, created_at) = (self.trace_id(row)?, self.created_at(row)?);
        let document = self.documents.read(self.location(row))?;
        let has_spans = u32::try_from(row).is_ok_and(|row| !self.without_spans.contains(row));
        Ok(StoredTrace::new(trace_id, created_at, document, has_spans))
    }

    /// Announces a read of the documents of `rows`, for prefetching.
    pub(crate) fn will_read(&self, rows: &[u32]) {
        for row in rows {
            self.documents.will_read(self.location(*row as usize));
        }
    }

    /// Reads the document of a row.
    ///
    /// # Errors
    /// The errors of [`Segment::trace`].
    pub(crate) fn document(&self, row: usize) -> Result<Bytes> {
        self.documents.read(self.location(row))
    }

    /// Returns `true` if the documents were compressed without a dictionary.
    pub(crate) fn is_without_dictionary(&self) -> bool {
        self.record.dictionary.is_none()
    }

    /// Returns `true` if the documents were stored uncompressed under load and are still to be compressed.
    pub(crate) fn awaits_compression(&self) -> bool {
        self.record.awaits_compression
    }

    /// Returns the stored frame of a row's document, unverified, and the decoded size of the document in
    /// bytes.
    ///
    /// # Errors
    /// The errors of [`Segment::trace`].
    pub(crate) fn frame(&self, row: usize) -> Result<(Vec<u8>, u64)> {
        let location = self.location(row);
        Ok((self.documents.frame(location)?, location.decoded))
    }

    /// Returns the start time of a row's trace, in microseconds since 1970. Rows are sorted newest first.
    pub(crate) fn start_time(&self, row: usize) -> i64 {
        self.index.load().numbers(Field::StartTime).map_or(0, |starts| starts.value(row))
    }

    /// Returns the number of traces that started at or after `micros`, in microseconds since 1970.
    pub(crate) fn rows_since(&self, micros: i64) -> u32 {
        let index = self.index.load();
        index.numbers(Field::StartTime).map_or(0, |starts| starts.rows_between((micros, i64::MAX)).end)
    }

    /// Returns the stored size of a row's document in bytes.
    pub(crate) fn stored_bytes(&self, row: usize) -> u64 {
        self.location(row).length
    }

    /// Returns the decoded size of a row's document in bytes.
    pub(crate) fn document_bytes(&self, row: usize) -> u64 {
        self.location(row).decoded
    }

    fn location(&self, row: usize) -> DocumentLocation {
        let [offset, length, decoded] = self.index.load().document_location(row);
        DocumentLocation { offset, length, decoded }
    }
}

/// Opens the index of a segment from the cache or from its object; `None` if both are missing or damaged.
fn open_index(
    (objects, cache): (&dyn Objects, &IndexCache),
    record: &SegmentRecord,
    known: &IndexObjects,
) -> Option<Index> {
    if let Some(cached) = cache.open(record) {
        known.cached(INDEX, cached.bytes());
        return Some(cached);
    }
    // After a read error the index is built from the rows, which may be readable.
    let may_end_with = |end: &[u8]| Index::may_end_with(end, &identity(record));
    let object = known.object(INDEX)?;
    let content = fetch(objects, cache, record, (INDEX, &object), may_end_with).ok().flatten();
    let fetched = content.and_then(|content| open_content(content, record));
    known.fetched(INDEX, &object, fetched.is_some());
    fetched
}

fn read_dictionary(objects: &dyn Objects, record: &SegmentRecord) -> Result<Option<Dictionary>> {
    let Some(file) = record.dictionary else { return Ok(None) };
    let path = record.dictionary_path();
    let content = read_file(&path, objects.open(&path)?.as_ref(), file)?;
    Ok(Some(Dictionary::new(&content)))
}
