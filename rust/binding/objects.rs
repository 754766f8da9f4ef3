//! Single objects next to a store.

use pyo3::prelude::*;

use super::detach::detached;
use crate::storage::objects::single;

/// Creates an object at an address unless it exists. Returns `True` if it was created.
#[pyfunction]
pub(super) fn create_object(py: Python<'_>, url: &str, path: &str, content: &[u8]) -> PyResult<bool> {
    detached(py, || single::create_object(url, path, content.to_vec()))
}

/// Returns the content of an object; `None` if it does not exist.
#[pyfunction]
pub(super) fn read_object(py: Python<'_>, url: &str, path: &str) -> PyResult<Option<Vec<u8>>> {
    detached(py, || Ok(single::read_object(url, path)?.map(Into::into)))
}

/// Returns the paths of the objects in a folder, in order.
#[pyfunction]
pub(super) fn list_objects(py: Python<'_>, url: &str, folder: &str) -> PyResult<Vec<String>> {
    detached(py, || {
        let mut paths: Vec<String> =
            single::list_objects(url, folder)?.into_iter().map(|own| own.path).collect();
        paths.sort_unstable();
        Ok(paths)
    })
}
