//! Decodes OTLP requests into checked spans, and into fragments of spans.
//!
//! A body is inflated within a limit and split into spans as protobuf or JSON. Each span is checked
//! individually: an accepted span keeps its original bytes, and a rejected one is counted with a reason. Log
//! records are stored if they have content for a span. Metrics are not stored. The format is OTLP 1.9
//! (<https://opentelemetry.io/docs/specs/otlp/>); only HTTP is served.

pub mod check;
pub mod decoded;
pub mod encoding;
pub mod fragment;
pub mod ids;
pub mod inflate;
mod json;
pub mod limits;
pub mod logs;
pub mod metrics;
#[allow(missing_docs, clippy::all, clippy::pedantic, reason = "generated")]
#[rustfmt::skip]
pub mod proto;
mod request;
pub mod response;
pub mod span_ref;
pub mod wire;

pub use decoded::{AcceptedSpan, DecodedRequest};
pub use encoding::{Encoding, Signal};
pub use fragment::Fragment;
pub use ids::{SpanId, TraceId};
pub use logs::{DecodedLogs, decode_logs};
pub use metrics::count_metrics;
pub use request::{decode, split_message};
pub use span_ref::SpanRef;
pub use wire::{Origin, WireSpan};
