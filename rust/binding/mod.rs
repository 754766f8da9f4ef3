//! The only pyo3: the door between Python and the engine.
//!
//! A crossing has three steps: convert in, do all the work inside `py.detach`, convert out. Bytes go
//! in and bytes come out; classes are frozen; Rust never calls Python.

mod bulk;
mod errors;
mod filter;
mod store;

use pyo3::prelude::*;

/// `spanwise._engine`, described by `_engine.pyi`.
#[pymodule]
mod _engine {
    #[pymodule_export]
    use super::bulk::{PyDownload, otlp_spans, span_schema, trace_schema};
    #[pymodule_export]
    use super::filter::{PyFilter, filter_schema};
    #[pymodule_export]
    use super::store::{PyCancel, PyIngestReport, PyPage, PyTraceStore, limit_pages, otlp_status};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// Runs `work` without the interpreter and turns what it refuses into the exception of that meaning.
///
/// A panic is an invariant broken in the engine; it must reach the caller as an ordinary exception,
/// because a `PanicException` escapes `except Exception`.
fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> crate::error::Result<T> + Send) -> PyResult<T> {
    let outcome = py.detach(|| std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)));
    match outcome {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(errors::to_exception(py, error)),
        Err(_) => Err(errors::broken_invariant()),
    }
}
