//! A trace and its spans as finished JSON (specification, "TraceDetail", "TraceNode").

use super::Trace;
use crate::error::Result;
use crate::otlp::SpanId;

/// Appends `trace` as a `TraceDetail` object.
///
/// # Errors
/// [`crate::error::Error::Decode`] if a kept span cannot be read.
pub fn write_trace(_out: &mut Vec<u8>, _trace: &Trace) -> Result<()> {
    todo!()
}

/// Appends one span as a `TraceNode` object without children; returns whether the trace has it.
///
/// # Errors
/// [`crate::error::Error::Decode`] if the kept span cannot be read.
pub fn write_span(_out: &mut Vec<u8>, _trace: &Trace, _span_id: SpanId) -> Result<bool> {
    todo!()
}
