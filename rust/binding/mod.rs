//! The FFI boundary between Python and the engine, and the only module that uses pyo3.
//!
//! A call converts its arguments, does all its work inside `py.detach`, and converts the result. Arguments
//! and results are bytes, and classes are frozen. Rust calls Python only to read and check the Arrow data of
//! a caller, and to reserve memory.

mod arrow_input;
mod bulk;
mod detach;
mod errors;
mod filter;
mod leaves;
mod objects;
mod open_store;
mod otlp;
mod process;
mod query;
mod running_call;
mod shards;
mod store;
mod tail;

use pyo3::prelude::*;

/// `spanwise._engine`, described by `_engine.pyi`.
#[pymodule]
mod _engine {
    #[pymodule_export]
    use super::bulk::{
        PyDownload, PySpanFileJoiner, PyZstdDecoder, columns_read, import_schema, ipc_size, otlp_spans,
        span_schema, spans_of_columns, spans_of_json, split_json, trace_schema,
    };
    #[pymodule_export]
    use super::filter::{PyFilter, PySpanFilter, filter_schema};
    #[pymodule_export]
    use super::leaves::{PyPinnedLeaf, PyQueryRoot};
    #[pymodule_export]
    use super::objects::{create_object, list_objects, read_object};
    #[pymodule_export]
    use super::otlp::{PyIngestReport, PyLogIngestReport, PyMetricDropReport, drop_metrics, otlp_status};
    #[pymodule_export]
    use super::process::{serve_caller, set_conventions, set_page_memory_limit, set_prices};
    #[pymodule_export]
    use super::query::{PyAggregation, PyQuery, PyResponse};
    #[pymodule_export]
    use super::running_call::{PyCancellationToken, PyProgress};
    #[pymodule_export]
    use super::shards::{PyRequestSplitter, PySplitRequest, ingest_part};
    #[pymodule_export]
    use super::store::PyTraceStore;
    #[pymodule_export]
    use super::tail::{PyTail, PyTailFeed};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
