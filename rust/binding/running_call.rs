//! What a caller holds of a call that runs: the Python classes `CancellationToken` and `Progress`.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::progress::Progress;
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

/// How far a long operation on a store has come.
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

    /// How many units are done, and how many there are; 0 if that is not known.
    #[getter]
    fn done_of_total(&self) -> (u64, u64) {
        self.progress.done_of_total()
    }
}

/// Returns the progress that a caller watches, or one that nobody does.
pub(super) fn progress_of(watched: Option<Bound<'_, PyProgress>>) -> Progress {
    watched.map_or_else(Progress::default, |watched| watched.get().progress.clone())
}
