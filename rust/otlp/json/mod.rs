//! Converts OTLP/JSON to spans and log records in protobuf.
//!
//! The mapping follows <https://opentelemetry.io/docs/specs/otlp/>, "JSON Protobuf Encoding". Names are in
//! camel case, ids are hexadecimal, enum values are numbers, 64-bit integers are numbers or decimal text.
//! Unknown members are ignored, and null is the same as missing. The resource and scope lists are parsed in
//! place. Each resource, scope and span is encoded once, and the rest of the engine does not depend on the
//! original encoding.

mod body;
mod message;
mod value;

use std::sync::Arc;

use bytes::Bytes;
use prost::Message;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::check::Validated;
use super::limits::MAX_DECODED_BYTES;
use super::{Origin, WireSpan, proto};
use crate::error::Result;
use body::{JsonBody, malformed};
use message::IntoProtobuf;
use value::ObjectMessage;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TracesData<'a> {
    #[serde(borrow)]
    resource_spans: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans<'a> {
    #[serde(borrow)]
    resource: Option<&'a RawValue>,
    #[serde(borrow)]
    scope_spans: Option<&'a RawValue>,
    schema_url: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScopeSpans<'a> {
    #[serde(borrow)]
    scope: Option<&'a RawValue>,
    #[serde(borrow)]
    spans: Option<&'a RawValue>,
    schema_url: Option<String>,
}

/// Calls `visit` with each span of a JSON `TracesData`, in order. The argument is the span as protobuf, or
/// the reason why it cannot be converted.
///
/// # Errors
/// [`crate::error::Error::Decode`] if the body is not JSON or its resource and scope lists are malformed, or
/// the error of `visit`. Both end the walk.
pub(super) fn walk(body: &[u8], mut visit: impl FnMut(Validated<WireSpan>) -> Result<()>) -> Result<()> {
    let text = std::str::from_utf8(body).map_err(|error| malformed(&error.to_string()))?;
    let body = JsonBody { text };
    let data: TracesData<'_> = body.read(text).map_err(|reason| malformed(&reason))?;
    body.each(data.resource_spans, |ObjectMessage(group)| walk_resource(body, &group, &mut visit))
}

/// Calls `visit` with each log record of a JSON `LogsData`, in order. The argument is the record as protobuf,
/// or the reason why it cannot be converted.
///
/// # Errors
/// The errors of [`walk`].
pub(super) fn walk_logs(body: &[u8], mut visit: impl FnMut(Validated<Bytes>) -> Result<()>) -> Result<()> {
    walk_records(body, ["resourceLogs", "scopeLogs", "logRecords"], |body, record| {
        visit(encode::<message::LogRecord<'_>>(body, record.get()))
    })
}

/// Calls `visit` for each metric of a JSON `MetricsData`.
///
/// # Errors
/// The errors of [`walk`]; [`crate::error::Error::Decode`] if a metric is not an object.
pub(super) fn walk_metrics(body: &[u8], mut visit: impl FnMut()) -> Result<()> {
    walk_records(body, ["resourceMetrics", "scopeMetrics", "metrics"], |body, metric| {
        body.member(metric.get(), "name").map_err(|reason| malformed(&reason))?;
        visit();
        Ok(())
    })
}

/// Calls `visit` with each record, in order. `names` are the member names of the nested lists; the last one
/// is the list of records.
fn walk_records<'a>(
    body: &'a [u8],
    [resources, scopes, records]: [&'static str; 3],
    mut visit: impl FnMut(JsonBody<'a>, &'a RawValue) -> Result<()>,
) -> Result<()> {
    let text = std::str::from_utf8(body).map_err(|error| malformed(&error.to_string()))?;
    let body = JsonBody { text };
    let list = |part: &'a str, name| body.member(part, name).map_err(|reason| malformed(&reason));
    body.each(list(text, resources)?, |group: &'a RawValue| {
        body.each(list(group.get(), scopes)?, |scope: &'a RawValue| {
            body.each(list(scope.get(), records)?, |record: &'a RawValue| visit(body, record))
        })
    })
}

fn walk_resource<'a>(
    body: JsonBody<'a>,
    group: &ResourceSpans<'a>,
    visit: &mut impl FnMut(Validated<WireSpan>) -> Result<()>,
) -> Result<()> {
    let resource = encode_shared::<message::Resource<'a>>(body, group.resource, "resource");
    let resource_schema_url = group.schema_url.as_deref().unwrap_or_default();
    body.each(group.scope_spans, |ObjectMessage(spans): ObjectMessage<ScopeSpans<'a>>| {
        let scope = encode_shared::<message::Scope<'a>>(body, spans.scope, "scope");
        let scope_schema_url = spans.schema_url.as_deref().unwrap_or_default();
        // Created with the first span, because a scope without spans costs its sender only three bytes.
        let mut origin: Option<Validated<Arc<Origin>>> = None;
        body.each(spans.spans, |span: &'a RawValue| {
            let origin = origin.get_or_insert_with(|| {
                Ok(Arc::new(Origin {
                    resource: resource.clone()?,
                    resource_schema_url: resource_schema_url.to_owned(),
                    scope: scope.clone()?,
                    scope_schema_url: scope_schema_url.to_owned(),
                }))
            });
            visit(origin.clone().and_then(|origin| {
                Ok(WireSpan { bytes: encode::<message::Span<'a>>(body, span.get())?, origin })
            }))
        })
    })
}

/// Returns a shared resource or scope as protobuf; empty if it is missing.
fn encode_shared<'a, M>(body: JsonBody<'a>, part: Option<&'a RawValue>, name: &str) -> Validated<Bytes>
where
    M: Deserialize<'a> + IntoProtobuf<'a>,
{
    let Some(part) = part else { return Ok(Bytes::new()) };
    encode::<M>(body, part.get()).map_err(|reason| format!("its {name}: {reason}"))
}

/// Returns the JSON message `part` as protobuf.
fn encode<'a, M>(body: JsonBody<'a>, part: &'a str) -> Validated<Bytes>
where
    M: Deserialize<'a> + IntoProtobuf<'a>,
{
    if decoded_bytes(part) > MAX_DECODED_BYTES {
        return Err(format!("takes over {MAX_DECODED_BYTES} bytes once decoded"));
    }
    let message = body.read::<M>(part)?.into_protobuf(body)?;
    Ok(message.encode_to_vec().into())
}

/// Estimates the decoded memory of `text`, which is valid JSON, in bytes without its texts. Every object may
/// become a value and every element a text, even if it is short.
fn decoded_bytes(text: &str) -> usize {
    let (mut bytes, mut quoted, mut escaped) = (0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => quoted = !quoted,
            b'{' if !quoted => bytes += size_of::<proto::AnyValue>(),
            b',' if !quoted => bytes += size_of::<String>(),
            _ => {}
        }
    }
    bytes
}
