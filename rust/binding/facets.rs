//! The Python class `FacetPlan`.

use pyo3::prelude::*;

use super::detach::detached;
use super::running_call::{PyCancellationToken, token_of};
use crate::error::Result;
use crate::search::{FacetPlan, FacetRequest, Facets};

/// Converts the arguments from Python to a facet request.
///
/// # Errors
/// The errors of [`FacetRequest::new`] and [`FacetRequest::with_prefix`].
pub(super) fn facet_request(
    keys: &[String],
    limit: usize,
    (prefix, exclude_own): (Option<&(String, String)>, bool),
) -> Result<FacetRequest> {
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let request = FacetRequest::new(&keys, limit)?.excluding_own(exclude_own);
    match prefix {
        Some((key, text)) => request.with_prefix(key, text),
        None => Ok(request),
    }
}

/// Facets that are ready to be counted in one state of a store.
#[pyclass(module = "spanwise._engine", name = "FacetPlan", frozen)]
pub(super) struct PyFacetPlan {
    pub(super) plan: FacetPlan,
}

#[pymethods]
impl PyFacetPlan {
    /// An upper bound of the memory of `run`, in bytes.
    #[getter]
    fn bytes(&self, py: Python<'_>) -> PyResult<u64> {
        detached(py, || self.plan.bytes())
    }

    /// Counts the facets.
    #[pyo3(signature = (cancel = None))]
    fn run(&self, py: Python<'_>, cancel: Option<Bound<'_, PyCancellationToken>>) -> PyResult<PyFacets> {
        let token = token_of(cancel);
        detached(py, || self.plan.run(&token)).map(|facets| PyFacets { facets })
    }
}

/// Counted facets.
#[pyclass(module = "spanwise._engine", name = "Facets", frozen)]
pub(super) struct PyFacets {
    pub(super) facets: Facets,
}

#[pymethods]
impl PyFacets {
    #[getter]
    fn data(&self) -> &[u8] {
        &self.facets.data
    }

    #[getter]
    fn matched(&self) -> u64 {
        self.facets.matched
    }

    #[getter]
    fn not_excluded(&self) -> Vec<&'static str> {
        self.facets.not_excluded.clone()
    }
}
