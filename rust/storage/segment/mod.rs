//! A sealed segment: rows that never change, and the documents behind them.
//!
//! `traces.parquet` holds the columns of [`trace_schema`], newest first, then three of its own: where
//! each trace's document begins, how long its frame is, and how large the document is. Searches read
//! the index that was built from it ([`crate::storage::segment::index_cache`]), merges the rows; documents are read one by one.

pub(crate) mod documents;
pub(crate) mod index_cache;
mod mmap;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use arrow_array::cast::AsArray as _;
use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field as ArrowField, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, ParquetMetaDataReader};
use parquet::file::properties::WriterProperties;
use roaring::RoaringBitmap;

use crate::error::{Error, Result};
use crate::index::{Index, Projection};
use crate::otlp::TraceId;
use crate::schema::{Field, trace_schema};
use crate::storage::manifest::SegmentRecord;
use crate::storage::objects::{ObjectReader, Objects};
use crate::storage::segment::documents::{Dictionary, Documents, Place};
use crate::storage::segment::index_cache::{Cache, SegmentRows};
use crate::trace::Trace;

/// The columns after those of a trace batch.
const PLACE_COLUMNS: [&str; 3] = ["document_offset", "document_length", "document_bytes"];

/// The format of a segment, which stands in the metadata of its rows; a newer one is refused.
const FORMAT: &str = "1";
const FORMAT_KEY: &str = "spanwise.format";

/// An open segment.
#[derive(Debug)]
pub(crate) struct Segment {
    record: SegmentRecord,
    rows: Arc<dyn ObjectReader>,
    cache: Cache,
    index: ArcSwap<Index>,
    /// Held while the index is built anew.
    rebuilding: Mutex<()>,
    documents: Documents,
}

impl Segment {
    /// Opens the segment that `record` names: its index comes from the cache, or is built from its
    /// rows; its documents are verified as they are read.
    ///
    /// # Errors
    /// [`Error::Damage`] naming the object and the byte, [`Error::Storage`].
    pub(crate) fn open(objects: &dyn Objects, cache: &Cache, record: &SegmentRecord) -> Result<Self> {
        let path = record.traces_path();
        let rows = objects.open(&path)?;
        documents::verify_size(&path, rows.as_ref(), record.traces)?;
        let index = cache.open(record, || read_rows(rows.as_ref(), record))?;
        let path = record.documents_path();
        let object = objects.open(&path)?;
        let documents = Documents { path, object, dictionary: read_dictionary(objects, record)? };
        documents::verify_size(&documents.path, documents.object.as_ref(), record.documents)?;
        Ok(Self {
            record: record.clone(),
            rows,
            cache: cache.clone(),
            index: ArcSwap::from_pointee(index),
            rebuilding: Mutex::new(()),
            documents,
        })
    }

    /// Returns the index, in which the columns of `projection` are as they were written. If they are
    /// not, the index is built anew first.
    ///
    /// # Errors
    /// [`Error::Damage`], [`Error::Storage`] if that needs rows that cannot be read.
    pub(crate) fn index(&self, projection: Projection) -> Result<Arc<Index>> {
        let present = self.index.load_full();
        if present.is_sound(projection) {
            return Ok(present);
        }
        let _alone = self.rebuilding.lock().unwrap_or_else(PoisonError::into_inner);
        let present = self.index.load_full();
        if present.is_sound(projection) {
            return Ok(present);
        }
        let built = Arc::new(self.cache.build(&self.record, &read_rows(self.rows.as_ref(), &self.record)?)?);
        self.index.store(built.clone());
        if built.is_sound(projection) {
            return Ok(built);
        }
        Err(Error::storage(format!("the index of segment {}", self.record.id), "it changes as it is written"))
    }

    /// Reads all rows and verifies them.
    ///
    /// # Errors
    /// [`Error::Damage`] naming the object, [`Error::Storage`].
    pub(crate) fn read_rows(&self) -> Result<RecordBatch> {
        Ok(read_rows(self.rows.as_ref(), &self.record)?.batch)
    }

    /// Compares every byte of the documents with the segment's record.
    ///
    /// # Errors
    /// [`Error::Damage`], [`Error::Storage`].
    pub(crate) fn verify_documents(&self) -> Result<()> {
        self.documents.verify(self.record.documents)
    }

    /// Returns how many rows there are, hidden ones included.
    pub(crate) fn count(&self) -> u32 {
        self.index.load().rows()
    }

    /// Returns the size of the index.
    pub(crate) fn index_bytes(&self) -> u64 {
        self.index.load().bytes()
    }

    /// Returns the row of a trace, be it hidden or not.
    pub(crate) fn find(&self, trace_id: TraceId) -> Option<u32> {
        self.index.load().find(trace_id)
    }

    /// Returns the trace id of a row.
    pub(crate) fn trace_id(&self, row: usize) -> Result<TraceId> {
        self.index
            .load()
            .ids()
            .id(row)
            .ok_or_else(|| Error::damage(&self.documents.path, self.place(row).offset, "expected a trace id"))
    }

    /// Returns when the trace of a row was first received: microseconds since 1970.
    ///
    /// # Errors
    /// As [`Segment::index`].
    pub(crate) fn created_at(&self, row: usize) -> Result<i64> {
        let index = self.index(Projection::SORT_KEY.and(Field::CreatedAt))?;
        Ok(index.numbers(Field::CreatedAt).map_or(0, |created| created.value(row)))
    }

    /// Reads the trace of a row.
    ///
    /// # Errors
    /// [`Error::Damage`] naming the document's offset, [`Error::Storage`].
    pub(crate) fn trace(&self, row: usize) -> Result<Trace> {
        let place = self.place(row);
        let trace_id = self.trace_id(row)?;
        let created_at = self.created_at(row)?;
        let document = self.documents.read(place)?;
        let damage = |message: String| Error::damage(&self.documents.path, place.offset, message);
        let trace = Trace::from_document(trace_id, created_at, document)
            .map_err(|fault| damage(fault.to_string()))?;
        if trace.spans().is_empty() || trace.spans().iter().any(|span| span.trace_id != trace_id) {
            return Err(damage(format!("expected the spans of trace {trace_id}")));
        }
        Ok(trace)
    }

    /// Reads the document of a row.
    ///
    /// # Errors
    /// As [`Segment::trace`].
    pub(crate) fn document(&self, row: usize) -> Result<Bytes> {
        self.documents.read(self.place(row))
    }

    /// Whether the documents were compressed each by itself.
    pub(crate) fn is_without_dictionary(&self) -> bool {
        self.record.dictionary.is_none()
    }

    /// Returns whether documents were written in a hurry.
    pub(crate) fn awaits_compression(&self) -> bool {
        self.record.awaits_compression
    }

    /// Returns the document of a row as it is stored, unverified, and its size once decoded.
    ///
    /// # Errors
    /// As [`Segment::trace`].
    pub(crate) fn frame(&self, row: usize) -> Result<(Vec<u8>, u64)> {
        let place = self.place(row);
        Ok((self.documents.frame(place)?, place.decoded))
    }

    /// Returns when the trace of a row started: microseconds since 1970. Rows stand newest first.
    pub(crate) fn start_time(&self, row: usize) -> i64 {
        self.index.load().numbers(Field::StartTime).map_or(0, |starts| starts.value(row))
    }

    /// Returns how many traces started at `micros` or later: microseconds since 1970.
    pub(crate) fn rows_since(&self, micros: i64) -> u32 {
        let index = self.index.load();
        index.numbers(Field::StartTime).map_or(0, |starts| starts.rows_between((micros, i64::MAX)).end)
    }

    /// Returns the size of a row's document as it is stored.
    pub(crate) fn stored_bytes(&self, row: usize) -> u64 {
        self.place(row).length
    }

    pub(crate) fn document_bytes(&self, row: usize) -> u64 {
        self.place(row).decoded
    }

    fn place(&self, row: usize) -> Place {
        let [offset, length, decoded] = self.index.load().document_location(row);
        Place { offset, length, decoded }
    }
}

/// Reads the rows of a segment and verifies them.
fn read_rows(object: &dyn ObjectReader, record: &SegmentRecord) -> Result<SegmentRows> {
    let path = record.traces_path();
    let content = documents::read_file(&path, object, record.traces)?;
    // What was made up with a sound checksum may surprise those who decode it; it must not end us.
    let whole = catch_unwind(AssertUnwindSafe(|| decode_rows(&path, content, record.rows)))
        .unwrap_or_else(|_| Err(Error::damage(&path, 0, "the rows cannot be decoded")))?;
    part_columns(&whole).map_err(|fault| Error::damage(&path, 0, fault.to_string()))
}

fn read_dictionary(objects: &dyn Objects, record: &SegmentRecord) -> Result<Option<Dictionary>> {
    let Some(file) = record.dictionary else { return Ok(None) };
    let path = record.dictionary_path();
    let content = documents::read_file(&path, objects.open(&path)?.as_ref(), file)?;
    Ok(Some(Dictionary::new(&content)))
}

/// Reads a set of hidden rows of a segment; none if the record names none.
///
/// # Errors
/// [`Error::Damage`], [`Error::Storage`].
pub(crate) fn read_hidden(objects: &dyn Objects, record: &SegmentRecord) -> Result<RoaringBitmap> {
    let Some(hidden) = record.hidden else { return Ok(RoaringBitmap::new()) };
    let path = record.hidden_path(hidden.number);
    let content = documents::read_file(&path, objects.open(&path)?.as_ref(), hidden.file)?;
    let rows = RoaringBitmap::deserialize_from(content.as_ref())
        .map_err(|fault| Error::damage(&path, 0, fault.to_string()))?;
    if rows.len() != hidden.rows || rows.max().is_some_and(|row| u64::from(row) >= record.rows) {
        return Err(Error::damage(&path, 0, format!("expected {} rows of {}", hidden.rows, record.rows)));
    }
    Ok(rows)
}

/// Returns the content of `traces.parquet` for rows whose documents stand at `places`.
///
/// # Errors
/// What the Parquet writer refuses.
pub(crate) fn encode_rows(batch: &RecordBatch, places: &[Place]) -> parquet::errors::Result<Bytes> {
    let column = |value: fn(&Place) -> u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(places.iter().map(value)))
    };
    let mut columns = batch.columns().to_vec();
    columns.extend([
        column(|place| place.offset),
        column(|place| place.length),
        column(|place| place.decoded),
    ]);
    let whole = RecordBatch::try_new(segment_schema(), columns)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(whole.num_rows().max(1)))
        .set_key_value_metadata(Some(vec![KeyValue::new(FORMAT_KEY.to_owned(), FORMAT.to_owned())]))
        .build();
    let mut content = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut content, segment_schema(), Some(properties))?;
    writer.write(&whole)?;
    writer.close()?;
    Ok(content.into())
}

/// Returns the rows of a file whose checksum was verified. Its own counts are compared with the
/// record before anything is made room for.
///
/// # Errors
/// [`Error::Damage`], or [`Error::Options`] for a newer format.
fn decode_rows(path: &str, content: Bytes, expected_rows: u64) -> Result<RecordBatch> {
    let damage = |message: String| Error::damage(path, 0, message);
    let malformed = |fault: ParquetError| damage(fault.to_string());
    let footer = ParquetMetaDataReader::new().parse_and_finish(&content).map_err(malformed)?;
    let keys = footer.file_metadata().key_value_metadata().into_iter().flatten();
    let format = keys.filter(|pair| pair.key == FORMAT_KEY).find_map(|pair| pair.value.clone());
    if let Some(newer) = format.as_deref().filter(|format| *format != FORMAT) {
        return Err(Error::Options(format!("`{path}` has format {newer}, this program reads {FORMAT}")));
    }
    let found = footer.file_metadata().num_rows();
    // The schema is ours to say; the one that stands in the file is not even looked at.
    let options = ArrowReaderOptions::new().with_schema(segment_schema());
    let metadata = ArrowReaderMetadata::try_new(Arc::new(footer), options).map_err(malformed)?;
    if format.is_none() || metadata.schema().fields() != segment_schema().fields() {
        return Err(damage("expected the columns of a segment".into()));
    }
    let rows = u32::try_from(found).ok().filter(|rows| u64::from(*rows) == expected_rows);
    let rows = rows.ok_or_else(|| damage(format!("expected {expected_rows} rows, found {found}")))?;
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(content, metadata);
    let reader = builder.with_batch_size(rows.max(1) as usize).build().map_err(malformed)?;
    let batches = reader.collect::<std::result::Result<Vec<_>, _>>();
    let batches = batches.map_err(|fault| damage(fault.to_string()))?;
    let whole = concat_batches(&segment_schema(), &batches).map_err(|fault| damage(fault.to_string()))?;
    if whole.num_rows() as u64 != expected_rows {
        return Err(damage(format!("expected {expected_rows} rows, found {}", whole.num_rows())));
    }
    Ok(whole)
}

/// Parts the columns that are searched from those that say where the documents stand.
fn part_columns(whole: &RecordBatch) -> parquet::errors::Result<SegmentRows> {
    let searched = trace_schema().fields().len();
    let batch = RecordBatch::try_new(trace_schema(), whole.columns()[..searched].to_vec())?;
    let place = |column: usize| whole.column(searched + column).as_primitive::<UInt64Type>().clone();
    Ok(SegmentRows { batch, places: [place(0), place(1), place(2)] })
}

fn segment_schema() -> SchemaRef {
    let places = PLACE_COLUMNS.map(|name| Arc::new(ArrowField::new(name, DataType::UInt64, false)));
    let fields = trace_schema().fields().iter().cloned().chain(places).collect::<Vec<_>>();
    Arc::new(Schema::new(fields))
}
