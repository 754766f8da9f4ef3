//! Bulk transfer of spans between Python and the engine.

use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatchReader;
use bytes::Bytes;
use pyo3::prelude::*;
use pyo3_arrow::{PyRecordBatch, PySchema};

use super::detach::detached;
use crate::bulk::{self, Download, Format, SpanFileJoiner, spans::batch_of};
use crate::error::{Error, Result};
use crate::otlp::{self, Encoding};
use crate::schema;
use crate::storage::TraceStore;
use crate::time::now_micros;

/// A download in progress: an iterator over the chunks of a file.
#[pyclass(module = "spanwise._engine", name = "Download", frozen)]
pub(super) struct PyDownload {
    download: Mutex<Download>,
}

impl PyDownload {
    pub(super) fn new(download: Download) -> Self {
        Self { download: Mutex::new(download) }
    }
}

#[pymethods]
impl PyDownload {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Vec<u8>>> {
        detached(py, || self.download.lock().unwrap_or_else(PoisonError::into_inner).next().transpose())
    }
}

/// Joins Arrow streams of spans into one file.
#[pyclass(module = "spanwise._engine", name = "SpanFileJoiner", frozen)]
pub(super) struct PySpanFileJoiner {
    joiner: Mutex<SpanFileJoiner>,
}

#[pymethods]
impl PySpanFileJoiner {
    /// Begins a file of a format: `parquet` or `arrow`.
    #[new]
    fn new(py: Python<'_>, format: &str) -> PyResult<Self> {
        detached(py, || Ok(Self { joiner: Mutex::new(SpanFileJoiner::new(Format::from_word(format)?)?) }))
    }

    /// Reads a chunk of the present stream; returns what was written of the file, which may be nothing.
    fn add(&self, py: Python<'_>, chunk: &[u8]) -> PyResult<Vec<u8>> {
        detached(py, || self.joiner.lock().unwrap_or_else(PoisonError::into_inner).add(chunk))
    }

    /// Ends the present stream; another one may follow.
    fn end_stream(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.joiner.lock().unwrap_or_else(PoisonError::into_inner).end_stream())
    }

    /// Ends the file; returns the rest of it.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        detached(py, || self.joiner.lock().unwrap_or_else(PoisonError::into_inner).finish())
    }
}

/// Returns the spans of an OTLP message as a download would contain them, first received now; the number of spans
/// that could not be decoded, and the reason for the first of them. Unlike a request, the message may have any
/// size.
#[pyfunction]
pub(super) fn otlp_spans(
    py: Python<'_>,
    body: &[u8],
    content_type: &str,
) -> PyResult<(PyRecordBatch, u64, String)> {
    let (batch, rejected, reason) = detached(py, || {
        let body = Bytes::copy_from_slice(body);
        let (spans, rejected, reason) = otlp::split_message(&body, Encoding::of(content_type)?)?;
        Ok((batch_of(&spans, now_micros())?, rejected, reason))
    })?;
    Ok((PyRecordBatch::new(batch), rejected, reason))
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

/// Imports all batches of `reader`; returns the report as JSON.
pub(super) fn import_all(
    store: &TraceStore,
    reader: Box<dyn RecordBatchReader + Send>,
    source: &str,
) -> Result<Vec<u8>> {
    let batches = reader.map(|batch| batch.map_err(|error| Error::Batch(error.to_string())));
    let report = bulk::import(store, batches, &bulk::ImportOptions::of(source))?;
    serde_json::to_vec(&report).map_err(|error| Error::storage("the report", error))
}
