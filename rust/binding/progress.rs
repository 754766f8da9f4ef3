//! The Python class `Progress`.

use pyo3::prelude::*;

use crate::progress::Progress;

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
