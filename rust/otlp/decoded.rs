//! What decoding a request yields: the accepted spans, and how many were rejected.

use bytes::Bytes;

use super::{SpanId, TraceId, WireSpan};

/// A span that passed every check, kept as the bytes it arrived in.
#[derive(Debug)]
pub struct AcceptedSpan {
    /// The trace it belongs to.
    pub trace_id: TraceId,
    /// Its id within the trace.
    pub span_id: SpanId,
    /// The bytes that are stored.
    pub wire: WireSpan,
}

/// The decoded content of one OTLP request.
#[derive(Debug, Default)]
pub struct DecodedRequest {
    /// The accepted spans, in order of arrival.
    pub spans: Vec<AcceptedSpan>,
    /// A `TracesData` message of exactly these spans, if the request body was one.
    pub message: Option<Bytes>,
    /// How many spans were rejected.
    pub rejected: u64,
    /// Why the first of them was rejected; empty if none was.
    pub reason: String,
}
