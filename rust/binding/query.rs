//! The Python classes of queries: `Query`, `Aggregation` and `Response`.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;

use super::detach::detached;
use super::filter::{PyFilter, PySpanFilter};
use super::open_store::OpenStore;
use super::running_call::{PyCancellationToken, token_of};
use crate::error::{Error, Result};
use crate::query::{Aggregation, Query, Request, Response};
use crate::storage::Snapshot;

/// A compiled query: immutable, and shared by threads.
#[pyclass(module = "spanwise._engine", name = "Query", frozen)]
pub(super) struct PyQuery {
    pub(super) query: Query,
}

#[pymethods]
impl PyQuery {
    /// Compiles a request in JSON over the traces that `filter` matches. A search for spans needs `spans`.
    #[new]
    #[pyo3(signature = (request, filter, spans = None))]
    fn new(
        py: Python<'_>,
        request: &[u8],
        filter: &PyFilter,
        spans: Option<Bound<'_, PySpanFilter>>,
    ) -> PyResult<Self> {
        let spans = spans.map(|spans| spans.get().filter.clone());
        detached(py, || {
            let (request, filter) = (Request::from_json(request)?, filter.filter.as_ref().clone());
            let query = match spans {
                Some(spans) => Query::of_spans(filter, spans, request),
                None => Query::new(filter, request),
            };
            Ok(Self { query })
        })
    }

    /// Returns the query of an aggregation, which has its own filter.
    #[staticmethod]
    fn of_aggregation(aggregation: &PyAggregation) -> Self {
        Self { query: Query::of_aggregation(aggregation.aggregation.as_ref().clone()) }
    }

    /// The id of the only trace that the query reads; `None` for other queries.
    #[getter]
    fn trace_id(&self) -> Option<&str> {
        self.query.trace_id()
    }
}

/// A compiled aggregation: immutable, and shared by threads.
#[pyclass(module = "spanwise._engine", name = "Aggregation", frozen)]
pub(super) struct PyAggregation {
    pub(super) aggregation: Arc<Aggregation>,
}

#[pymethods]
impl PyAggregation {
    /// Compiles the body of a request, given as JSON.
    #[staticmethod]
    fn compile(py: Python<'_>, source: &[u8]) -> PyResult<Self> {
        let aggregation = detached(py, || Aggregation::compile(source))?;
        Ok(Self { aggregation: Arc::new(aggregation) })
    }

    /// Returns this aggregation restricted to traces with `value` in `field`. The restriction is evaluated
    /// first.
    fn restrict(&self, py: Python<'_>, field: &str, value: &str) -> PyResult<Self> {
        let aggregation = detached(py, || self.aggregation.restrict(field, value))?;
        Ok(Self { aggregation: Arc::new(aggregation) })
    }

    /// Returns this aggregation for a caller. Its cached results count against that caller's share.
    fn for_tenant(&self, caller: &str) -> Self {
        Self { aggregation: Arc::new(self.aggregation.for_tenant(caller)) }
    }
}

/// The response to a query. Members without a meaning for its kind have their defaults.
#[pyclass(module = "spanwise._engine", name = "Response", frozen)]
pub(super) struct PyResponse {
    pub(super) response: Response,
}

#[pymethods]
impl PyResponse {
    /// The JSON of the items, numbers or item; `null` if the requested item does not exist.
    #[getter]
    fn data(&self) -> &[u8] {
        match &self.response {
            Response::Page(page) => &page.data,
            Response::Trace(json) => json.as_deref().unwrap_or(b"null"),
            Response::Aggregate(result) => &result.data,
            Response::Facets(facets) => &facets.data,
            Response::AttributeKeys(keys) => &keys.data,
        }
    }

    /// The number of items of all pages, of matching traces, or of found items.
    #[getter]
    fn total(&self) -> u64 {
        match &self.response {
            Response::Page(page) => page.total_count,
            Response::Trace(json) => u64::from(json.is_some()),
            Response::Aggregate(result) => result.matched,
            Response::Facets(facets) => facets.matched,
            Response::AttributeKeys(keys) => keys.matched,
        }
    }

    /// False if `total` is a lower bound.
    #[getter]
    fn is_exact(&self) -> bool {
        !matches!(&self.response, Response::Page(page) if !page.is_exact)
    }

    /// Damage of the items that are marked as damaged.
    #[getter]
    fn damage(&self) -> Vec<String> {
        if let Response::Page(page) = &self.response { page.damage.clone() } else { Vec::new() }
    }

    /// The number of attribute keys.
    #[getter]
    fn distinct(&self) -> u64 {
        if let Response::AttributeKeys(keys) = &self.response { keys.distinct } else { 0 }
    }

    /// The number of matching traces whose attributes are not indexed yet.
    #[getter]
    fn uncounted(&self) -> u64 {
        if let Response::AttributeKeys(keys) = &self.response { keys.uncounted } else { 0 }
    }

    /// The fields whose conditions still apply to their own facets.
    #[getter]
    fn not_excluded(&self) -> Vec<&'static str> {
        if let Response::Facets(facets) = &self.response { facets.not_excluded.clone() } else { Vec::new() }
    }
}

/// Returns the response of one open store. `reserve` is called with a number of bytes before facets or an aggregation
/// use them; its exception ends the query.
///
/// # Errors
/// The exception of `reserve`, and the exceptions of the query and the store.
pub(super) fn run(
    py: Python<'_>,
    store: &OpenStore,
    query: &Query,
    cancel: Option<Bound<'_, PyCancellationToken>>,
    reserve: Option<&Py<PyAny>>,
) -> PyResult<PyResponse> {
    let token = token_of(cancel);
    let rejected: Mutex<Option<PyErr>> = Mutex::default();
    let reserve = |bytes: u64| -> Result<()> {
        let Some(reserve) = reserve else { return Ok(()) };
        Python::attach(|py| reserve.call1(py, (bytes,))).map(|_| ()).map_err(|error| {
            *rejected.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            Error::Cancelled
        })
    };
    let ask = |snapshot: &Snapshot| query.run_within(snapshot, &reserve, &token);
    let response = detached(py, || store.answer(ask));
    match rejected.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => response.map(|response| PyResponse { response }),
    }
}
