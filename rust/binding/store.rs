//! The Python class `TraceStore`, and functions for its requests.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3_arrow::PyRecordBatchReader;

use super::aggregate::{PyAggregation, PyPreparedAggregation};
use super::attributes::PyAttributeKeys;
use super::bulk::{PyDownload, import_all};
use super::detach::detached;
use super::facets::{PyFacetPlan, facet_request};
use super::filter::{PyFilter, PySpanFilter};
use super::open_store::{OpenStore, as_json};
use super::otlp::{PyIngestReport, PyLogIngestReport};
use super::page::PyPage;
use super::running_call::{PyCancellationToken, PyProgress, progress_of, token_of};
use super::tail::PyTailFeed;
use crate::bulk::{self, Format};
use crate::error::Result;
use crate::otlp::{Encoding, SpanId, TraceId};
use crate::placement::ShardMap;
use crate::search::{
    self, CancellationToken, Detail, FacetPlan, Page, PageRequest, PreparedAggregation, RunView, Sort,
};
use crate::storage::objects::store_folder::store_at;
use crate::storage::{Snapshot, TraceStore};
use crate::trace::values::ValuePart;

/// A durable store of traces with a single writer.
#[pyclass(module = "spanwise._engine", name = "TraceStore", frozen)]
pub(super) struct PyTraceStore {
    pub(super) opened: Arc<OpenStore>,
}

impl PyTraceStore {
    fn of(opened: OpenStore) -> Self {
        Self { opened: Arc::new(opened) }
    }

    /// Returns the page that `search` finds in the current state.
    fn search(
        &self,
        py: Python<'_>,
        cancel: Option<Bound<'_, PyCancellationToken>>,
        search: impl Fn(&Snapshot, &CancellationToken) -> Result<Page> + Send + Sync,
    ) -> PyResult<PyPage> {
        let token = token_of(cancel);
        detached(py, || self.opened.answer(|snapshot| search(snapshot, &token))).map(PyPage::new)
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

    /// Returns one page of traces, in the order of `sort`. With `matches`, each has the reason why the filter
    /// matched.
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

    /// Returns one page of trace ids, in the order of `sort`, without reading the traces.
    #[pyo3(signature = (filter, page, limit, sort = ("start_time", false), cancel = None))]
    fn search_ids(
        &self,
        py: Python<'_>,
        filter: &PyFilter,
        page: u64,
        limit: usize,
        sort: (&str, bool),
        cancel: Option<Bound<'_, PyCancellationToken>>,
    ) -> PyResult<PyPage> {
        self.search(py, cancel, |snapshot, token| {
            let request = PageRequest::new(page, limit)?.sorted(Sort::by(sort.0, sort.1)?);
            search::ids(snapshot, &filter.filter, request, token)
        })
    }

    /// Returns one page of sessions, sorted by their newest trace, newest first.
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

    /// Returns one page of the matching spans of matching traces: newest trace first, then in tree order.
    #[pyo3(signature = (filter, spans, page, limit, ends_when_full = false, with_matches = false, cancel = None))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn search_spans(
        &self,
        py: Python<'_>,
        filter: &PyFilter,
        spans: &PySpanFilter,
        page: u64,
        limit: usize,
        ends_when_full: bool,
        with_matches: bool,
        cancel: Option<Bound<'_, PyCancellationToken>>,
    ) -> PyResult<PyPage> {
        self.search(py, cancel, |snapshot, token| {
            let search = if ends_when_full { search::newest_spans } else { search::spans };
            let filters = (&*filter.filter, &spans.filter);
            let request = search::SpanPageRequest { page: PageRequest::new(page, limit)?, with_matches };
            search(snapshot, filters, request, token)
        })
    }

    /// Selects the traces of an aggregation in the current state, and finds their groups.
    #[pyo3(signature = (aggregation, cancel = None))]
    fn prepare(
        &self,
        py: Python<'_>,
        aggregation: &PyAggregation,
        cancel: Option<Bound<'_, PyCancellationToken>>,
    ) -> PyResult<PyPreparedAggregation> {
        let (token, wanted) = (token_of(cancel), &aggregation.aggregation);
        let prepare = |snapshot: &Snapshot| PreparedAggregation::new(snapshot, wanted, &token);
        detached(py, || self.opened.answer(prepare)).map(|prepared| PyPreparedAggregation { prepared })
    }

    /// Plans the facets of the fields `keys` among the matching traces.
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

    /// Counts the attribute keys among the matching traces.
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
        let count = |snapshot: &Snapshot| search::attribute_keys(snapshot, filter, (prefix, limit), &token);
        detached(py, || self.opened.answer(count)).map(PyAttributeKeys)
    }

    /// Returns the feed that follows the store for all readers.
    fn tail_feed(&self) -> PyTailFeed {
        PyTailFeed::new(self.opened.clone())
    }

    /// Returns one trace as JSON; `None` if it does not exist or the filter does not match it.
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
            let detail = Detail::from_word(detail)?;
            self.opened.answer(|snapshot| search::trace(snapshot, trace_id, &filter.filter, detail))
        })
    }

    /// Returns a trace with a damaged document as JSON: the fields of its row, marked as damaged.
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
            let detail = Detail::from_word(detail)?;
            self.opened.answer(|snapshot| search::damaged_trace(snapshot, trace_id, &filter.filter, detail))
        })
    }

    /// Returns one span as JSON, without its children; `None` in the same cases as [`Self::trace`]. Values
    /// longer than `max_bytes` are truncated.
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
            self.opened
                .answer(|snapshot| search::span(snapshot, trace_id, span_id, &filter.filter, max_bytes))
        })
    }

    /// Returns a part of one value of a span as JSON, given by its path, start byte and maximum size in
    /// bytes.
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
            self.opened.answer(|snapshot| search::value(snapshot, trace_id, span_id, &filter.filter, &wanted))
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
