//! A sealed segment: rows that never change, and the documents behind them.
//!
//! `traces.parquet` holds the columns of [`trace_schema`], newest first, then three of its own: where
//! each trace's document begins, how long its frame is, and how large the document is. It is read
//! whole when the segment is opened; documents are read one by one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{TimestampMicrosecondType, UInt64Type};
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

use super::documents::{self, Dictionary, Documents, Place};
use super::manifest::SegmentRecord;
use super::objects::Objects;
use crate::error::{Error, Result};
use crate::otlp::TraceId;
use crate::schema::{Field, trace_schema};
use crate::trace::Trace;

/// The columns after those of a trace batch.
const PLACE_COLUMNS: [&str; 3] = ["document_offset", "document_length", "document_bytes"];

/// The format of a segment, which stands in the metadata of its rows; a newer one is refused.
const FORMAT: &str = "1";
const FORMAT_KEY: &str = "spanwise.format";

/// An open segment.
#[derive(Debug)]
pub(super) struct Segment {
    batch: RecordBatch,
    places: [UInt64Array; 3],
    /// The rows in the order of their trace ids.
    by_trace_id: Vec<u32>,
    documents: Documents,
}

impl Segment {
    /// Opens the segment that `record` names: its rows are read and verified, its documents are
    /// verified as they are read.
    ///
    /// # Errors
    /// [`Error::Damage`] naming the object and the byte, [`Error::Storage`].
    pub(super) fn open(objects: &dyn Objects, record: &SegmentRecord) -> Result<Self> {
        let path = record.traces_path();
        let content = documents::read_file(&path, objects.open(&path)?.as_ref(), record.traces)?;
        // What was made up with a sound checksum may surprise those who decode it; it must not end us.
        let whole = catch_unwind(AssertUnwindSafe(|| decode_rows(&path, content, record.rows)))
            .unwrap_or_else(|_| Err(Error::damage(&path, 0, "the rows cannot be decoded")))?;
        let (batch, places) =
            part_columns(&whole).map_err(|fault| Error::damage(&path, 0, fault.to_string()))?;
        let path = record.documents_path();
        let object = objects.open(&path)?;
        let documents = Documents { path, object, dictionary: read_dictionary(objects, record)? };
        documents::verify_size(&documents.path, documents.object.as_ref(), record.documents)?;
        let mut by_trace_id: Vec<u32> = (0u32..).take(batch.num_rows()).collect();
        let ids = trace_ids(&batch);
        by_trace_id.sort_unstable_by_key(|row| ids.value(*row as usize));
        Ok(Self { batch, places, by_trace_id, documents })
    }

    /// Compares every byte of the documents with the record.
    ///
    /// # Errors
    /// [`Error::Damage`], [`Error::Storage`].
    pub(super) fn verify_documents(&self, record: &SegmentRecord) -> Result<()> {
        self.documents.verify(record.documents)
    }

    pub(super) fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// Returns the row of a trace, be it hidden or not.
    pub(super) fn find(&self, trace_id: TraceId) -> Option<u32> {
        let ids = trace_ids(&self.batch);
        let wanted = trace_id.to_string();
        let of_row = |row: &u32| ids.value(*row as usize);
        let place = self.by_trace_id.binary_search_by_key(&wanted.as_str(), of_row).ok()?;
        Some(self.by_trace_id[place])
    }

    /// Returns the trace id of a row.
    pub(super) fn trace_id(&self, row: usize) -> Result<TraceId> {
        TraceId::from_hex(trace_ids(&self.batch).value(row))
            .ok_or_else(|| Error::damage(&self.documents.path, self.place(row).offset, "expected a trace id"))
    }

    /// Reads the trace of a row.
    ///
    /// # Errors
    /// [`Error::Damage`] naming the document's offset, [`Error::Storage`].
    pub(super) fn trace(&self, row: usize) -> Result<Trace> {
        let place = self.place(row);
        let trace_id = self.trace_id(row)?;
        let created = self.batch.column(Field::CreatedAt.column());
        let created_at = created.as_primitive::<TimestampMicrosecondType>().value(row);
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
    pub(super) fn document(&self, row: usize) -> Result<Bytes> {
        self.documents.read(self.place(row))
    }

    /// Returns the start times of the rows: microseconds since 1970, newest first.
    pub(super) fn start_times(&self) -> &[i64] {
        self.batch.column(Field::StartTime.column()).as_primitive::<TimestampMicrosecondType>().values()
    }

    /// Returns the trace id of a row as it is written.
    pub(super) fn trace_id_text(&self, row: usize) -> &str {
        trace_ids(&self.batch).value(row)
    }

    /// Returns the size of a row's document as it is stored.
    pub(super) fn stored_bytes(&self, row: usize) -> u64 {
        self.places[1].value(row)
    }

    pub(super) fn document_bytes(&self, row: usize) -> u64 {
        self.places[2].value(row)
    }

    fn place(&self, row: usize) -> Place {
        let [offset, length, decoded] = &self.places;
        Place { offset: offset.value(row), length: length.value(row), decoded: decoded.value(row) }
    }
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
pub(super) fn read_hidden(objects: &dyn Objects, record: &SegmentRecord) -> Result<RoaringBitmap> {
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
pub(super) fn encode_rows(batch: &RecordBatch, places: &[Place]) -> parquet::errors::Result<Bytes> {
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
fn part_columns(whole: &RecordBatch) -> parquet::errors::Result<(RecordBatch, [UInt64Array; 3])> {
    let searched = trace_schema().fields().len();
    let batch = RecordBatch::try_new(trace_schema(), whole.columns()[..searched].to_vec())?;
    let place = |column: usize| whole.column(searched + column).as_primitive::<UInt64Type>().clone();
    Ok((batch, [place(0), place(1), place(2)]))
}

fn segment_schema() -> SchemaRef {
    let places = PLACE_COLUMNS.map(|name| Arc::new(ArrowField::new(name, DataType::UInt64, false)));
    let fields = trace_schema().fields().iter().cloned().chain(places).collect::<Vec<_>>();
    Arc::new(Schema::new(fields))
}

fn trace_ids(batch: &RecordBatch) -> &arrow_array::StringArray {
    batch.column(Field::TraceId.column()).as_string::<i32>()
}
