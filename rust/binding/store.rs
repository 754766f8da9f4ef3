//! The trace store across the door.

use std::sync::Arc;

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3_arrow::PyRecordBatchReader;

use super::bulk::{PyDownload, import_all};
use super::detached;
use super::filter::PyFilter;
use crate::bulk::{self, Format};
use crate::error::Error;
use crate::otlp::{self, Encoding, SpanId, TraceId, limits, response};
use crate::search::{self, CancellationToken, Detail, MAX_LIMIT, Page, PageRequest};
use crate::storage::{Options, Snapshot, TraceStore};
use crate::time::now_micros;

/// Withdraws a search that is under way.
#[pyclass(module = "spanwise._engine", name = "Cancel", frozen)]
#[derive(Default)]
pub(super) struct PyCancel {
    cancel: CancellationToken,
}

#[pymethods]
impl PyCancel {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Withdraws the search; it ends soon with `CancelledError`.
    fn cancel(&self) {
        self.cancel.cancel();
    }
}

/// What became of one export request.
#[pyclass(module = "spanwise._engine", name = "IngestReport", frozen, get_all)]
pub(super) struct PyIngestReport {
    accepted_spans: u64,
    rejected_spans: u64,
    reason: String,
    response: Vec<u8>,
    content_type: &'static str,
}

/// One page of a search: a finished JSON array and the exact number of items behind it.
#[pyclass(module = "spanwise._engine", name = "Page", frozen)]
pub(super) struct PyPage {
    page: Page,
}

#[pymethods]
impl PyPage {
    #[getter]
    fn data(&self) -> &[u8] {
        &self.page.data
    }

    #[getter]
    fn total_count(&self) -> u64 {
        self.page.total_count
    }
}

/// A durable store of traces; one writer per store.
#[pyclass(module = "spanwise._engine", name = "TraceStore", frozen)]
pub(super) struct PyTraceStore {
    opened: Opened,
}

/// How a store was opened.
enum Opened {
    /// To be changed, as its one writer.
    Writing(TraceStore),
    /// One state of it, whoever changes it.
    Reading(Arc<Snapshot>),
}

impl PyTraceStore {
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        match &self.opened {
            Opened::Writing(store) => store.snapshot(),
            Opened::Reading(snapshot) => snapshot.clone(),
        }
    }

    /// Returns what `search` finds of the page that a caller asks for by its number and limit.
    fn page(
        &self,
        py: Python<'_>,
        (page, limit): (u64, usize),
        cancel: Option<Bound<'_, PyCancel>>,
        search: impl FnOnce(&Snapshot, PageRequest, &CancellationToken) -> crate::error::Result<Page> + Send,
    ) -> PyResult<PyPage> {
        let cancel = cancel.map(Bound::unbind);
        detached(py, || search(&self.snapshot(), window(page, limit)?, withdrawal(cancel.as_ref())))
            .map(|page| PyPage { page })
    }

    pub(super) fn store(&self) -> crate::error::Result<&TraceStore> {
        match &self.opened {
            Opened::Writing(store) => Ok(store),
            Opened::Reading(_) => Err(Error::Options("the store was opened for reading only".into())),
        }
    }
}

#[pymethods]
impl PyTraceStore {
    /// Opens the store at `url`, a folder, creating it if there is none.
    #[staticmethod]
    #[pyo3(signature = (url, options = None))]
    fn open(py: Python<'_>, url: &str, options: Option<&[u8]>) -> PyResult<Self> {
        let store = detached(py, || {
            let options: Options = serde_json::from_slice(options.unwrap_or(b"{}"))
                .map_err(|fault| Error::Options(format!("expected store options as JSON: {fault}")))?;
            TraceStore::open(url, options)
        })?;
        Ok(Self { opened: Opened::Writing(store) })
    }

    /// Reads the present state of the store at `url`, which may be at work in another process.
    #[staticmethod]
    fn look(py: Python<'_>, url: &str) -> PyResult<Self> {
        let snapshot = detached(py, || TraceStore::look(url))?;
        Ok(Self { opened: Opened::Reading(snapshot) })
    }

    /// Verifies every object of a store that is not open; returns the findings as JSON.
    #[staticmethod]
    fn check(py: Python<'_>, url: &str) -> PyResult<Vec<u8>> {
        detached(py, || {
            let report = TraceStore::check(url)?;
            serde_json::to_vec(&report).map_err(|fault| Error::storage(url, fault))
        })
    }

    /// Copies the store at `url`, which may be at work in another process, into the folder `target`;
    /// returns what was copied as JSON.
    #[staticmethod]
    fn backup(py: Python<'_>, url: &str, target: &str) -> PyResult<Vec<u8>> {
        detached(py, || {
            let copied = TraceStore::backup(url, target)?;
            serde_json::to_vec(&copied).map_err(|fault| Error::storage(url, fault))
        })
    }

    /// Stores the spans of one OTLP export request; returns after they are durable.
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
            let most = limits::most_taken(body.len(), content_encoding);
            let decode = || {
                // The head keeps spans as slices of the body, so the engine needs bytes of its own.
                otlp::decode(Bytes::copy_from_slice(body), content_type, content_encoding, now_nanos())
            };
            let ingested = self.store()?.ingest_decoded(most, decode)?;
            Ok(PyIngestReport {
                accepted_spans: ingested.accepted,
                rejected_spans: ingested.rejected,
                response: response::success(encoding, ingested.rejected, &ingested.reason),
                reason: ingested.reason,
                content_type: encoding.media_type(),
            })
        })
    }

    /// Returns one page of traces, newest first.
    #[pyo3(signature = (filter, page, limit, detail = true, cancel = None))]
    fn search_runs(
        &self,
        py: Python<'_>,
        filter: &PyFilter,
        page: u64,
        limit: usize,
        detail: bool,
        cancel: Option<Bound<'_, PyCancel>>,
    ) -> PyResult<PyPage> {
        let shown = if detail { Detail::Full } else { Detail::Summary };
        self.page(py, (page, limit), cancel, |stored, window, withdrawn| {
            search::runs(stored, &filter.filter, window, shown, withdrawn)
        })
    }

    /// Returns one page of the ids of traces, newest first, without reading the traces.
    #[pyo3(signature = (filter, page, limit, cancel = None))]
    fn search_ids(
        &self,
        py: Python<'_>,
        filter: &PyFilter,
        page: u64,
        limit: usize,
        cancel: Option<Bound<'_, PyCancel>>,
    ) -> PyResult<PyPage> {
        self.page(py, (page, limit), cancel, |stored, window, withdrawn| {
            search::ids(stored, &filter.filter, window, withdrawn)
        })
    }

    /// Returns one page of sessions, newest last trace first.
    #[pyo3(signature = (filter, page, limit, cancel = None))]
    fn search_sessions(
        &self,
        py: Python<'_>,
        filter: &PyFilter,
        page: u64,
        limit: usize,
        cancel: Option<Bound<'_, PyCancel>>,
    ) -> PyResult<PyPage> {
        self.page(py, (page, limit), cancel, |stored, window, withdrawn| {
            search::sessions(stored, &filter.filter, window, withdrawn)
        })
    }

    /// Returns the JSON of one trace; `None` if there is none or the filter refuses it.
    fn trace(&self, py: Python<'_>, trace_id: &str, filter: &PyFilter) -> PyResult<Option<Vec<u8>>> {
        detached(py, || {
            let Some(trace_id) = TraceId::from_hex(trace_id) else { return Ok(None) };
            search::trace(&self.snapshot(), trace_id, &filter.filter)
        })
    }

    /// Returns the JSON of one span without its children; `None` likewise.
    fn span(
        &self,
        py: Python<'_>,
        trace_id: &str,
        span_id: &str,
        filter: &PyFilter,
    ) -> PyResult<Option<Vec<u8>>> {
        detached(py, || {
            let ids = TraceId::from_hex(trace_id).zip(SpanId::from_hex(span_id));
            let Some((trace_id, span_id)) = ids else { return Ok(None) };
            search::span(&self.snapshot(), trace_id, span_id, &filter.filter)
        })
    }

    /// Returns the rows of the traces that the filter matches, as a stream of Arrow batches.
    fn scan(&self, py: Python<'_>, filter: &PyFilter) -> PyResult<PyRecordBatchReader> {
        detached(py, || Ok(bulk::scan(self.snapshot(), filter.filter.as_ref().clone())))
            .map(|scan| PyRecordBatchReader::new(Box::new(scan)))
    }

    /// Returns the spans of the traces that the filter matches, as a stream of Arrow batches.
    fn export_spans(&self, py: Python<'_>, filter: &PyFilter) -> PyResult<PyRecordBatchReader> {
        detached(py, || Ok(bulk::spans(self.snapshot(), filter.filter.as_ref().clone())))
            .map(|spans| PyRecordBatchReader::new(Box::new(spans)))
    }

    /// Returns the traces that the filter matches as the bytes of a file, piece by piece.
    fn export(&self, py: Python<'_>, filter: &PyFilter, format: &str) -> PyResult<PyDownload> {
        detached(py, || {
            bulk::Download::new(self.snapshot(), filter.filter.as_ref().clone(), Format::from_word(format)?)
        })
        .map(PyDownload::new)
    }

    /// Takes in the spans of a stream of Arrow batches; returns what became of them as JSON.
    #[pyo3(signature = (stream, source = ""))]
    fn import_spans(&self, py: Python<'_>, stream: PyRecordBatchReader, source: &str) -> PyResult<Vec<u8>> {
        let reader = stream.into_reader()?;
        detached(py, || import_all(self.store()?, reader, source))
    }

    /// Deletes the traces that the filter matches and returns how many; a dry run only counts them.
    #[pyo3(signature = (filter, dry_run = false))]
    fn delete(&self, py: Python<'_>, filter: &PyFilter, dry_run: bool) -> PyResult<u64> {
        detached(py, || self.store()?.delete(&filter.filter, dry_run))
    }

    /// Seals everything that is not sealed yet.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.store()?.flush())
    }

    /// Seals and merges all there is; a purge leaves nothing on disk of what was deleted.
    #[pyo3(signature = (purge = false))]
    fn compact(&self, py: Python<'_>, purge: bool) -> PyResult<()> {
        detached(py, || self.store()?.compact(purge))
    }

    /// Returns counts and sizes as JSON.
    fn stats(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        detached(py, || {
            serde_json::to_vec(&self.store()?.stats()).map_err(|fault| Error::storage("stats", fault))
        })
    }

    /// Stops acknowledging and gives the store up to the next opener.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || match &self.opened {
            Opened::Writing(store) => store.close(),
            Opened::Reading(_) => Ok(()),
        })
    }
}

/// Returns a `google.rpc.Status` body for a refused export request.
#[pyfunction]
pub(super) fn otlp_status(
    py: Python<'_>,
    message: &str,
    content_type: &str,
    status: u16,
) -> PyResult<Vec<u8>> {
    detached(py, || Ok(response::failure(Encoding::of(content_type)?, status, message)))
}

/// Has all pages that are made at once be made from at most so many bytes of decoded documents.
#[pyfunction]
pub(super) fn limit_pages(py: Python<'_>, bytes: u64) -> PyResult<()> {
    detached(py, || {
        search::limit_pages(bytes);
        Ok(())
    })
}

fn window(page: u64, limit: usize) -> crate::error::Result<PageRequest> {
    if page == 0 || !(1..=MAX_LIMIT).contains(&limit) {
        return Err(Error::Options(format!(
            "expected a page from 1 and a limit from 1 to {MAX_LIMIT}, got page {page} and limit {limit}"
        )));
    }
    Ok(PageRequest { page, limit })
}

/// The withdrawal a caller may hold, or one that nobody holds.
fn withdrawal(cancel: Option<&Py<PyCancel>>) -> &CancellationToken {
    static NOBODY: std::sync::LazyLock<CancellationToken> =
        std::sync::LazyLock::new(CancellationToken::default);
    cancel.map_or(&NOBODY, |cancel| &cancel.get().cancel)
}

fn now_nanos() -> u64 {
    u64::try_from(now_micros()).unwrap_or(0).saturating_mul(crate::time::NANOS_PER_MICRO)
}
