//! The Python class `FacetPlan`.

use pyo3::prelude::*;

use super::detach::detached;
use super::filter::PyFilter;
use super::running_call::{PyCancellationToken, token_of};
use super::store::PyTraceStore;
use crate::search::{FacetPlan, FacetRequest, Facets};

/// Facets that can be counted in one state of a store.
#[pyclass(module = "spanwise._engine", name = "FacetPlan", frozen)]
pub(super) struct PyFacetPlan {
    plan: FacetPlan,
}

#[pymethods]
impl PyFacetPlan {
    /// Plans the facets of the fields `keys` among the traces that match.
    #[new]
    #[pyo3(signature = (store, filter, keys, limit, prefix = None, exclude_own = false))]
    #[allow(
        clippy::needless_pass_by_value,
        clippy::too_many_arguments,
        reason = "keyword arguments of Python"
    )]
    fn new(
        py: Python<'_>,
        store: &PyTraceStore,
        filter: &PyFilter,
        keys: Vec<String>,
        limit: usize,
        prefix: Option<(String, String)>,
        exclude_own: bool,
    ) -> PyResult<Self> {
        let plan = detached(py, || {
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            let mut request = FacetRequest::new(&keys, limit)?.excluding_own(exclude_own);
            if let Some((key, text)) = &prefix {
                request = request.with_prefix(key, text)?;
            }
            FacetPlan::new(store.opened.present()?, &filter.filter, request)
        })?;
        Ok(Self { plan })
    }

    /// An upper bound of the memory that `run` takes, in bytes.
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
    facets: Facets,
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
