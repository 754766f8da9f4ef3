//! The Python classes `Filter` and `SpanFilter`.

mod source;

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3_arrow::{PyArray, PyChunkedArray};

use super::arrow_input::{BatchStream, Batches, Check, batches_of, read_batch};
use super::detach::detached;
use crate::error::{Error, Result};
use crate::filter::{Filter, SpanFilter};
use crate::query::{decode_filter, encode_filter};
use source::json_of;

/// A compiled filter expression: immutable, and shared by threads.
#[pyclass(module = "spanwise._engine", name = "Filter", frozen)]
pub(super) struct PyFilter {
    pub(super) filter: Arc<Filter>,
}

#[pymethods]
impl PyFilter {
    /// Compiles a filter expression from JSON text, or from the Python values of JSON.
    #[staticmethod]
    fn compile(py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let json = json_of(source)?;
        let filter = detached(py, || Ok(Filter::compile(&json)?))?;
        Ok(Self { filter: Arc::new(filter) })
    }

    /// Returns this filter AND `field EQ value`, which is evaluated first.
    fn restrict(&self, py: Python<'_>, field: &str, value: &str) -> PyResult<Self> {
        let filter = detached(py, || Ok(self.filter.restrict(field, value)?))?;
        Ok(Self { filter: Arc::new(filter) })
    }

    /// Returns this filter for a caller. Its cached results count against that caller's share.
    fn for_tenant(&self, caller: &str) -> Self {
        Self { filter: Arc::new(self.filter.for_tenant(caller)) }
    }

    /// Returns this filter and its restrictions as a message for `of_query`.
    fn to_query(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        detached(py, || Ok(encode_filter(&self.filter)))
    }

    /// Returns the filter of a message. Its restrictions are evaluated first.
    #[staticmethod]
    fn of_query(py: Python<'_>, query: &[u8]) -> PyResult<Self> {
        let filter = detached(py, || decode_filter(query))?;
        Ok(Self { filter: Arc::new(filter) })
    }

    /// Returns one boolean per row of an Arrow record batch, or of each batch of a table or stream. The
    /// result has no nulls.
    fn mask<'py>(&self, data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = data.py();
        match batches_of(&self.only_read(data)?, Check::Lengths)? {
            Batches::One(batch) => {
                let mask = detached(py, || read_batch(&batch, |batch| self.filter.mask(batch)))?;
                PyArray::from_array_ref(Arc::new(mask)).into_bound_py_any(py)
            }
            Batches::Stream(batches) => {
                let masks = detached(py, || masks_of(&self.filter, batches))?;
                let field = Field::new("", DataType::Boolean, true);
                PyChunkedArray::try_new(masks, Arc::new(field))?.into_bound_py_any(py)
            }
        }
    }

    /// Returns the expression as canonical JSON.
    fn canonical(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        detached(py, || Ok(self.filter.canonical().into_bytes()))
    }

    fn __repr__(&self) -> String {
        format!("Filter({})", self.filter.canonical())
    }
}

impl PyFilter {
    /// Returns a record batch with only the columns that the filter reads, if the library can select them by
    /// name, like `PyArrow`. Transferring a column takes about 1 µs, and some masks take only a few µs. Other
    /// batches are returned unchanged, so that missing columns give the usual error.
    fn only_read<'py>(&self, data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = data.py();
        let columns: Vec<&str> = self.filter.columns().into_iter().collect();
        if columns.is_empty() || !data.hasattr(intern!(py, "__arrow_c_array__"))? {
            return Ok(data.clone());
        }
        let Some(select) = data.getattr_opt(intern!(py, "select"))? else { return Ok(data.clone()) };
        match select.call1((columns,)) {
            Err(error) if error.is_instance_of::<PyException>(py) => Ok(data.clone()),
            selected => selected,
        }
    }
}

fn masks_of(filter: &Filter, batches: BatchStream) -> Result<Vec<ArrayRef>> {
    let mask = |batch: &RecordBatch| -> Result<ArrayRef> { Ok(Arc::new(filter.mask(batch)?)) };
    let read = |error| match error {
        Error::Batch(reason) => Error::Batch(format!("the stream of record batches failed: {reason}")),
        other => other,
    };
    batches.map(|batch| read_batch(&batch.map_err(read)?, mask)).collect()
}

/// A compiled condition on one span: immutable, and shared by threads.
#[pyclass(module = "spanwise._engine", name = "SpanFilter", frozen)]
pub(super) struct PySpanFilter {
    pub(super) filter: SpanFilter,
}

#[pymethods]
impl PySpanFilter {
    /// Compiles a condition on a span from JSON.
    #[staticmethod]
    fn compile(py: Python<'_>, source: &[u8]) -> PyResult<Self> {
        detached(py, || Ok(Self { filter: SpanFilter::compile(source)? }))
    }
}

/// Returns the response body of `/traces/filter-schema`.
#[pyfunction]
pub(super) fn filter_schema(py: Python<'_>) -> PyResult<Vec<u8>> {
    detached(py, || Ok(crate::filter::filter_schema_json().into_bytes()))
}
