//! Handles of a running call: the Python classes `CancellationToken` and `Progress`.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::progress::Progress;
use crate::query::CancellationToken;

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

    /// Cancels the search, which soon ends with `CancelledError`.
    fn cancel(&self) {
        self.token.cancel();
    }

    /// Returns `True` if the search was cancelled.
    #[getter]
    fn is_cancelled(&self) -> bool {
        self.token.is_cancelled()
    }
}

/// Returns the token of `cancel`, or one that is never cancelled.
pub(super) fn token_of(cancel: Option<Bound<'_, PyCancellationToken>>) -> Arc<CancellationToken> {
    cancel.map_or_else(Arc::default, |cancel| cancel.get().token.clone())
}

/// The progress of a long operation on a store.
#[pyclass(module = "spanwise._engine", name = "Progress", frozen)]
#[derive(Default)]
pub(super) struct PyProgress {
    progress: Progress,
}

#[pymethods]
impl PyProgress {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// The number of completed units and the total; 0 if the total is unknown.
    #[getter]
    fn done_of_total(&self) -> (u64, u64) {
        self.progress.done_of_total()
    }
}

/// Returns the progress of `watched`, or a progress without a watcher.
pub(super) fn progress_of(watched: Option<Bound<'_, PyProgress>>) -> Progress {
    watched.map_or_else(Progress::default, |watched| watched.get().progress.clone())
}
