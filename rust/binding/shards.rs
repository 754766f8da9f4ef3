//! The Python classes for searches over shards, and for requests that are split among shards.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use pyo3::prelude::*;

use super::aggregate::PyAggregation;
use super::attributes::PyAttributeKeys;
use super::bulk::import_all;
use super::detach::detached;
use super::facets::{PyFacets, facet_request};
use super::filter::{PyFilter, PySpanFilter};
use super::open_store::OpenStore;
use super::otlp::{PyIngestReport, PyLogIngestReport};
use super::page::PyPage;
use super::running_call::{PyCancellationToken, token_of};
use super::store::PyTraceStore;
use crate::error::{Error, Result};
use crate::ingest::{RequestDecoder, SplitRequest};
use crate::otlp::{Encoding, TraceId};
use crate::placement::ShardMap;
use crate::search::{Detail, Found, Gathering, PageRequest, PinnedSearch, RunView, Sort, SpanPageRequest};
use crate::storage::IngestReport;
use crate::trace::values::ValuePart;

/// One search over all shards: the requests to the shards, and their responses.
#[pyclass(module = "spanwise._engine", name = "Gathering", frozen)]
pub(super) struct PyGathering {
    search: Mutex<Gathering>,
}

impl PyGathering {
    fn new(search: Gathering) -> Self {
        Self { search: Mutex::new(search) }
    }

    fn found(&self, py: Python<'_>) -> PyResult<Found> {
        detached(py, || self.search.lock().unwrap_or_else(PoisonError::into_inner).found())
    }
}

#[pymethods]
impl PyGathering {
    /// Searches for one page of traces, like `TraceStore.search_runs`.
    #[staticmethod]
    #[pyo3(signature = (shards, filter, page, limit, detail, sort, ends_when_full, matches))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn runs(
        py: Python<'_>,
        shards: usize,
        filter: &PyFilter,
        page: u64,
        limit: usize,
        detail: &str,
        sort: (&str, bool),
        ends_when_full: bool,
        matches: bool,
    ) -> PyResult<Self> {
        detached(py, || {
            let request = PageRequest::new(page, limit)?.sorted(Sort::by(sort.0, sort.1)?);
            let view = RunView { detail: Detail::from_word(detail)?, with_matches: matches };
            Ok(Self::new(Gathering::runs(shards, &filter.filter, (request, ends_when_full), view)))
        })
    }

    /// Searches for one page of sessions, like `TraceStore.search_sessions`.
    #[staticmethod]
    fn sessions(py: Python<'_>, shards: usize, filter: &PyFilter, page: u64, limit: usize) -> PyResult<Self> {
        let request = || PageRequest::new(page, limit);
        detached(py, || Ok(Self::new(Gathering::sessions(shards, &filter.filter, request()?))))
    }

    /// Searches for one page of spans, like `TraceStore.search_spans`.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value, reason = "pyo3 extracts owned values")]
    fn spans(
        py: Python<'_>,
        shards: usize,
        filters: (Bound<'_, PyFilter>, Bound<'_, PySpanFilter>),
        page: (u64, usize),
        ends_when_full: bool,
        with_matches: bool,
    ) -> PyResult<Self> {
        let (filter, spans) = (filters.0.get(), filters.1.get());
        detached(py, || {
            let request = SpanPageRequest { page: PageRequest::new(page.0, page.1)?, with_matches };
            let filters = (filter.filter.as_ref(), &spans.filter);
            Ok(Self::new(Gathering::spans(shards, filters, (request, ends_when_full))))
        })
    }

    /// Aggregates, like `Aggregation.prepare` and `PreparedAggregation.run`.
    #[staticmethod]
    fn aggregate(py: Python<'_>, shards: usize, aggregation: &PyAggregation) -> PyResult<Self> {
        detached(py, || Ok(Self::new(Gathering::aggregate(shards, &aggregation.aggregation))))
    }

    /// Counts facets, like `FacetPlan`.
    #[staticmethod]
    #[pyo3(signature = (shards, filter, keys, limit, prefix, exclude_own))]
    #[allow(clippy::needless_pass_by_value, reason = "pyo3 extracts owned values")]
    fn facets(
        py: Python<'_>,
        shards: usize,
        filter: &PyFilter,
        keys: Vec<String>,
        limit: usize,
        prefix: Option<(String, String)>,
        exclude_own: bool,
    ) -> PyResult<Self> {
        detached(py, || {
            let request = facet_request(&keys, limit, (prefix.as_ref(), exclude_own))?;
            Ok(Self::new(Gathering::facets(shards, &filter.filter, request)?))
        })
    }

    /// Counts attribute keys, like `attribute_keys`.
    #[staticmethod]
    fn attribute_keys(
        py: Python<'_>,
        shards: usize,
        filter: &PyFilter,
        limit: usize,
        prefix: &str,
    ) -> PyResult<Self> {
        detached(py, || Ok(Self::new(Gathering::attribute_keys(shards, &filter.filter, (prefix, limit))?)))
    }

    /// Looks up one trace on one shard, like `TraceStore.trace`, or like `TraceStore.damaged_trace`.
    #[staticmethod]
    fn trace(trace_id: &str, filter: &PyFilter, detail: &str, is_damaged: bool) -> Self {
        Self::new(Gathering::trace(trace_id, &filter.filter, detail, is_damaged))
    }

    /// Looks up one span on one shard, like `TraceStore.span`.
    #[staticmethod]
    fn span(trace_id: &str, span_id: &str, filter: &PyFilter, max_bytes: Option<usize>) -> Self {
        Self::new(Gathering::span(trace_id, span_id, &filter.filter, max_bytes))
    }

    /// Looks up a part of a value on one shard, like `TraceStore.value`.
    #[staticmethod]
    fn value(trace_id: &str, span_id: &str, filter: &PyFilter, part: (&str, usize, Option<usize>)) -> Self {
        let wanted = ValuePart { path: part.0, from: part.1, max_bytes: part.2 };
        Self::new(Gathering::value(trace_id, span_id, &filter.filter, &wanted))
    }

    /// Returns the description of the search for `PinnedSearch`.
    #[getter]
    fn query(&self) -> Vec<u8> {
        self.search.lock().unwrap_or_else(PoisonError::into_inner).query().to_vec()
    }

    /// Returns one request per shard, or `None` for shards without a request; `None` after the search is
    /// finished.
    fn questions(&self, py: Python<'_>) -> PyResult<Option<Vec<Option<Vec<u8>>>>> {
        detached(py, || self.search.lock().unwrap_or_else(PoisonError::into_inner).questions())
    }

    /// Takes the responses to `questions`, in the same order.
    #[allow(clippy::needless_pass_by_value, reason = "pyo3 extracts owned values")]
    fn take(&self, py: Python<'_>, answers: Vec<Option<Vec<u8>>>) -> PyResult<()> {
        detached(py, || self.search.lock().unwrap_or_else(PoisonError::into_inner).take(&answers))
    }

    /// The maximum memory of all shards together from now on, in bytes; `None` while it is unknown.
    #[getter]
    fn max_bytes(&self) -> Option<u64> {
        self.search.lock().unwrap_or_else(PoisonError::into_inner).max_bytes()
    }

    /// Returns the response's `data` of an aggregation as JSON, and the number of matching traces.
    fn numbers(&self, py: Python<'_>) -> PyResult<(Vec<u8>, u64)> {
        match self.found(py)? {
            Found::Aggregate(result) => Ok((result.data, result.matched)),
            _ => detached(py, || Err(another_kind("numbers"))),
        }
    }

    /// Returns the counted facets.
    fn counted_facets(&self, py: Python<'_>) -> PyResult<PyFacets> {
        match self.found(py)? {
            Found::Facets(facets) => Ok(PyFacets { facets }),
            _ => detached(py, || Err(another_kind("facets"))),
        }
    }

    /// Returns the counted attribute keys.
    fn counted_keys(&self, py: Python<'_>) -> PyResult<PyAttributeKeys> {
        match self.found(py)? {
            Found::AttributeKeys(keys) => Ok(PyAttributeKeys(keys)),
            _ => detached(py, || Err(another_kind("keys of attributes"))),
        }
    }

    /// Returns the page of the search.
    fn page(&self, py: Python<'_>) -> PyResult<PyPage> {
        match self.found(py)? {
            Found::Page(page) => Ok(PyPage::new(page)),
            _ => detached(py, || Err(another_kind("a page"))),
        }
    }

    /// Returns the found item as JSON; `None` if it does not exist, or the filter does not match the trace.
    fn json(&self, py: Python<'_>) -> PyResult<Option<Vec<u8>>> {
        match self.found(py)? {
            Found::Trace(found) => Ok(found),
            _ => detached(py, || Err(another_kind("a trace"))),
        }
    }
}

fn another_kind(wanted: &str) -> Error {
    Error::Options(format!("expected a search for {wanted}, got another one"))
}

/// One search in a pinned state of one shard.
#[pyclass(module = "spanwise._engine", name = "PinnedSearch", frozen)]
pub(super) struct PyPinnedSearch {
    search: PinnedSearch,
    store: Arc<OpenStore>,
}

#[pymethods]
impl PyPinnedSearch {
    /// Pins the current state of `store` for the search that `Gathering.query` describes.
    #[new]
    fn new(py: Python<'_>, store: &PyTraceStore, query: &[u8]) -> PyResult<Self> {
        let store = store.opened.clone();
        detached(py, || Ok(Self { search: PinnedSearch::new(store.present()?, query)?, store }))
    }

    /// Answers one request of a `Gathering`.
    #[pyo3(signature = (question, cancel = None))]
    fn answer(
        &self,
        py: Python<'_>,
        question: &[u8],
        cancel: Option<Bound<'_, PyCancellationToken>>,
    ) -> PyResult<Vec<u8>> {
        let token = token_of(cancel);
        detached(py, || {
            let answer = self.search.answer(question, &token);
            let successor = self.store.successor_of(self.search.snapshot(), &answer)?;
            // The earlier answers came from a state that is no longer readable.
            if successor.is_some() { Err(Error::PinLost) } else { answer }
        })
    }
}

/// Splits OTLP requests among shards by trace.
#[pyclass(module = "spanwise._engine", name = "RequestSplitter", frozen)]
pub(super) struct PyRequestSplitter {
    shards: ShardMap,
    decoder: RequestDecoder,
}

#[pymethods]
impl PyRequestSplitter {
    /// Splits by the prefixes of shards. Decoding requests takes about `max_decoding_bytes` bytes of memory.
    #[new]
    #[allow(clippy::needless_pass_by_value, reason = "pyo3 extracts owned values")]
    fn new(py: Python<'_>, prefixes: Vec<String>, max_decoding_bytes: u64) -> PyResult<Self> {
        detached(py, || {
            let shards = ShardMap::new(&prefixes)?;
            Ok(Self { shards, decoder: RequestDecoder::new(max_decoding_bytes) })
        })
    }

    /// Returns the shard number of a trace, given by its hexadecimal id; `None` if the id is malformed.
    fn shard_of(&self, trace_id: &str) -> Option<usize> {
        TraceId::from_hex(trace_id).map(|trace_id| self.shards.shard_of(trace_id))
    }

    /// Imports a stream of spans into the stores of the shards, like `TraceStore.import_spans` for one store.
    #[allow(clippy::needless_pass_by_value, reason = "pyo3 extracts owned values")]
    fn import_spans(
        &self,
        stores: Vec<Bound<'_, PyTraceStore>>,
        stream: &Bound<'_, PyAny>,
        source: &str,
    ) -> PyResult<Vec<u8>> {
        let opened: Vec<&OpenStore> = stores.iter().map(|store| store.get().opened.as_ref()).collect();
        import_all(&self.shards, &opened, stream, source)
    }

    /// Decodes, checks and splits the spans of one OTLP request.
    #[pyo3(signature = (body, content_type, content_encoding = None))]
    fn split(
        &self,
        py: Python<'_>,
        body: &[u8],
        content_type: &str,
        content_encoding: Option<&str>,
    ) -> PyResult<PySplitRequest> {
        detached(py, || {
            let encoding = Encoding::of(content_type)?;
            let (request, _permits) = self.decoder.decode(body, content_type, content_encoding)?;
            Ok(PySplitRequest { request: request.split(&self.shards), encoding })
        })
    }

    /// Decodes, checks and splits the log records of one OTLP request that have content for a span.
    #[pyo3(signature = (body, content_type, content_encoding = None))]
    fn split_logs(
        &self,
        py: Python<'_>,
        body: &[u8],
        content_type: &str,
        content_encoding: Option<&str>,
    ) -> PyResult<PySplitRequest> {
        detached(py, || {
            let encoding = Encoding::of(content_type)?;
            let (request, _permits) = self.decoder.decode_logs(body, content_type, content_encoding)?;
            Ok(PySplitRequest { request: request.split(&self.shards), encoding })
        })
    }
}

/// A shard's result for its part of a request: accepted, rejected, and the first rejection reason.
type Outcome = (u64, u64, String);

/// One OTLP request, split among shards.
#[pyclass(module = "spanwise._engine", name = "SplitRequest", frozen)]
pub(super) struct PySplitRequest {
    request: SplitRequest,
    encoding: Encoding,
}

impl PySplitRequest {
    /// Returns the sums of the outcomes, including earlier rejections.
    fn sum(&self, outcomes: Vec<Outcome>) -> IngestReport {
        let start = IngestReport {
            accepted: 0,
            rejected: self.request.rejected,
            reason: self.request.reason.clone(),
        };
        outcomes.into_iter().fold(start, |sum, (accepted, rejected, reason)| IngestReport {
            accepted: sum.accepted + accepted,
            rejected: sum.rejected + rejected,
            reason: if sum.reason.is_empty() { reason } else { sum.reason },
        })
    }
}

#[pymethods]
impl PySplitRequest {
    /// The time when the request was received, in microseconds since 1970.
    #[getter]
    fn received(&self) -> i64 {
        self.request.received
    }

    /// The non-empty parts in the order of arrival: the shard number and the part.
    #[getter]
    fn parts(&self) -> Vec<(usize, Vec<u8>)> {
        let part = |(shard, part): &(usize, Bytes)| (*shard, part.to_vec());
        self.request.parts.iter().map(part).collect()
    }

    /// Returns the report for the spans from the outcomes of all parts, in the order of `parts`.
    fn report(&self, outcomes: Vec<Outcome>) -> PyIngestReport {
        PyIngestReport::new(self.encoding, self.sum(outcomes))
    }

    /// Returns the report for the log records, like `report` for spans.
    fn log_report(&self, outcomes: Vec<Outcome>) -> PyLogIngestReport {
        PyLogIngestReport::new(self.encoding, self.sum(outcomes), self.request.dropped)
    }
}

/// Stores a shard's part of a request that was received at `received`, microseconds since 1970. Returns after
/// it is durable: the number of accepted spans and log records, the number of rejected ones, and the first
/// rejection reason.
#[pyfunction]
pub(super) fn ingest_part(
    py: Python<'_>,
    store: &PyTraceStore,
    received: i64,
    part: &[u8],
) -> PyResult<Outcome> {
    detached(py, || -> Result<Outcome> {
        let report = store.opened.writer()?.ingest_part(received, part)?;
        Ok((report.accepted, report.rejected, report.reason))
    })
}
