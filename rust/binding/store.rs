//! The Python class `TraceStore`, and functions for its requests.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3_arrow::PyRecordBatchReader;

use super::bulk::{PyDownload, import_all};
use super::detach::detached;
use super::filter::PyFilter;
use super::open_store::{OpenStore, as_json};
use super::otlp::{PyIngestReport, PyLogIngestReport};
use super::query::{self, PyQuery, PyResponse};
use super::running_call::{PyCancellationToken, PyProgress, progress_of};
use super::tail::PyTailFeed;
use crate::bulk::{self, Format};
use crate::otlp::Encoding;
use crate::placement::ShardMap;
use crate::storage::TraceStore;
use crate::storage::objects::store_folder::store_at;

/// A durable store of traces with a single writer.
#[pyclass(module = "spanwise._engine", name = "TraceStore", frozen)]
pub(super) struct PyTraceStore {
    pub(super) opened: Arc<OpenStore>,
}

impl PyTraceStore {
    fn of(opened: OpenStore) -> Self {
        Self { opened: Arc::new(opened) }
    }
}

#[pymethods]
impl PyTraceStore {
    /// Opens the store at `url`, and creates it if it does not exist.
    #[staticmethod]
    #[pyo3(signature = (url, options = None, progress = None))]
    fn open(
        py: Python<'_>,
        url: &str,
        options: Option<&[u8]>,
        progress: Option<Bound<'_, PyProgress>>,
    ) -> PyResult<Self> {
        let progress = progress_of(progress);
        detached(py, || OpenStore::open(url, options, progress)).map(Self::of)
    }

    /// Follows the store at `url`, which another process writes to. If it does not exist yet, waits for it in
    /// the background.
    #[staticmethod]
    #[pyo3(signature = (url, options = None))]
    fn follow(py: Python<'_>, url: &str, options: Option<&[u8]>) -> PyResult<Self> {
        detached(py, || OpenStore::follow(url, options)).map(Self::of)
    }

    /// Followers only: returns the time through which the state is complete, in microseconds since 1970.
    #[getter]
    fn as_of(&self, py: Python<'_>) -> PyResult<Option<i64>> {
        detached(py, || Ok(self.opened.as_of()))
    }

    /// Followers only: reads everything acknowledged before the call.
    fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.opened.refresh())
    }

    /// Opens the current state of the store at `url` for reading. Another process may be writing to it.
    #[staticmethod]
    #[pyo3(signature = (url, progress = None))]
    fn open_read_only(py: Python<'_>, url: &str, progress: Option<Bound<'_, PyProgress>>) -> PyResult<Self> {
        let progress = progress_of(progress);
        detached(py, || OpenStore::read(url, &progress)).map(Self::of)
    }

    /// Verifies every object of a store. Returns a report as JSON.
    #[staticmethod]
    #[pyo3(signature = (url, progress = None))]
    fn check(py: Python<'_>, url: &str, progress: Option<Bound<'_, PyProgress>>) -> PyResult<Vec<u8>> {
        let progress = progress_of(progress);
        detached(py, || as_json(url, &TraceStore::check_watched(&store_at(url)?, &progress)?))
    }

    /// Copies the store at `url` to `target`, even while another process writes to it. Returns a report as
    /// JSON.
    #[staticmethod]
    #[pyo3(signature = (url, target, progress = None, indexes = true))]
    fn backup(
        py: Python<'_>,
        url: &str,
        target: &str,
        progress: Option<Bound<'_, PyProgress>>,
        indexes: bool,
    ) -> PyResult<Vec<u8>> {
        let progress = progress_of(progress);
        detached(py, || {
            as_json(url, &TraceStore::backup_watched(&store_at(url)?, target, indexes, &progress)?)
        })
    }

    /// Stores the spans of one OTLP request. Returns after they are durable.
    #[pyo3(signature = (body, content_type, content_encoding = None))]
    fn ingest(
        &self,
        py: Python<'_>,
        body: &[u8],
        content_type: &str,
        content_encoding: Option<&str>,
    ) -> PyResult<PyIngestReport> {
        detached(py, || {
            let encoding = Encoding::of(content_type)?;
            let stored = self.opened.writer()?.ingest_body(body, content_type, content_encoding)?;
            Ok(PyIngestReport::new(encoding, stored))
        })
    }

    /// Stores the span content in the log records of one OTLP request. Returns after it is durable.
    #[pyo3(signature = (body, content_type, content_encoding = None))]
    fn ingest_logs(
        &self,
        py: Python<'_>,
        body: &[u8],
        content_type: &str,
        content_encoding: Option<&str>,
    ) -> PyResult<PyLogIngestReport> {
        detached(py, || {
            let encoding = Encoding::of(content_type)?;
            let report = self.opened.writer()?.ingest_log_body(body, content_type, content_encoding)?;
            Ok(PyLogIngestReport::new(encoding, report.stored, report.dropped))
        })
    }

    /// Returns the feed that follows the store for all readers.
    fn tail_feed(&self) -> PyTailFeed {
        PyTailFeed::new(self.opened.clone())
    }

    /// Returns the response to a query. `reserve` is called with a number of bytes before facets or an aggregation use
    /// them; its exception ends the query.
    #[pyo3(signature = (query, cancel = None, reserve = None))]
    #[allow(clippy::needless_pass_by_value, reason = "pyo3 extracts owned values")]
    fn query(
        &self,
        py: Python<'_>,
        query: &PyQuery,
        cancel: Option<Bound<'_, PyCancellationToken>>,
        reserve: Option<Py<PyAny>>,
    ) -> PyResult<PyResponse> {
        query::run(py, &self.opened, &query.query, cancel, reserve.as_ref())
    }

    /// Returns the rows of the matching traces as a stream of Arrow batches.
    fn scan(&self, py: Python<'_>, filter: &PyFilter) -> PyResult<PyRecordBatchReader> {
        detached(py, || Ok(bulk::scan(self.opened.present()?, filter.filter.as_ref().clone())))
            .map(|scan| PyRecordBatchReader::new(Box::new(scan)))
    }

    /// Returns the spans of the matching traces as a stream of Arrow batches.
    fn export_spans(&self, py: Python<'_>, filter: &PyFilter) -> PyResult<PyRecordBatchReader> {
        detached(py, || Ok(bulk::spans(self.opened.present()?, filter.filter.as_ref().clone())))
            .map(|spans| PyRecordBatchReader::new(Box::new(spans)))
    }

    /// Returns the matching traces as the bytes of a file, in chunks.
    fn export(&self, py: Python<'_>, filter: &PyFilter, format: &str) -> PyResult<PyDownload> {
        detached(py, || {
            let format = Format::from_word(format)?;
            bulk::Download::new(self.opened.present()?, filter.filter.as_ref().clone(), format)
        })
        .map(PyDownload::new)
    }

    /// Imports the spans of a stream of Arrow batches. Returns a report as JSON.
    #[pyo3(signature = (stream, source = ""))]
    fn import_spans(&self, stream: &Bound<'_, PyAny>, source: &str) -> PyResult<Vec<u8>> {
        import_all(&ShardMap::whole(), &[&self.opened], stream, source)
    }

    /// Deletes the matching traces and returns their number. A dry run only counts them.
    #[pyo3(signature = (filter, dry_run = false))]
    fn delete(&self, py: Python<'_>, filter: &PyFilter, dry_run: bool) -> PyResult<u64> {
        detached(py, || self.opened.writer()?.delete(&filter.filter, dry_run))
    }

    /// Flushes the head.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.opened.writer()?.flush())
    }

    /// Flushes the head and compacts all segments. A purge also removes all deleted data from disk.
    #[pyo3(signature = (purge = false))]
    fn compact(&self, py: Python<'_>, purge: bool) -> PyResult<()> {
        detached(py, || self.opened.writer()?.compact(purge))
    }

    /// Returns counts and sizes as JSON.
    fn stats(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        detached(py, || as_json("stats", &self.opened.stats()?))
    }

    /// Closes the store, so that another process can open it.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.opened.close())
    }
}
