//! The Python classes `Aggregation` and `PreparedAggregation`.

use std::sync::Arc;

use pyo3::prelude::*;

use super::detach::detached;
use super::running_call::{PyCancellationToken, token_of};
use crate::search::{Aggregation, PreparedAggregation};

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

/// An aggregation with selected traces and known groups.
#[pyclass(module = "spanwise._engine", name = "PreparedAggregation", frozen)]
pub(super) struct PyPreparedAggregation {
    pub(super) prepared: PreparedAggregation,
}

#[pymethods]
impl PyPreparedAggregation {
    #[getter]
    fn max_bytes(&self) -> usize {
        self.prepared.max_bytes()
    }

    /// Computes the aggregation. Returns the response's `data` as JSON, and the number of matching traces.
    #[pyo3(signature = (cancel = None))]
    fn run(
        &self,
        py: Python<'_>,
        cancel: Option<Bound<'_, PyCancellationToken>>,
    ) -> PyResult<(Vec<u8>, u64)> {
        let token = token_of(cancel);
        detached(py, || self.prepared.run(&token)).map(|result| (result.data, result.matched))
    }
}
