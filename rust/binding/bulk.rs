//! Bulk transfer of spans between Python and the engine.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3_arrow::{PyRecordBatch, PySchema};

use super::arrow_input::{Check, stream_of};
use super::detach::detached;
use super::open_store::OpenStore;
use crate::bulk::records::{self, JsonPart, PartKind, RecordSpans};
use crate::bulk::{self, Download, DownloadProgress, Format, SpanFileJoiner, ZstdDecoder, encoded};
use crate::error::{Error, Result};
use crate::otlp::{self, Encoding};
use crate::placement::ShardMap;
use crate::schema;
use crate::time::now_micros;

/// A download in progress: an iterator over the chunks of a file.
#[pyclass(module = "spanwise._engine", name = "Download", frozen)]
pub(super) struct PyDownload {
    download: Mutex<Download>,
    /// The progress at the last chunk. Reading it never waits for the next chunk.
    progress: Mutex<DownloadProgress>,
}

impl PyDownload {
    pub(super) fn new(download: Download) -> Self {
        Self { progress: Mutex::new(download.progress()), download: Mutex::new(download) }
    }
}

#[pymethods]
impl PyDownload {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    /// The number of matching traces read so far, the number of traces read or skipped, and the total number
    /// of traces.
    #[getter]
    fn progress(&self) -> (u64, u64, u64) {
        let progress = *self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        (progress.traces, progress.passed, progress.total)
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Vec<u8>>> {
        detached(py, || {
            let mut download = self.download.lock().unwrap_or_else(PoisonError::into_inner);
            let chunk = download.next().transpose();
            *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = download.progress();
            chunk
        })
    }
}

/// Joins Arrow streams of spans into one file.
#[pyclass(module = "spanwise._engine", name = "SpanFileJoiner", frozen)]
pub(super) struct PySpanFileJoiner {
    joiner: Mutex<SpanFileJoiner>,
}

#[pymethods]
impl PySpanFileJoiner {
    /// Starts a file of a format: `parquet` or `arrow`.
    #[new]
    fn new(py: Python<'_>, format: &str) -> PyResult<Self> {
        detached(py, || Ok(Self { joiner: Mutex::new(SpanFileJoiner::new(Format::from_word(format)?)?) }))
    }

    /// Reads a chunk of the current stream. Returns the next bytes of the file, which may be empty.
    fn add(&self, py: Python<'_>, chunk: &[u8]) -> PyResult<Vec<u8>> {
        detached(py, || self.joiner.lock().unwrap_or_else(PoisonError::into_inner).add(chunk))
    }

    /// Ends the current stream. Another stream may follow.
    fn end_stream(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.joiner.lock().unwrap_or_else(PoisonError::into_inner).end_stream())
    }

    /// Ends the file. Returns the rest of it.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        detached(py, || self.joiner.lock().unwrap_or_else(PoisonError::into_inner).finish())
    }
}

/// Decompresses a zstd stream in chunks.
#[pyclass(module = "spanwise._engine", name = "ZstdDecoder", frozen)]
pub(super) struct PyZstdDecoder {
    decoder: Mutex<ZstdDecoder>,
}

#[pymethods]
impl PyZstdDecoder {
    #[new]
    fn new(py: Python<'_>) -> PyResult<Self> {
        detached(py, || Ok(Self { decoder: Mutex::new(ZstdDecoder::new()?) }))
    }

    /// Returns up to `max_bytes` of content, the number of consumed bytes of `data`, and `True` if a frame
    /// ends there.
    fn decompress(&self, py: Python<'_>, data: &[u8], max_bytes: usize) -> PyResult<(Vec<u8>, usize, bool)> {
        detached(py, || {
            self.decoder.lock().unwrap_or_else(PoisonError::into_inner).decompress(data, max_bytes)
        })
    }
}

/// Returns the spans of an OTLP message as an import reads them, with the current receipt time. Also returns
/// the number of spans that could not be decoded, and the first reason. Unlike a request, the message may
/// have any size.
#[pyfunction]
pub(super) fn otlp_spans(
    py: Python<'_>,
    body: PyBackedBytes,
    content_type: &str,
) -> PyResult<(PyRecordBatch, u64, String)> {
    let (batch, rejected, reason) = detached(py, || {
        let body = Bytes::from_owner(body);
        let (spans, rejected, reason) = otlp::split_message(&body, Encoding::of(content_type)?)?;
        Ok((encoded::batch_of(&body, &spans, now_micros())?, rejected, reason))
    })?;
    Ok((PyRecordBatch::new(batch), rejected, reason))
}

/// Encoded spans as an Arrow record batch, the total number of records, and the position and reason of each
/// invalid record.
type PyRecordSpans = (PyRecordBatch, usize, Vec<(usize, String)>);

fn to_python(spans: RecordSpans) -> PyRecordSpans {
    (PyRecordBatch::new(spans.batch), spans.count, spans.rejected)
}

/// Returns the subset of the column names `names` that an import of columnar spans reads.
#[pyfunction]
pub(super) fn columns_read(py: Python<'_>, names: Vec<String>) -> PyResult<Vec<String>> {
    detached(py, move || {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Ok(records::columns_read(&names)?.into_iter().map(str::to_owned).collect())
    })
}

/// Returns the spans of a batch with one column per span property.
#[pyfunction]
pub(super) fn spans_of_columns(py: Python<'_>, batch: PyRecordBatch) -> PyResult<PyRecordSpans> {
    let batch = batch.into_inner();
    detached(py, || records::spans_of_columns(&batch)).map(to_python)
}

/// The parts of a JSON text: type, start and end in the text, lines before it, and the signal or the
/// rejection reason. Then the number of bytes and lines that were read, and the number of further rejections.
type PyJsonSplit = (Vec<(&'static str, usize, usize, usize, String)>, usize, usize, usize);

/// Returns the parts of a text of JSON.
#[pyfunction]
pub(super) fn split_json(py: Python<'_>, text: &[u8], is_whole: bool) -> PyResult<PyJsonSplit> {
    let split = detached(py, || Ok(records::split_json(text, is_whole)))?;
    let parts = split.parts.into_iter().map(|JsonPart { kind, range, line }| {
        let (kind, detail) = match kind {
            PartKind::Otlp => ("otlp", String::new()),
            PartKind::OtherSignal(signal) => ("other_signal", signal.to_owned()),
            PartKind::Lines => ("lines", String::new()),
            PartKind::Document => ("document", String::new()),
            PartKind::Rejected(reason) => ("rejected", reason),
        };
        (kind, range.start, range.end, line, detail)
    });
    Ok((parts.collect(), split.used, split.lines, split.unlisted))
}

/// Returns the spans of a JSON document of records, or of one record per line.
#[pyfunction]
#[pyo3(signature = (text, *, lines))]
pub(super) fn spans_of_json(py: Python<'_>, text: &[u8], lines: bool) -> PyResult<PyRecordSpans> {
    let read = if lines { records::spans_of_json_lines } else { records::spans_of_json };
    detached(py, || read(text)).map(to_python)
}

/// Returns the decompressed size in bytes and the number of rows of an Arrow IPC message.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "pyo3 extracts owned values")]
pub(super) fn ipc_size(py: Python<'_>, metadata: PyBackedBytes, body: PyBackedBytes) -> PyResult<(u64, u64)> {
    detached(py, || bulk::ipc_size(&metadata, &body)).map(|size| (size.bytes, size.rows))
}

/// Returns the Arrow schema of import batches.
#[pyfunction]
pub(super) fn import_schema() -> PySchema {
    PySchema::new(encoded::import_schema())
}

/// Returns the Arrow schema of spans.
#[pyfunction]
pub(super) fn span_schema() -> PySchema {
    PySchema::new(bulk::span_schema())
}

/// Returns the Arrow schema of trace rows.
#[pyfunction]
pub(super) fn trace_schema() -> PySchema {
    PySchema::new(schema::trace_schema())
}

/// Imports all batches of `stream` into the stores of the shards of `map`. Returns the report as JSON.
pub(super) fn import_all(
    map: &ShardMap,
    stores: &[&OpenStore],
    stream: &Bound<'_, PyAny>,
    source: &str,
) -> PyResult<Vec<u8>> {
    let batches = stream_of(stream, Check::Full)?;
    detached(stream.py(), || {
        let stores = stores.iter().map(|store| store.writer()).collect::<Result<Vec<_>>>()?;
        let report = bulk::import_into_shards(map, &stores, batches, &bulk::ImportOptions::of(source))?;
        serde_json::to_vec(&report).map_err(|error| Error::storage("the report", error))
    })
}
