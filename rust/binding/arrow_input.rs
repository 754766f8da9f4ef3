//! Arrow data of other libraries, which is checked before it is read.
//!
//! The C data interface does not include the lengths of buffers: a receiver derives them from the offsets. A
//! library that read the offsets from a file does not check them by default. A hostile file could therefore
//! make the engine read foreign memory. `PyArrow` knows its buffers, and validates them here. Any other
//! library is responsible for its data.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use arrow_array::{Array, RecordBatch};
use pyo3::exceptions::{PyException, PyStopIteration, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_arrow::input::AnyRecordBatch;
use pyo3_arrow::{PyRecordBatch, PyRecordBatchReader};

use super::errors;
use crate::error::{Error, Result};

/// The maximum number of rows in a batch. Columns of type `Null` have any number of rows in zero bytes.
const MAX_ROWS: usize = 1 << 32;

/// The level of validation of a `PyArrow` batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    /// The lengths of buffers against the last offsets. This takes microseconds and is sufficient for a
    /// reader that checks all other offsets.
    Lengths,
    /// Every offset, key and text.
    Full,
}

/// A record batch, or a stream of record batches.
pub(super) enum Batches {
    One(RecordBatch),
    Stream(BatchStream),
}

/// A stream of record batches.
pub(super) enum BatchStream {
    /// A `PyArrow` reader. Its batches are checked one by one.
    Reader(Py<PyAny>, Check),
    Other(Box<dyn arrow_array::RecordBatchReader + Send>),
}

/// Returns an object with the Arrow `PyCapsule` interface as a record batch or as a stream of record batches.
///
/// # Errors
/// `TypeError` for anything else; `BatchError` if `PyArrow` reports invalid data.
pub(super) fn batches_of(data: &Bound<'_, PyAny>, check: Check) -> PyResult<Batches> {
    let py = data.py();
    if !data.hasattr(intern!(py, "__arrow_c_array__"))? && !data.hasattr(intern!(py, "__arrow_c_stream__"))? {
        let found = data.get_type().name()?;
        let message = format!(
            "expected a record batch, table or stream of Arrow data (`__arrow_c_array__` or `__arrow_c_stream__`), got \
             `{found}`"
        );
        return Err(PyTypeError::new_err(message));
    }
    if is_pyarrow(data)? {
        if data.hasattr(intern!(py, "read_next_batch"))? {
            return Ok(Batches::Stream(BatchStream::Reader(data.clone().unbind(), check)));
        }
        validate(data, check)?;
    }
    Ok(match data.extract()? {
        AnyRecordBatch::RecordBatch(batch) => Batches::One(batch.into_inner()),
        AnyRecordBatch::Stream(stream) => Batches::Stream(BatchStream::Other(stream.into_reader()?)),
    })
}

/// Returns a stream of record batches.
///
/// # Errors
/// The errors of [`batches_of`].
pub(super) fn stream_of(data: &Bound<'_, PyAny>, check: Check) -> PyResult<BatchStream> {
    match batches_of(data, check)? {
        Batches::Stream(stream) => Ok(stream),
        Batches::One(_) => {
            let reader: PyRecordBatchReader = data.extract()?;
            Ok(BatchStream::Other(reader.into_reader()?))
        }
    }
}

/// Runs `read` on a batch. A panic because of an invalid batch becomes an error of the batch.
///
/// # Errors
/// The errors of `read`; [`Error::Batch`] if the batch is invalid.
pub(super) fn read_batch<T>(batch: &RecordBatch, read: impl FnOnce(&RecordBatch) -> Result<T>) -> Result<T> {
    if batch.num_rows() > MAX_ROWS {
        return Err(invalid(format!("a batch of {} rows, expected at most {MAX_ROWS}", batch.num_rows())));
    }
    catch_unwind(AssertUnwindSafe(|| read(batch)))
        .unwrap_or_else(|panic| fully_valid(batch).and_then(|()| resume_unwind(panic)))
}

impl Iterator for BatchStream {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Reader(reader, check) => Python::attach(|py| {
                next_of(reader.bind(py), *check).map_err(|error| Error::Batch(error.to_string())).transpose()
            }),
            Self::Other(reader) => reader.next().map(|batch| {
                let batch = batch.map_err(|error| Error::Batch(error.to_string()))?;
                fully_valid(&batch).map(|()| batch)
            }),
        }
    }
}

/// Returns the next batch of a `PyArrow` reader.
fn next_of(reader: &Bound<'_, PyAny>, check: Check) -> PyResult<Option<RecordBatch>> {
    let py = reader.py();
    let batch = match reader.call_method0(intern!(py, "read_next_batch")) {
        Err(error) if error.is_instance_of::<PyStopIteration>(py) => return Ok(None),
        batch => batch?,
    };
    validate(&batch, check)?;
    let batch: PyRecordBatch = batch.extract()?;
    Ok(Some(batch.into_inner()))
}

fn is_pyarrow(data: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(data.get_type().module()?.to_string_lossy().starts_with("pyarrow"))
}

/// Validates a record batch or a table with `PyArrow`.
fn validate(data: &Bound<'_, PyAny>, check: Check) -> PyResult<()> {
    let py = data.py();
    let options = PyDict::new(py);
    options.set_item(intern!(py, "full"), check == Check::Full)?;
    match data.call_method(intern!(py, "validate"), (), Some(&options)) {
        Err(error) if error.is_instance_of::<PyException>(py) => {
            Err(errors::to_exception(py, invalid(error.value(py))))
        }
        checked => checked.map(drop),
    }
}

fn fully_valid(batch: &RecordBatch) -> Result<()> {
    batch.columns().iter().try_for_each(|column| column.to_data().validate_full().map_err(invalid))
}

fn invalid(reason: impl std::fmt::Display) -> Error {
    Error::Batch(format!("expected valid Arrow data: {reason}"))
}
