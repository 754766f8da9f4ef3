//! Process-wide settings for all stores.

use pyo3::prelude::*;

use super::detach::detached;
use crate::caller;
use crate::query;
use crate::trace::{conventions, cost};

/// Sets the process-wide limit on decoded document bytes of concurrent pages.
#[pyfunction]
pub(super) fn set_page_memory_limit(py: Python<'_>, bytes: u64) -> PyResult<()> {
    detached(py, || {
        query::set_page_memory_limit(bytes);
        Ok(())
    })
}

/// Puts the user's attribute names before the built-in conventions, in this process.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "pyo3 extracts owned values")]
pub(super) fn set_conventions(py: Python<'_>, lines: Vec<(String, String)>) -> PyResult<()> {
    detached(py, || conventions::set_conventions(&lines))
}

/// Puts the user's model prices before the built-in ones, in this process.
#[pyfunction]
#[pyo3(signature = (source))]
pub(super) fn set_prices(py: Python<'_>, source: Option<&[u8]>) -> PyResult<()> {
    detached(py, || cost::set_prices(source))
}

/// Sets the caller that this thread serves. Callers take turns in the engine.
#[pyfunction]
pub(super) fn serve_caller(name: &str) {
    caller::serve(name);
}
