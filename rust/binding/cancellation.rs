//! The Python class `CancellationToken`.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::search::CancellationToken;

/// Cancels a running search.
#[pyclass(module = "spanwise._engine", name = "CancellationToken", frozen)]
#[derive(Default)]
pub(super) struct PyCancellationToken {
    token: Arc<CancellationToken>,
}

#[pymethods]
impl PyCancellationToken {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Cancels the search; it soon ends with `CancelledError`.
    fn cancel(&self) {
        self.token.cancel();
    }

    /// Whether it was cancelled.
    #[getter]
    fn is_cancelled(&self) -> bool {
        self.token.is_cancelled()
    }
}

/// Returns the token of `cancel`, or one that is never cancelled.
pub(super) fn token_of(cancel: Option<Bound<'_, PyCancellationToken>>) -> Arc<CancellationToken> {
    cancel.map_or_else(Arc::default, |cancel| cancel.get().token.clone())
}
