//! Decodes OTLP requests into checked spans.
//!
//! A body is inflated within a limit, split into spans as protobuf or JSON, and each span is checked by itself: an
//! accepted span is kept as the bytes it arrived in, a rejected one is counted and described. The format is OTLP
//! 1.9 (<https://opentelemetry.io/docs/specs/otlp/>); only HTTP is served.

pub mod check;
pub mod decoded;
pub mod encoding;
pub mod ids;
pub mod inflate;
mod json;
pub mod limits;
#[allow(missing_docs, clippy::all, clippy::pedantic, reason = "generated")]
#[rustfmt::skip]
pub mod proto;
mod request;
pub mod response;
pub mod span_ref;
pub mod wire;

pub use decoded::{AcceptedSpan, DecodedRequest};
pub use encoding::Encoding;
pub use ids::{SpanId, TraceId};
pub use request::{decode, split_message};
pub use span_ref::SpanRef;
pub use wire::{Origin, WireSpan};
