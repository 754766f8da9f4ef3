//! OTLP bytes -> spans: how does a request body become spans we can trust?
//!
//! A body is inflated within a limit, taken apart as protobuf or JSON, and each span is checked:
//! what passes is kept as the bytes it came in, what does not is counted and named. The format is
//! OTLP 1.9 (<https://opentelemetry.io/docs/specs/otlp/>); only HTTP is served.

pub mod ids;
#[allow(missing_docs, clippy::all, clippy::pedantic, reason = "generated")]
#[rustfmt::skip]
pub mod proto;
pub mod wire;

pub use ids::{SpanId, TraceId};
pub use wire::{Origin, WireSpan};

use bytes::Bytes;

use crate::error::Result;

/// One accepted span: checked, decoded once, and kept as it came.
#[derive(Debug)]
pub struct AcceptedSpan {
    /// The decoded message, for whoever derives facts from it; not kept.
    pub message: proto::Span,
    /// The trace it belongs to.
    pub trace_id: TraceId,
    /// The span itself.
    pub span_id: SpanId,
    /// The bytes that are stored.
    pub wire: WireSpan,
}

/// What one request brought.
#[derive(Debug, Default)]
pub struct Export {
    /// The spans that passed every check, in order of arrival.
    pub spans: Vec<AcceptedSpan>,
    /// How many spans did not pass.
    pub rejected: u64,
    /// Why the first of them did not, or empty.
    pub reason: String,
}

/// The encoding of a request and of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// `application/x-protobuf`.
    Protobuf,
    /// `application/json`.
    Json,
}
