//! The Python class for attribute keys.

use pyo3::prelude::*;

use crate::search;

/// Counted keys of attributes.
#[pyclass(module = "spanwise._engine", name = "AttributeKeys", frozen)]
pub(super) struct PyAttributeKeys(pub(super) search::AttributeKeys);

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
