//! Converts errors of the engine to the exceptions of `spanwise.errors`, which are defined in Python.

use pyo3::prelude::*;

use crate::error::Error;

mod exceptions {
    use pyo3::import_exception;

    import_exception!(spanwise.errors, SpanwiseError);
    import_exception!(spanwise.errors, FilterError);
    import_exception!(spanwise.errors, ValidationError);
    import_exception!(spanwise.errors, DecodeError);
    import_exception!(spanwise.errors, BatchError);
    import_exception!(spanwise.errors, PayloadTooLargeError);
    import_exception!(spanwise.errors, UnsupportedMediaTypeError);
    import_exception!(spanwise.errors, ConfigurationError);
    import_exception!(spanwise.errors, StoreError);
    import_exception!(spanwise.errors, StoreDamagedError);
    import_exception!(spanwise.errors, StoreLockedError);
    import_exception!(spanwise.errors, UnavailableError);
    import_exception!(spanwise.errors, StoreStoppedError);
    import_exception!(spanwise.errors, PinLostError);
    import_exception!(spanwise.errors, StoreClosedError);
    import_exception!(spanwise.errors, CancelledError);
}

pub(super) fn to_exception(_py: Python<'_>, error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Filter(error) => exceptions::FilterError::new_err((error.message, error.path)),
        Error::Request(_) => exceptions::ValidationError::new_err(text),
        Error::Decode(_) => exceptions::DecodeError::new_err(text),
        Error::Batch(_) => exceptions::BatchError::new_err(text),
        Error::TooLarge(_) => exceptions::PayloadTooLargeError::new_err(text),
        Error::MediaType(_) => exceptions::UnsupportedMediaTypeError::new_err(text),
        Error::Options(_) => exceptions::ConfigurationError::new_err(text),
        Error::Storage { .. } => exceptions::StoreError::new_err(text),
        Error::Damage { .. } => exceptions::StoreDamagedError::new_err(text),
        Error::Locked(_) => exceptions::StoreLockedError::new_err(text),
        Error::Busy(_) => exceptions::UnavailableError::new_err(text),
        Error::Stopped(_) => exceptions::StoreStoppedError::new_err(text),
        Error::PinLost => exceptions::PinLostError::new_err(text),
        Error::Closed => exceptions::StoreClosedError::new_err(text),
        Error::Cancelled => exceptions::CancelledError::new_err(text),
    }
}

/// Returns the exception for a panic in the engine. The panic message was written to standard error.
pub(super) fn broken_invariant() -> PyErr {
    exceptions::SpanwiseError::new_err("the engine broke one of its own invariants")
}
