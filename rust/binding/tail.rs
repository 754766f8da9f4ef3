//! The Python classes `Tail` and `TailFeed`: readers that follow a store.

use std::sync::Arc;
use std::time::Instant;

use pyo3::prelude::*;

use super::detach::detached;
use super::filter::PyFilter;
use super::open_store::OpenStore;
use crate::query::tail::{self, Polled, Tail};
use crate::storage::Changes;

/// A reader of the traces that match a filter.
#[pyclass(module = "spanwise._engine", name = "Tail", frozen)]
pub(super) struct PyTail {
    tail: Tail,
}

#[pymethods]
impl PyTail {
    /// Returns the number of the last event.
    #[getter]
    fn last(&self, py: Python<'_>) -> PyResult<u64> {
        detached(py, || Ok(self.tail.last()))
    }

    /// Rewinds to the position where event `number` was the last one. Returns `False` if that is not
    /// possible.
    fn rewind(&self, py: Python<'_>, number: u64) -> PyResult<bool> {
        detached(py, || Ok(self.tail.rewind(number)))
    }
}

/// An event: a number, a name and a JSON object.
type PyTailEvent = (u64, &'static str, Vec<u8>);

/// Follows one store for all its readers.
#[pyclass(module = "spanwise._engine", name = "TailFeed", frozen)]
pub(super) struct PyTailFeed {
    store: Arc<OpenStore>,
    changes: Arc<Changes>,
}

impl PyTailFeed {
    /// Follows a store.
    pub(super) fn new(store: Arc<OpenStore>) -> Self {
        Self { changes: store.changes(), store }
    }
}

#[pymethods]
impl PyTailFeed {
    /// Returns a number that grows with each change of a trace.
    #[getter]
    fn position(&self, py: Python<'_>) -> PyResult<u64> {
        detached(py, || Ok(self.store.known().changes()))
    }

    /// Returns a reader of future commits.
    fn open(&self, py: Python<'_>, filter: &PyFilter) -> PyResult<PyTail> {
        let tail =
            detached(py, || Ok(Tail::new(filter.filter.as_ref().clone(), self.store.present()?.changes())))?;
        Ok(PyTail { tail })
    }

    /// Updates distinct readers, and takes the next events of each, up to its given maximum. Returns the
    /// events, a flag for later events, and the errors of traces that were read.
    #[allow(clippy::needless_pass_by_value, reason = "pyo3 extracts owned values")]
    fn poll(
        &self,
        py: Python<'_>,
        readers: Vec<(Py<PyTail>, usize)>,
    ) -> PyResult<(Vec<Vec<PyTailEvent>>, bool, Vec<String>)> {
        let Polled { events, has_deferred, errors } = detached(py, || {
            let readers: Vec<(&Tail, usize)> =
                readers.iter().map(|(reader, count)| (&reader.get().tail, *count)).collect();
            tail::poll(self.store.present()?.as_ref(), &self.changes, &readers, Instant::now())
        })?;
        let events = events.into_iter().map(|of_reader| {
            of_reader.into_iter().map(|event| (event.number, event.kind.word(), event.body)).collect()
        });
        Ok((events.collect(), has_deferred, errors))
    }
}
