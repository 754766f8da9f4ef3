//! Runs engine work without the interpreter lock.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;

use super::errors;
use crate::error::Result;

/// Runs `work` without the interpreter lock, and converts its error to a Python exception.
///
/// A panic means that the engine broke an invariant. It must reach the caller as an ordinary exception,
/// because a `PanicException` escapes `except Exception`.
pub(super) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    let outcome = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    match outcome {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(errors::to_exception(py, error)),
        Err(_) => Err(errors::broken_invariant()),
    }
}
