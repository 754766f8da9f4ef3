//! The Python classes `Filter` and `SpanFilter`.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3_arrow::{PyArray, PyRecordBatch};

use super::detach::detached;
use crate::filter::{Filter, SpanFilter};

/// A compiled filter expression: immutable, shared by threads.
#[pyclass(module = "spanwise._engine", name = "Filter", frozen)]
pub(super) struct PyFilter {
    pub(super) filter: Arc<Filter>,
}

#[pymethods]
impl PyFilter {
    /// Compiles a filter expression given as JSON.
    #[staticmethod]
    fn compile(py: Python<'_>, source: &[u8]) -> PyResult<Self> {
        let filter = detached(py, || Ok(Filter::compile(source)?))?;
        Ok(Self { filter: Arc::new(filter) })
    }

    /// Returns this filter AND-ed with `field EQ value`, which is evaluated first.
    fn restrict(&self, py: Python<'_>, field: &str, value: &str) -> PyResult<Self> {
        let filter = detached(py, || Ok(self.filter.restrict(field, value)?))?;
        Ok(Self { filter: Arc::new(filter) })
    }

    /// Returns one boolean per row of an Arrow record batch; never null.
    fn mask(&self, py: Python<'_>, batch: PyRecordBatch) -> PyResult<PyArray> {
        let batch = batch.into_inner();
        let mask = detached(py, || self.filter.mask(&batch))?;
        Ok(PyArray::from_array_ref(Arc::new(mask)))
    }

    /// Returns the expression as canonical JSON.
    fn canonical(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        detached(py, || Ok(self.filter.canonical().into_bytes()))
    }

    fn __repr__(&self) -> String {
        format!("Filter({})", self.filter.canonical())
    }
}

/// A compiled condition on one span: immutable, shared by threads.
#[pyclass(module = "spanwise._engine", name = "SpanFilter", frozen)]
pub(super) struct PySpanFilter {
    pub(super) filter: SpanFilter,
}

#[pymethods]
impl PySpanFilter {
    /// Compiles a condition on a span given as JSON.
    #[staticmethod]
    fn compile(py: Python<'_>, source: &[u8]) -> PyResult<Self> {
        detached(py, || Ok(Self { filter: SpanFilter::compile(source)? }))
    }
}

/// Returns the response body of `/traces/filter-schema`.
#[pyfunction]
pub(super) fn filter_schema(py: Python<'_>) -> PyResult<Vec<u8>> {
    detached(py, || Ok(crate::filter::filter_schema_json().into_bytes()))
}
