//! The Python class `Page`.

use pyo3::prelude::*;

use crate::search::Page;

/// One page of a search: a JSON array, and the total number of items.
#[pyclass(module = "spanwise._engine", name = "Page", frozen)]
pub(super) struct PyPage {
    page: Page,
}

impl PyPage {
    pub(super) fn new(page: Page) -> Self {
        Self { page }
    }
}

#[pymethods]
impl PyPage {
    #[getter]
    fn data(&self) -> &[u8] {
        &self.page.data
    }

    #[getter]
    fn total_count(&self) -> u64 {
        self.page.total_count
    }

    #[getter]
    fn is_exact(&self) -> bool {
        self.page.is_exact
    }

    #[getter]
    fn damage(&self) -> Vec<String> {
        self.page.damage.clone()
    }
}
