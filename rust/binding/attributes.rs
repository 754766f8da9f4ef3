//! The keys of attributes.

use pyo3::prelude::*;

use super::detach::detached;
use super::filter::PyFilter;
use super::running_call::{PyCancellationToken, token_of};
use super::store::PyTraceStore;
use crate::search;

/// Counted keys of attributes.
#[pyclass(module = "spanwise._engine", name = "AttributeKeys", frozen)]
pub(super) struct PyAttributeKeys(search::AttributeKeys);

#[pymethods]
impl PyAttributeKeys {
    #[getter]
    fn data(&self) -> &[u8] {
        &self.0.data
    }

    #[getter]
    fn distinct(&self) -> u64 {
        self.0.distinct
    }

    #[getter]
    fn matched(&self) -> u64 {
        self.0.matched
    }

    #[getter]
    fn uncounted(&self) -> u64 {
        self.0.uncounted
    }
}

/// Counts the keys of attributes among the traces that match.
#[pyfunction]
#[pyo3(signature = (store, filter, limit, prefix = "", cancel = None))]
pub(super) fn attribute_keys(
    py: Python<'_>,
    store: &PyTraceStore,
    filter: &PyFilter,
    limit: usize,
    prefix: &str,
    cancel: Option<Bound<'_, PyCancellationToken>>,
) -> PyResult<PyAttributeKeys> {
    let token = token_of(cancel);
    let keys = detached(py, || {
        let prefix = (prefix, limit);
        store.opened.answer(|snapshot| search::attribute_keys(snapshot, &filter.filter, prefix, &token))
    });
    keys.map(PyAttributeKeys)
}
