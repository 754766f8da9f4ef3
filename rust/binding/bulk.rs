//! Spans in bulk across the door.

use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatchReader;
use bytes::Bytes;
use pyo3::prelude::*;
use pyo3_arrow::{PyRecordBatch, PySchema};

use super::detached;
use crate::bulk::{self, Download, spans::batch_of};
use crate::error::{Error, Result};
use crate::otlp::{self, Encoding};
use crate::schema;
use crate::storage::TraceStore;
use crate::time::now_micros;

/// An export under way: an iterator over the pieces of a file.
#[pyclass(module = "spanwise._engine", name = "Export", frozen)]
pub(super) struct PyDownload {
    export: Mutex<Download>,
}

impl PyDownload {
    pub(super) fn new(export: Download) -> Self {
        Self { export: Mutex::new(export) }
    }
}

#[pymethods]
impl PyDownload {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Vec<u8>>> {
        detached(py, || self.export.lock().unwrap_or_else(PoisonError::into_inner).next().transpose())
    }
}

/// Returns the spans of an OTLP message as an export would show them, first received now; how many were
/// no spans, and why the first of them was none. Unlike a request it may have any size.
#[pyfunction]
pub(super) fn otlp_spans(
    py: Python<'_>,
    body: &[u8],
    content_type: &str,
) -> PyResult<(PyRecordBatch, u64, String)> {
    let (batch, rejected, reason) = detached(py, || {
        let body = Bytes::copy_from_slice(body);
        let (spans, rejected, reason) = otlp::spans_of(&body, Encoding::of(content_type)?)?;
        Ok((batch_of(&spans, now_micros())?, rejected, reason))
    })?;
    Ok((PyRecordBatch::new(batch), rejected, reason))
}

/// Returns the schema of spans in Arrow.
#[pyfunction]
pub(super) fn span_schema() -> PySchema {
    PySchema::new(bulk::span_schema())
}

/// Returns the schema of trace rows in Arrow.
#[pyfunction]
pub(super) fn trace_schema() -> PySchema {
    PySchema::new(schema::trace_schema())
}

/// Takes in all batches of `reader`.
pub(super) fn import_all(
    store: &TraceStore,
    reader: Box<dyn RecordBatchReader + Send>,
    source: &str,
) -> Result<Vec<u8>> {
    let batches = reader.map(|batch| batch.map_err(|fault| Error::Batch(fault.to_string())));
    let report = bulk::import(store, batches, &bulk::ImportOptions::of(source))?;
    serde_json::to_vec(&report).map_err(|fault| Error::storage("the report", fault))
}
