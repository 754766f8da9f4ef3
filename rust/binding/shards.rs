//! The Python classes of searches over shards, and of requests that are divided among them.

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

/// One search over all shards: what to ask them, and what they answered.
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
    /// Searches for one page of traces, as `TraceStore.search_runs`.
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

    /// Searches for one page of sessions, as `TraceStore.search_sessions`.
    #[staticmethod]
    fn sessions(py: Python<'_>, shards: usize, filter: &PyFilter, page: u64, limit: usize) -> PyResult<Self> {
        let request = || PageRequest::new(page, limit);
        detached(py, || Ok(Self::new(Gathering::sessions(shards, &filter.filter, request()?))))
    }

    /// Searches for one page of spans, as `TraceStore.search_spans`.
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

    /// Counts and measures, as `Aggregation.prepare` and `PreparedAggregation.run`.
    #[staticmethod]
    fn aggregate(py: Python<'_>, shards: usize, aggregation: &PyAggregation) -> PyResult<Self> {
        detached(py, || Ok(Self::new(Gathering::aggregate(shards, &aggregation.aggregation))))
    }

    /// Counts facets, as `FacetPlan`.
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

    /// Counts the keys of attributes, as `attribute_keys`.
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

    /// Looks up one trace on one shard, as `TraceStore.trace`, or as `TraceStore.damaged_trace`.
    #[staticmethod]
    fn trace(trace_id: &str, filter: &PyFilter, detail: &str, is_damaged: bool) -> Self {
        Self::new(Gathering::trace(trace_id, &filter.filter, detail, is_damaged))
    }

    /// Looks up one span on one shard, as `TraceStore.span`.
    #[staticmethod]
    fn span(trace_id: &str, span_id: &str, filter: &PyFilter, max_bytes: Option<usize>) -> Self {
        Self::new(Gathering::span(trace_id, span_id, &filter.filter, max_bytes))
    }

    /// Looks up a part of a value on one shard, as `TraceStore.value`.
    #[staticmethod]
    fn value(trace_id: &str, span_id: &str, filter: &PyFilter, part: (&str, usize, Option<usize>)) -> Self {
        let wanted = ValuePart { path: part.0, from: part.1, max_bytes: part.2 };
        Self::new(Gathering::value(trace_id, span_id, &filter.filter, &wanted))
    }

    /// What the search is, for `PinnedSearch`.
    #[getter]
    fn query(&self) -> Vec<u8> {
        self.search.lock().unwrap_or_else(PoisonError::into_inner).query().to_vec()
    }

    /// Returns a question for every shard that is asked something; `None` once everything is known.
    fn questions(&self, py: Python<'_>) -> PyResult<Option<Vec<Option<Vec<u8>>>>> {
        detached(py, || self.search.lock().unwrap_or_else(PoisonError::into_inner).questions())
    }

    /// Takes the answers to `questions`, in that order.
    #[allow(clippy::needless_pass_by_value, reason = "pyo3 extracts owned values")]
    fn take(&self, py: Python<'_>, answers: Vec<Option<Vec<u8>>>) -> PyResult<()> {
        detached(py, || self.search.lock().unwrap_or_else(PoisonError::into_inner).take(&answers))
    }

    /// How much memory all shards together take at most from now on, in bytes; `None` while that is not known.
    #[getter]
    fn max_bytes(&self) -> Option<u64> {
        self.search.lock().unwrap_or_else(PoisonError::into_inner).max_bytes()
    }

    /// Returns the response's `data` of an aggregation as JSON, and the number of traces that match.
    fn numbers(&self, py: Python<'_>) -> PyResult<(Vec<u8>, u64)> {
        match self.found(py)? {
            Found::Aggregate(result) => Ok((result.data, result.matched)),
            _ => detached(py, || Err(another_kind("numbers"))),
        }
    }

    /// Returns the facets that were counted.
    fn counted_facets(&self, py: Python<'_>) -> PyResult<PyFacets> {
        match self.found(py)? {
            Found::Facets(facets) => Ok(PyFacets { facets }),
            _ => detached(py, || Err(another_kind("facets"))),
        }
    }

    /// Returns the keys of attributes that were counted.
    fn counted_keys(&self, py: Python<'_>) -> PyResult<PyAttributeKeys> {
        match self.found(py)? {
            Found::AttributeKeys(keys) => Ok(PyAttributeKeys(keys)),
            _ => detached(py, || Err(another_kind("keys of attributes"))),
        }
    }

    /// Returns the page that was searched for.
    fn page(&self, py: Python<'_>) -> PyResult<PyPage> {
        match self.found(py)? {
            Found::Page(page) => Ok(PyPage::new(page)),
            _ => detached(py, || Err(another_kind("a page"))),
        }
    }

    /// Returns what was looked up as JSON; `None` if there is no such, or the filter does not match the trace.
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

/// One search in the present state of one shard.
#[pyclass(module = "spanwise._engine", name = "PinnedSearch", frozen)]
pub(super) struct PyPinnedSearch {
    search: PinnedSearch,
    store: Arc<OpenStore>,
}

#[pymethods]
impl PyPinnedSearch {
    /// Pins the present state of `store` for the search that `Gathering.query` describes.
    #[new]
    fn new(py: Python<'_>, store: &PyTraceStore, query: &[u8]) -> PyResult<Self> {
        let store = store.opened.clone();
        detached(py, || Ok(Self { search: PinnedSearch::new(store.present()?, query)?, store }))
    }

    /// Answers one question of a `Gathering`.
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
            // What was answered before is of a state that cannot be read any more.
            if successor.is_some() { Err(Error::PinLost) } else { answer }
        })
    }
}

/// Divides OTLP requests among shards by trace.
#[pyclass(module = "spanwise._engine", name = "RequestSplitter", frozen)]
pub(super) struct PyRequestSplitter {
    shards: ShardMap,
    decoder: RequestDecoder,
}

#[pymethods]
impl PyRequestSplitter {
    /// Divides by the prefixes of shards; requests are decoded in about `max_decoding_bytes` bytes of memory.
    #[new]
    #[allow(clippy::needless_pass_by_value, reason = "pyo3 extracts owned values")]
    fn new(py: Python<'_>, prefixes: Vec<String>, max_decoding_bytes: u64) -> PyResult<Self> {
        detached(py, || {
            let shards = ShardMap::new(&prefixes)?;
            Ok(Self { shards, decoder: RequestDecoder::new(max_decoding_bytes) })
        })
    }

    /// Returns the number of the shard of a trace, given by its id in hexadecimal digits; `None` if it is no id.
    fn shard_of(&self, trace_id: &str) -> Option<usize> {
        TraceId::from_hex(trace_id).map(|trace_id| self.shards.shard_of(trace_id))
    }

    /// Imports a stream of spans into the stores of the shards, as `TraceStore.import_spans` does into one.
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

    /// Decodes, checks and divides the spans of one OTLP request.
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

    /// Decodes, checks and divides the log records of one OTLP request that carry content of a span.
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

/// What a shard says of its part of a request: accepted, rejected, and why the first of these was.
type Outcome = (u64, u64, String);

/// One OTLP request, divided among shards.
#[pyclass(module = "spanwise._engine", name = "SplitRequest", frozen)]
pub(super) struct PySplitRequest {
    request: SplitRequest,
    encoding: Encoding,
}

impl PySplitRequest {
    /// Returns the sums of outcomes, with what was rejected before.
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
    /// When the request was received, in microseconds since 1970.
    #[getter]
    fn received(&self) -> i64 {
        self.request.received
    }

    /// The parts of the shards that get one, in the order of arrival: the number of the shard, and the part.
    #[getter]
    fn parts(&self) -> Vec<(usize, Vec<u8>)> {
        let part = |(shard, part): &(usize, Bytes)| (*shard, part.to_vec());
        self.request.parts.iter().map(part).collect()
    }

    /// Returns the report on the spans, from what every shard says of its part, in the order of `parts`.
    fn report(&self, outcomes: Vec<Outcome>) -> PyIngestReport {
        PyIngestReport::new(self.encoding, self.sum(outcomes))
    }

    /// Returns the report on the log records, as `report` does of spans.
    fn log_report(&self, outcomes: Vec<Outcome>) -> PyLogIngestReport {
        PyLogIngestReport::new(self.encoding, self.sum(outcomes), self.request.dropped)
    }
}

/// Stores a shard's part of a request that was received at `received`, microseconds since 1970, and returns once it is
/// durable: how many spans and log records were accepted, how many rejected, and why the first of these was.
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
