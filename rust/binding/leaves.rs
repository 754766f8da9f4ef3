//! The Python classes of queries over several stores: `QueryRoot` and `PinnedLeaf`.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;

use super::detach::detached;
use super::open_store::OpenStore;
use super::query::{PyQuery, PyResponse};
use super::running_call::{PyCancellationToken, token_of};
use super::store::PyTraceStore;
use crate::error::Error;
use crate::query::{PinnedLeaf, Root};

/// A query over several stores: the requests to its leaves, and their merged response.
#[pyclass(module = "spanwise._engine", name = "QueryRoot", frozen)]
pub(super) struct PyQueryRoot {
    root: Mutex<Root>,
}

#[pymethods]
impl PyQueryRoot {
    /// Starts a query over `leaves` leaves; over one if it reads one trace.
    #[new]
    fn new(py: Python<'_>, query: &PyQuery, leaves: usize) -> PyResult<Self> {
        detached(py, || Ok(Self { root: Mutex::new(query.query.root(leaves)?) }))
    }

    /// The description of the query for `PinnedLeaf`.
    #[getter]
    fn query(&self) -> Vec<u8> {
        self.root.lock().unwrap_or_else(PoisonError::into_inner).query()
    }

    /// Returns one request per leaf, or `None` for leaves without a request; `None` once the query is finished.
    fn requests(&self, py: Python<'_>) -> PyResult<Option<Vec<Option<Vec<u8>>>>> {
        detached(py, || self.root.lock().unwrap_or_else(PoisonError::into_inner).requests())
    }

    /// Adds the responses to `requests`, in the same order.
    #[allow(clippy::needless_pass_by_value, reason = "pyo3 extracts owned values")]
    fn add(&self, py: Python<'_>, responses: Vec<Option<Vec<u8>>>) -> PyResult<()> {
        detached(py, || self.root.lock().unwrap_or_else(PoisonError::into_inner).add(&responses))
    }

    /// The maximum memory of all leaves together from now on, in bytes; `None` while it is unknown.
    #[getter]
    fn max_bytes(&self) -> Option<u64> {
        self.root.lock().unwrap_or_else(PoisonError::into_inner).max_bytes()
    }

    /// Returns the response. Call it once `requests` returns `None`.
    fn finish(&self, py: Python<'_>) -> PyResult<PyResponse> {
        detached(py, || self.root.lock().unwrap_or_else(PoisonError::into_inner).finish())
            .map(|response| PyResponse { response })
    }
}

/// One leaf of a query in a pinned state of a store.
#[pyclass(module = "spanwise._engine", name = "PinnedLeaf", frozen)]
pub(super) struct PyPinnedLeaf {
    leaf: PinnedLeaf,
    store: Arc<OpenStore>,
}

#[pymethods]
impl PyPinnedLeaf {
    /// Pins the current state of `store` for the query that `QueryRoot.query` describes.
    #[new]
    fn new(py: Python<'_>, store: &PyTraceStore, query: &[u8]) -> PyResult<Self> {
        let store = store.opened.clone();
        detached(py, || Ok(Self { leaf: PinnedLeaf::new(store.present()?, query)?, store }))
    }

    /// Returns the response to one request of a `QueryRoot`.
    #[pyo3(signature = (request, cancel = None))]
    fn respond(
        &self,
        py: Python<'_>,
        request: &[u8],
        cancel: Option<Bound<'_, PyCancellationToken>>,
    ) -> PyResult<Vec<u8>> {
        let token = token_of(cancel);
        detached(py, || {
            let response = self.leaf.respond(request, &token);
            let successor = self.store.successor_of(self.leaf.snapshot(), &response)?;
            // The earlier responses came from a state that is no longer readable.
            if successor.is_some() { Err(Error::PinLost) } else { response }
        })
    }
}
