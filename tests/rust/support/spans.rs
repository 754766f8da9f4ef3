//! Concise construction of spans and requests.

use bytes::Bytes;
use prost::Message as _;
use spanwise::otlp::proto::{self, any_value::Value};
use spanwise::otlp::{self, DecodedRequest};

/// 2026-01-01T00:00:00Z in nanoseconds since 1970.
pub(crate) const EPOCH: u64 = 1_767_225_600_000_000_000;
/// One millisecond in nanoseconds.
pub(crate) const MILLISECOND: u64 = 1_000_000;

/// Returns a span of trace number `trace`, one second long, `start` milliseconds after [`EPOCH`].
pub(crate) fn span(trace: u64, id: u64, start: u64) -> proto::Span {
    let trace_id = [1_u64.to_be_bytes(), trace.to_be_bytes()].concat();
    proto::Span {
        trace_id: trace_id.into(),
        span_id: id.to_be_bytes().to_vec().into(),
        name: format!("span-{id}"),
        start_time_unix_nano: EPOCH + start * MILLISECOND,
        end_time_unix_nano: EPOCH + (start + 1_000) * MILLISECOND,
        ..proto::Span::default()
    }
}

/// Returns `span` as a child of the span with id `parent`.
pub(crate) fn below(mut span: proto::Span, parent: u64) -> proto::Span {
    span.parent_span_id = parent.to_be_bytes().to_vec().into();
    span
}

/// Returns `span` with another text attribute.
pub(crate) fn with(mut span: proto::Span, key: &str, value: &str) -> proto::Span {
    let value = Some(proto::AnyValue { value: Some(Value::StringValue(value.into())) });
    span.attributes.push(proto::KeyValue { key: key.into(), value, ..proto::KeyValue::default() });
    span
}

/// Returns `span` with an error status.
pub(crate) fn failed(mut span: proto::Span, message: &str) -> proto::Span {
    span.status = Some(proto::Status { code: 2, message: message.into() });
    span
}

/// Returns the encoded body of an OTLP request with `spans`.
pub(crate) fn body(spans: &[proto::Span]) -> Bytes {
    body_from(&[], spans)
}

/// Returns the encoded body of an OTLP request with `spans` of a resource with these attributes.
fn body_from(resource: &[(&str, Value)], spans: &[proto::Span]) -> Bytes {
    let spans = spans.iter().map(|span| span.encode_to_vec().into()).collect();
    let scope_spans = vec![proto::ScopeSpans { spans, ..proto::ScopeSpans::default() }];
    let attributes = resource.iter().map(|(key, value)| {
        let value = Some(proto::AnyValue { value: Some(value.clone()) });
        proto::KeyValue { key: (*key).into(), value, ..proto::KeyValue::default() }
    });
    let attributes: Vec<_> = attributes.collect();
    let resource = proto::Resource { attributes, ..proto::Resource::default() }.encode_to_vec().into();
    let resource_spans =
        vec![proto::ResourceSpans { resource, scope_spans, ..proto::ResourceSpans::default() }];
    proto::TracesData { resource_spans }.encode_to_vec().into()
}

/// Returns the decoded and validated request with `spans`, received one year after [`EPOCH`].
pub(crate) fn request(spans: &[proto::Span]) -> DecodedRequest {
    request_from(&[], spans)
}

/// Returns the same request of a resource with these attributes.
pub(crate) fn request_from(resource: &[(&str, Value)], spans: &[proto::Span]) -> DecodedRequest {
    let now = EPOCH + 365 * 86_400 * 1_000 * MILLISECOND;
    otlp::decode(body_from(resource, spans), "application/x-protobuf", None, now).expect("a good request")
}
