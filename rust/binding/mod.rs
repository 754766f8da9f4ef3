//! The FFI boundary between Python and the engine, and the only module that uses pyo3.
//!
//! A call converts its arguments, does all its work inside `py.detach`, and converts the result. Bytes go in and
//! bytes come out; classes are frozen; Rust never calls Python.

mod bulk;
mod detach;
mod errors;
mod filter;
mod otlp;
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
    use super::otlp::{PyIngestReport, PyLogIngestReport, PyMetricDropReport, drop_metrics, otlp_status};
    #[pymodule_export]
    use super::store::{PyCancellationToken, PyPage, PyTraceStore, set_conventions, set_page_memory_limit};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
