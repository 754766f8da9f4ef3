//! The Python class `TraceStore`, and the functions about its requests.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3_arrow::PyRecordBatchReader;

use super::aggregate::{PyAggregation, PyPreparedAggregation};
use super::attributes::PyAttributeKeys;
use super::bulk::{PyDownload, import_all};
use super::cancellation::{PyCancellationToken, token_of};
use super::detach::detached;
use super::facets::{PyFacetPlan, facet_request};
use super::filter::{PyFilter, PySpanFilter};
use super::open_store::OpenStore;
use super::otlp::{PyIngestReport, PyLogIngestReport};
use super::page::PyPage;
use super::tail::PyTailFeed;
use crate::bulk::{self, Format};
use crate::error::{Error, Result};
use crate::otlp::{Encoding, Signal, SpanId, TraceId, response};
use crate::search::{
    self, CancellationToken, Detail, FacetPlan, Page, PageRequest, PreparedAggregation, RunView, Sort,
};
use crate::storage::{LogIngestReport, Options, Snapshot, TraceStore};
use crate::trace::values::ValuePart;

/// A durable store of traces with a single writer.
#[pyclass(module = "spanwise._engine", name = "TraceStore", frozen)]
pub(super) struct PyTraceStore {
    pub(super) opened: Arc<OpenStore>,
}

impl PyTraceStore {
    /// Returns the page that `search` finds in the present state.
    fn search(
        &self,
        py: Python<'_>,
        cancel: Option<Bound<'_, PyCancellationToken>>,
        search: impl FnOnce(&Snapshot, &CancellationToken) -> Result<Page> + Send,
    ) -> PyResult<PyPage> {
        let token = token_of(cancel);
        detached(py, || search(self.opened.present()?.as_ref(), &token)).map(PyPage::new)
    }
}

#[pymethods]
impl PyTraceStore {
    /// Opens the store at `url`, creating it if there is none.
    #[staticmethod]
    #[pyo3(signature = (url, options = None))]
    fn open(py: Python<'_>, url: &str, options: Option<&[u8]>) -> PyResult<Self> {
        let store = detached(py, || {
            let options: Options = serde_json::from_slice(options.unwrap_or(b"{}"))
                .map_err(|error| Error::Options(format!("expected store options as JSON: {error}")))?;
            TraceStore::open(url, options)
        })?;
        Ok(Self { opened: Arc::new(OpenStore::Writer(store)) })
    }

    /// Opens the current state of the store at `url` for reading; another process may be writing to it.
    #[staticmethod]
    fn open_read_only(py: Python<'_>, url: &str) -> PyResult<Self> {
        let snapshot = detached(py, || TraceStore::open_read_only(url))?;
        Ok(Self { opened: Arc::new(OpenStore::Reader(snapshot)) })
    }

    /// Verifies every object of a store that is not open; returns a report as JSON.
    #[staticmethod]
    fn check(py: Python<'_>, url: &str) -> PyResult<Vec<u8>> {
        detached(py, || {
            let report = TraceStore::check(url)?;
            serde_json::to_vec(&report).map_err(|error| Error::storage(url, error))
        })
    }

    /// Copies the store at `url` into the folder `target`, also while another process writes to it; returns what
    /// was copied as JSON.
    #[staticmethod]
    fn backup(py: Python<'_>, url: &str, target: &str) -> PyResult<Vec<u8>> {
        detached(py, || {
            let copied = TraceStore::backup(url, target)?;
            serde_json::to_vec(&copied).map_err(|error| Error::storage(url, error))
        })
    }

    /// Stores the spans of one OTLP request; returns once they are durable.
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
            let ingested = self.opened.writer()?.ingest_body(body, content_type, content_encoding)?;
            Ok(PyIngestReport {
                accepted_spans: ingested.accepted,
                rejected_spans: ingested.rejected,
                response: response::success(encoding, Signal::Traces, ingested.rejected, &ingested.reason),
                reason: ingested.reason,
                content_type: encoding.media_type(),
            })
        })
    }

    /// Stores what the log records of one OTLP request say of spans; returns once it is durable.
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
            let LogIngestReport { stored, dropped } =
                self.opened.writer()?.ingest_log_body(body, content_type, content_encoding)?;
            Ok(PyLogIngestReport {
                kept_records: stored.accepted,
                dropped_records: dropped,
                rejected_records: stored.rejected,
                response: response::success(encoding, Signal::Logs, stored.rejected, &stored.reason),
                reason: stored.reason,
                content_type: encoding.media_type(),
            })
        })
    }

    /// Returns one page of traces, in the order of `sort`: the key of a field and whether its least value comes first.
    /// With `matches` each has the spans and texts that made the filter match.
    #[pyo3(signature = (
        filter, page, limit, detail = "full", sort = ("start_time", false), ends_when_full = false,
        matches = false, cancel = None,
    ))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn search_runs(
        &self,
        py: Python<'_>,
        filter: &PyFilter,
        page: u64,
        limit: usize,
        detail: &str,
        sort: (&str, bool),
        ends_when_full: bool,
        matches: bool,
        cancel: Option<Bound<'_, PyCancellationToken>>,
    ) -> PyResult<PyPage> {
        self.search(py, cancel, |snapshot, token| {
            let request = PageRequest::new(page, limit)?.sorted(Sort::by(sort.0, sort.1)?);
            let view = RunView { detail: Detail::from_word(detail)?, with_matches: matches };
            let search = if ends_when_full { search::newest_runs } else { search::runs };
            search(snapshot, &filter.filter, request, view, token)
        })
    }

    /// Returns one page of trace ids, newest first, without reading the traces.
    #[pyo3(signature = (filter, page, limit, cancel = None))]
    fn search_ids(
        &self,
        py: Python<'_>,
        filter: &PyFilter,
        page: u64,
        limit: usize,
        cancel: Option<Bound<'_, PyCancellationToken>>,
    ) -> PyResult<PyPage> {
        self.search(py, cancel, |snapshot, token| {
            search::ids(snapshot, &filter.filter, PageRequest::new(page, limit)?, token)
        })
    }

    /// Returns one page of sessions, the one with the newest last trace first.
    #[pyo3(signature = (filter, page, limit, cancel = None))]
    fn search_sessions(
        &self,
        py: Python<'_>,
        filter: &PyFilter,
        page: u64,
        limit: usize,
        cancel: Option<Bound<'_, PyCancellationToken>>,
    ) -> PyResult<PyPage> {
        self.search(py, cancel, |snapshot, token| {
            search::sessions(snapshot, &filter.filter, PageRequest::new(page, limit)?, token)
        })
    }

    /// Returns one page of the spans that match, of matching traces: newest trace first, then in the order of the tree.
    #[pyo3(signature = (filter, spans, page, limit, ends_when_full = false, cancel = None))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn search_spans(
        &self,
        py: Python<'_>,
        filter: &PyFilter,
        spans: &PySpanFilter,
        page: u64,
        limit: usize,
        ends_when_full: bool,
        cancel: Option<Bound<'_, PyCancellationToken>>,
    ) -> PyResult<PyPage> {
        self.search(py, cancel, |snapshot, token| {
            let search = if ends_when_full { search::newest_spans } else { search::spans };
            search(snapshot, (&*filter.filter, &spans.filter), PageRequest::new(page, limit)?, token)
        })
    }

    /// Selects the traces of an aggregation in the present state, and finds their groups.
    #[pyo3(signature = (aggregation, cancel = None))]
    fn prepare(
        &self,
        py: Python<'_>,
        aggregation: &PyAggregation,
        cancel: Option<Bound<'_, PyCancellationToken>>,
    ) -> PyResult<PyPreparedAggregation> {
        let (token, aggregation) = (token_of(cancel), &aggregation.aggregation);
        detached(py, || PreparedAggregation::new(self.opened.present()?.as_ref(), aggregation, &token))
            .map(|prepared| PyPreparedAggregation { prepared })
    }

    /// Plans the facets of the fields `keys` among the traces that match.
    #[pyo3(signature = (filter, keys, limit, prefix = None, exclude_own = false))]
    #[allow(clippy::needless_pass_by_value, reason = "pyo3 extracts owned values")]
    fn plan_facets(
        &self,
        py: Python<'_>,
        filter: &PyFilter,
        keys: Vec<String>,
        limit: usize,
        prefix: Option<(String, String)>,
        exclude_own: bool,
    ) -> PyResult<PyFacetPlan> {
        detached(py, || {
            let request = facet_request(&keys, limit, (prefix.as_ref(), exclude_own))?;
            FacetPlan::new(self.opened.present()?, &filter.filter, request)
        })
        .map(|plan| PyFacetPlan { plan })
    }

    /// Counts the keys of attributes among the traces that match.
    #[pyo3(signature = (filter, limit, prefix = "", cancel = None))]
    fn attribute_keys(
        &self,
        py: Python<'_>,
        filter: &PyFilter,
        limit: usize,
        prefix: &str,
        cancel: Option<Bound<'_, PyCancellationToken>>,
    ) -> PyResult<PyAttributeKeys> {
        let (token, filter) = (token_of(cancel), &filter.filter);
        detached(py, || {
            search::attribute_keys(self.opened.present()?.as_ref(), filter, (prefix, limit), &token)
        })
        .map(PyAttributeKeys)
    }

    /// Returns what follows the store for all readers.
    fn tail_feed(&self) -> PyTailFeed {
        PyTailFeed::new(self.opened.clone())
    }

    /// Returns one trace as JSON; `None` if there is none or the filter does not match it.
    #[pyo3(signature = (trace_id, filter, detail = "full"))]
    fn trace(
        &self,
        py: Python<'_>,
        trace_id: &str,
        filter: &PyFilter,
        detail: &str,
    ) -> PyResult<Option<Vec<u8>>> {
        detached(py, || {
            let Some(trace_id) = TraceId::from_hex(trace_id) else { return Ok(None) };
            search::trace(
                self.opened.present()?.as_ref(),
                trace_id,
                &filter.filter,
                Detail::from_word(detail)?,
            )
        })
    }

    /// Returns a trace whose document is damaged as JSON: what its row holds, marked as damaged.
    #[pyo3(signature = (trace_id, filter, detail = "full"))]
    fn damaged_trace(
        &self,
        py: Python<'_>,
        trace_id: &str,
        filter: &PyFilter,
        detail: &str,
    ) -> PyResult<Option<Vec<u8>>> {
        detached(py, || {
            let Some(trace_id) = TraceId::from_hex(trace_id) else { return Ok(None) };
            search::damaged_trace(
                self.opened.present()?.as_ref(),
                trace_id,
                &filter.filter,
                Detail::from_word(detail)?,
            )
        })
    }

    /// Returns one span as JSON, without its children; `None` if there is none or the filter does not match its
    /// trace. Values longer than `max_bytes` are cut.
    #[pyo3(signature = (trace_id, span_id, filter, max_bytes = None))]
    fn span(
        &self,
        py: Python<'_>,
        trace_id: &str,
        span_id: &str,
        filter: &PyFilter,
        max_bytes: Option<usize>,
    ) -> PyResult<Option<Vec<u8>>> {
        detached(py, || {
            let ids = TraceId::from_hex(trace_id).zip(SpanId::from_hex(span_id));
            let Some((trace_id, span_id)) = ids else { return Ok(None) };
            search::span(self.opened.present()?.as_ref(), trace_id, span_id, &filter.filter, max_bytes)
        })
    }

    /// Returns a part of one value of a span as JSON: of the value at a path, from a byte on, at most so many bytes.
    fn value(
        &self,
        py: Python<'_>,
        trace_id: &str,
        span_id: &str,
        filter: &PyFilter,
        part: (&str, usize, Option<usize>),
    ) -> PyResult<Option<Vec<u8>>> {
        detached(py, || {
            let ids = TraceId::from_hex(trace_id).zip(SpanId::from_hex(span_id));
            let Some((trace_id, span_id)) = ids else { return Ok(None) };
            let wanted = ValuePart { path: part.0, from: part.1, max_bytes: part.2 };
            search::value(self.opened.present()?.as_ref(), trace_id, span_id, &filter.filter, &wanted)
        })
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
            bulk::Download::new(
                self.opened.present()?,
                filter.filter.as_ref().clone(),
                Format::from_word(format)?,
            )
        })
        .map(PyDownload::new)
    }

    /// Imports the spans of a stream of Arrow batches; returns a report as JSON.
    #[pyo3(signature = (stream, source = ""))]
    fn import_spans(&self, py: Python<'_>, stream: PyRecordBatchReader, source: &str) -> PyResult<Vec<u8>> {
        let reader = stream.into_reader()?;
        detached(py, || import_all(self.opened.writer()?, reader, source))
    }

    /// Deletes the matching traces and returns their number; a dry run only counts them.
    #[pyo3(signature = (filter, dry_run = false))]
    fn delete(&self, py: Python<'_>, filter: &PyFilter, dry_run: bool) -> PyResult<u64> {
        detached(py, || self.opened.writer()?.delete(&filter.filter, dry_run))
    }

    /// Seals the head.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.opened.writer()?.flush())
    }

    /// Seals the head and compacts all segments; a purge also removes everything deleted from disk.
    #[pyo3(signature = (purge = false))]
    fn compact(&self, py: Python<'_>, purge: bool) -> PyResult<()> {
        detached(py, || self.opened.writer()?.compact(purge))
    }

    /// Returns counts and sizes as JSON.
    fn stats(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        detached(py, || {
            serde_json::to_vec(&self.opened.writer()?.stats()).map_err(|error| Error::storage("stats", error))
        })
    }

    /// Closes the store and releases it to the next opener.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || match self.opened.as_ref() {
            OpenStore::Writer(store) => store.close(),
            OpenStore::Reader(_) => Ok(()),
        })
    }
}
