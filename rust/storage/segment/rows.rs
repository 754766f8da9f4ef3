//! The rows of a segment: the Parquet file `traces.parquet`.
//!
//! It has the columns of [`trace_schema`], newest trace first. Three more columns locate each trace's
//! document: its offset, its stored length, and its decoded size, all in bytes. See
//! docs/reference/storage.md#segment.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
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

use crate::error::{Error, Result};
use crate::schema::trace_schema;
use crate::storage::manifest::SegmentRecord;
use crate::storage::objects::ObjectReader;
use crate::storage::segment::completed_rows::{complete, first_schema};
use crate::storage::segment::documents::{DocumentLocation, SegmentDocuments};
use crate::storage::segment::verify::read_file;

/// The columns after the columns of a trace batch.
const LOCATION_COLUMNS: [&str; 3] = ["document_offset", "document_length", "document_bytes"];

/// The format of a segment, in the metadata of its rows. Rows of format 1 are completed from the documents. A
/// newer format is rejected.
const FORMAT: &str = "2";
const FIRST_FORMAT: &str = "1";
const FORMAT_KEY: &str = "spanwise.format";

/// The rows of a segment, from which its row index is built.
#[derive(Debug)]
pub(crate) struct SegmentRows {
    /// [`trace_schema`], newest first.
    pub(crate) batch: RecordBatch,
    /// The offset, stored length and decoded size of each document, in bytes.
    pub(crate) locations: [UInt64Array; 3],
}

/// Reads and verifies the rows of a segment.
///
/// # Errors
/// [`Error::Damage`], [`Error::Storage`], or [`Error::Options`] for a newer format.
pub(crate) fn read_rows(
    object: &dyn ObjectReader,
    record: &SegmentRecord,
    documents: &SegmentDocuments,
) -> Result<SegmentRows> {
    let path = record.traces_path();
    let content = read_file(&path, object, record.traces)?;
    // A forged file with a correct checksum may make the decoder panic. A panic must not end the process.
    let whole = catch_unwind(AssertUnwindSafe(|| decode_rows(&path, content, record.rows)))
        .unwrap_or_else(|_| Err(Error::damage(&path, 0, "the rows cannot be decoded")))?;
    split_columns(&path, &whole, documents)
}

/// Returns the content of `traces.parquet` for rows whose documents are at `locations`.
///
/// # Errors
/// The errors of the Parquet writer.
pub(crate) fn encode_rows(
    batch: &RecordBatch,
    locations: &[DocumentLocation],
) -> parquet::errors::Result<Bytes> {
    let column = |value: fn(&DocumentLocation) -> u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(locations.iter().map(value)))
    };
    let mut columns = batch.columns().to_vec();
    columns.extend([
        column(|location| location.offset),
        column(|location| location.length),
        column(|location| location.decoded),
    ]);
    let schema = with_locations(&trace_schema());
    let whole = RecordBatch::try_new(schema.clone(), columns)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(whole.num_rows().max(1)))
        .set_key_value_metadata(Some(vec![KeyValue::new(FORMAT_KEY.to_owned(), FORMAT.to_owned())]))
        .build();
    let mut content = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut content, schema, Some(properties))?;
    writer.write(&whole)?;
    writer.close()?;
    Ok(content.into())
}

/// Decodes a file whose checksum is verified. The counts in the file are compared with the record before
/// memory is allocated for them.
///
/// # Errors
/// [`Error::Damage`], or [`Error::Options`] for a newer format.
fn decode_rows(path: &str, content: Bytes, expected_rows: u64) -> Result<RecordBatch> {
    let damage = |message: String| Error::damage(path, 0, message);
    let malformed = |error: ParquetError| damage(error.to_string());
    let footer = ParquetMetaDataReader::new().parse_and_finish(&content).map_err(malformed)?;
    let keys = footer.file_metadata().key_value_metadata().into_iter().flatten();
    let format = keys.filter(|pair| pair.key == FORMAT_KEY).find_map(|pair| pair.value.clone());
    let schema = match format.as_deref() {
        Some(FORMAT) => with_locations(&trace_schema()),
        Some(FIRST_FORMAT) => with_locations(&first_schema()),
        Some(newer) => {
            return Err(Error::Options(format!(
                "`{path}` has format {newer}, this program reads {FIRST_FORMAT} to {FORMAT}"
            )));
        }
        None => return Err(damage("expected the format of a segment".into())),
    };
    let found = footer.file_metadata().num_rows();
    // The Arrow schema embedded in the file is ignored; the expected one is used instead.
    let options = ArrowReaderOptions::new().with_schema(schema.clone());
    let metadata = ArrowReaderMetadata::try_new(Arc::new(footer), options).map_err(malformed)?;
    if metadata.schema().fields() != schema.fields() {
        return Err(damage("expected the columns of a segment".into()));
    }
    let rows = u32::try_from(found).ok().filter(|rows| u64::from(*rows) == expected_rows);
    let rows = rows.ok_or_else(|| damage(format!("expected {expected_rows} rows, found {found}")))?;
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(content, metadata);
    let reader = builder.with_batch_size(rows.max(1) as usize).build().map_err(malformed)?;
    let batches = reader.collect::<std::result::Result<Vec<_>, _>>();
    let batches = batches.map_err(|error| damage(error.to_string()))?;
    let whole = concat_batches(&schema, &batches).map_err(|error| damage(error.to_string()))?;
    if whole.num_rows() as u64 != expected_rows {
        return Err(damage(format!("expected {expected_rows} rows, found {}", whole.num_rows())));
    }
    Ok(whole)
}

/// Splits the searchable columns from the location columns, and completes rows of format 1.
///
/// # Errors
/// [`Error::Damage`] for columns of another type, [`Error::Storage`] if documents are needed and cannot be
/// read.
fn split_columns(path: &str, whole: &RecordBatch, documents: &SegmentDocuments) -> Result<SegmentRows> {
    let searchable = whole.num_columns() - LOCATION_COLUMNS.len();
    let location = |column: usize| whole.column(searchable + column).as_primitive::<UInt64Type>().clone();
    let locations = [location(0), location(1), location(2)];
    let columns: Vec<usize> = (0..searchable).collect();
    let batch = whole.project(&columns).map_err(|error| Error::damage(path, 0, error.to_string()))?;
    let is_whole = searchable == trace_schema().fields().len();
    let batch = if is_whole { batch } else { complete(&batch, locations.each_ref(), documents)? };
    Ok(SegmentRows { batch, locations })
}

/// Returns the schema of a trace batch with the location columns.
fn with_locations(schema: &Schema) -> SchemaRef {
    let locations = LOCATION_COLUMNS.map(|name| Arc::new(Field::new(name, DataType::UInt64, false)));
    Arc::new(Schema::new(schema.fields().iter().cloned().chain(locations).collect::<Vec<_>>()))
}
