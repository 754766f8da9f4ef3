//! The FFI boundary between Python and the engine, and the only module that uses pyo3.
//!
//! A call converts its arguments, does all its work inside `py.detach`, and converts the result. Arguments
//! and results are bytes, and classes are frozen. Rust calls Python only to read and check the Arrow data of
//! a caller.

mod aggregate;
mod arrow_input;
mod attributes;
mod bulk;
mod detach;
mod errors;
mod facets;
mod filter;
mod objects;
mod open_store;
mod otlp;
mod page;
mod process;
mod running_call;
mod shards;
mod store;
mod tail;

use pyo3::prelude::*;

/// `spanwise._engine`, described by `_engine.pyi`.
#[pymodule]
mod _engine {
    #[pymodule_export]
    use super::aggregate::{PyAggregation, PyPreparedAggregation};
    #[pymodule_export]
    use super::attributes::PyAttributeKeys;
    #[pymodule_export]
    use super::bulk::{
        PyDownload, PySpanFileJoiner, PyZstdDecoder, columns_read, import_schema, ipc_size, otlp_spans,
        span_schema, spans_of_columns, spans_of_json, split_json, trace_schema,
    };
    #[pymodule_export]
    use super::facets::{PyFacetPlan, PyFacets};
    #[pymodule_export]
    use super::filter::{PyFilter, PySpanFilter, filter_schema};
    #[pymodule_export]
    use super::objects::{create_object, list_objects, read_object};
    #[pymodule_export]
    use super::otlp::{PyIngestReport, PyLogIngestReport, PyMetricDropReport, drop_metrics, otlp_status};
    #[pymodule_export]
    use super::page::PyPage;
    #[pymodule_export]
    use super::process::{serve_caller, set_conventions, set_page_memory_limit, set_prices};
    #[pymodule_export]
    use super::running_call::{PyCancellationToken, PyProgress};
    #[pymodule_export]
    use super::shards::{PyGathering, PyPinnedSearch, PyRequestSplitter, PySplitRequest, ingest_part};
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
