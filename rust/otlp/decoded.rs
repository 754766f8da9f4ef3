//! The result of decoding a request: the accepted spans, and the number of rejected ones.

use bytes::Bytes;

use super::{SpanId, TraceId, WireSpan};

/// A span that passed every check, with its original bytes.
#[derive(Debug)]
pub struct AcceptedSpan {
    /// The id of its trace.
    pub trace_id: TraceId,
    /// Its id within the trace.
    pub span_id: SpanId,
    /// The stored bytes.
    pub wire: WireSpan,
}

/// The decoded content of one OTLP request.
#[derive(Debug, Default)]
pub struct DecodedRequest {
    /// The accepted spans, in order of arrival.
    pub spans: Vec<AcceptedSpan>,
    /// A `TracesData` message with exactly these spans, if the request body was one.
    pub message: Option<Bytes>,
    /// The number of rejected spans.
    pub rejected: u64,
    /// The reason for the first rejection; empty if there was no rejection.
    pub reason: String,
}
