//! Traces in Jaeger's JSON format, from its API and its user interface.
//!
//! Source: Jaeger 1 and 2, `internal/uimodel`. Times are in microseconds, tags have a type, and the process
//! of a span is listed next to the spans. Tags from the mapping of OpenTelemetry to Jaeger are converted
//! back: <https://opentelemetry.io/docs/specs/otel/trace/sdk_exporters/jaeger/>.

use base64::Engine as _;
use bytes::Bytes;
use prost::Message as _;

use super::super::columns::KINDS;
use super::ids::padded;
use super::value::{Object, Value, attribute, member};
use super::{Checked, EncodedSpan};
use crate::otlp::proto::{self, KeyValue};
use crate::time::NANOS_PER_MICRO;

/// Returns the spans of `object` if it is a Jaeger trace.
pub(super) fn spans_of_trace(object: &Object<'_>) -> Option<Vec<Checked<EncodedSpan>>> {
    let (Some(_), Some(Value::List(spans))) = (member(object, "traceID"), member(object, "spans")) else {
        return None;
    };
    let none = Object::new();
    let processes = match member(object, "processes") {
        Some(Value::Object(processes)) => processes,
        _ => &none,
    };
    let spans = spans.iter().map(|span| match span {
        Value::Object(span) => span_of(span, processes),
        other => Err(format!("expected a span as an object, got `{other}`")),
    });
    Some(spans.collect())
}

fn span_of(span: &Object<'_>, processes: &Object<'_>) -> Checked<EncodedSpan> {
    let micros = |name: &str| match member(span, name) {
        Some(Value::Int(count)) => {
            u64::try_from(*count).ok().and_then(|count| count.checked_mul(NANOS_PER_MICRO))
        }
        _ => None,
    };
    let nanos = |name: &str| micros(name).ok_or_else(|| format!("expected `{name}` in microseconds"));
    let (trace_id, start) = (padded::<16>(text(span, "traceID")?)?, nanos("startTime")?);
    let mut tags = tags(member(span, "tags"))?;
    let tagged = TaggedFields::take(&mut tags);
    let (parent_span_id, links) = references(span, &trace_id)?;
    let encoded = proto::Span {
        span_id: padded::<8>(text(span, "spanID")?)?,
        trace_id,
        parent_span_id,
        links,
        name: text(span, "operationName")?.to_owned(),
        kind: tagged.kind,
        trace_state: tagged.trace_state,
        start_time_unix_nano: start,
        end_time_unix_nano: start.saturating_add(nanos("duration")?),
        attributes: tags,
        events: objects(member(span, "logs")).map(event).collect::<Checked<_>>()?,
        status: Some(tagged.status),
        ..Default::default()
    };
    let process = match member(span, "process").or_else(|| member(processes, text(span, "processID").ok()?)) {
        Some(Value::Object(process)) => resource(process)?,
        _ => proto::Resource::default(),
    };
    Ok(EncodedSpan {
        span: encoded.encode_to_vec(),
        resource: process.encode_to_vec(),
        scope: tagged.scope.encode_to_vec(),
        created_at: None,
    })
}

/// The span fields that Jaeger stores in tags.
#[derive(Default)]
struct TaggedFields {
    kind: i32,
    trace_state: String,
    status: proto::Status,
    scope: proto::InstrumentationScope,
}

impl TaggedFields {
    fn take(tags: &mut Vec<KeyValue>) -> Self {
        let mut tagged = Self::default();
        let mut has_error = false;
        tags.retain(|tag| {
            let value = tag.value.as_ref().and_then(|value| value.value.as_ref());
            let text = match value {
                Some(proto::any_value::Value::StringValue(text)) => text.clone(),
                Some(proto::any_value::Value::BoolValue(is)) => is.to_string(),
                _ => return true,
            };
            match tag.key.as_str() {
                "span.kind" => {
                    let kind = KINDS.iter().position(|kind| kind.eq_ignore_ascii_case(&text));
                    tagged.kind = kind.and_then(|kind| i32::try_from(kind).ok()).unwrap_or_default();
                    return kind.is_none();
                }
                "error" if text == "true" || text == "false" => has_error = text == "true",
                "otel.status_code" => tagged.status.code = status_code(&text),
                "otel.status_description" => tagged.status.message = text,
                "w3c.tracestate" => tagged.trace_state = text,
                "otel.scope.name" | "otel.library.name" => tagged.scope.name = text,
                "otel.scope.version" | "otel.library.version" => tagged.scope.version = text,
                _ => return true,
            }
            false
        });
        if has_error {
            tagged.status.code = status_code("ERROR");
        }
        tagged
    }
}

fn status_code(word: &str) -> i32 {
    match word {
        "OK" => proto::status::StatusCode::Ok as i32,
        "ERROR" => proto::status::StatusCode::Error as i32,
        _ => 0,
    }
}

/// Returns the parent of a span, which is the first reference within its own trace, and links for the other
/// references.
fn references(span: &Object<'_>, trace_id: &Bytes) -> Checked<(Bytes, Vec<proto::span::Link>)> {
    let (mut parent, mut links) = (Bytes::new(), Vec::new());
    for reference in objects(member(span, "references")) {
        let (to, id) = (padded::<16>(text(reference, "traceID")?)?, padded::<8>(text(reference, "spanID")?)?);
        if parent.is_empty() && to == trace_id && text(reference, "refType")? == "CHILD_OF" {
            parent = id;
        } else {
            links.push(proto::span::Link { trace_id: to, span_id: id, ..Default::default() });
        }
    }
    if let (true, Some(Value::Text(id))) = (parent.is_empty(), member(span, "parentSpanID"))
        && !id.is_empty()
    {
        parent = padded::<8>(id)?;
    }
    Ok((parent, links))
}

fn resource(process: &Object<'_>) -> Checked<proto::Resource> {
    let mut attributes = tags(member(process, "tags"))?;
    if let Some(name) = member(process, "serviceName")
        && !attributes.iter().any(|attribute| attribute.key == "service.name")
    {
        attributes.push(attribute("service.name", name.clone()));
    }
    Ok(proto::Resource { attributes, ..Default::default() })
}

fn event(log: &Object<'_>) -> Checked<proto::span::Event> {
    let mut attributes = tags(member(log, "fields"))?;
    let position = attributes.iter().position(|field| field.key == "event");
    let name = position.map(|position| attributes.remove(position)).and_then(|field| field.value?.value);
    let time = match member(log, "timestamp") {
        Some(Value::Int(micros)) => u64::try_from(*micros).unwrap_or(0).saturating_mul(NANOS_PER_MICRO),
        _ => 0,
    };
    Ok(proto::span::Event {
        time_unix_nano: time,
        name: match name {
            Some(proto::any_value::Value::StringValue(name)) => name,
            _ => "log".to_owned(),
        },
        attributes,
        ..Default::default()
    })
}

/// Returns tags as attributes with their declared types.
fn tags(list: Option<&Value<'_>>) -> Checked<Vec<KeyValue>> {
    let tag = |tag: &Object<'_>| {
        let value = member(tag, "value").cloned().unwrap_or(Value::Null);
        let kind = member(tag, "type").and_then(Value::text).unwrap_or_default();
        Ok(attribute(text(tag, "key")?, typed(kind, value)))
    };
    objects(list).map(tag).collect()
}

/// Returns the value of a tag. Bytes, and integers that exceed the range of JavaScript numbers, are stored as
/// text.
fn typed<'a>(kind: &str, value: Value<'a>) -> Value<'a> {
    let parsed = match (kind, &value) {
        ("int64", Value::Text(text)) => text.parse().ok().map(Value::Int),
        ("float64", Value::Text(text)) => text.parse().ok().map(Value::Double),
        ("bool", Value::Text(text)) => text.parse().ok().map(Value::Bool),
        #[allow(
            clippy::cast_precision_loss,
            reason = "it was a float before it was written without a fraction"
        )]
        ("float64", Value::Int(number)) => Some(Value::Double(*number as f64)),
        ("binary", Value::Text(text)) => {
            let bytes = base64::engine::general_purpose::STANDARD.decode(text.as_bytes());
            bytes.ok().map(|bytes| Value::Bytes(bytes.into()))
        }
        _ => None,
    };
    parsed.unwrap_or(value)
}

fn objects<'o, 'a>(list: Option<&'o Value<'a>>) -> impl Iterator<Item = &'o Object<'a>> {
    let values = match list {
        Some(Value::List(values)) => values.as_slice(),
        _ => &[],
    };
    values.iter().filter_map(|value| match value {
        Value::Object(members) => Some(members),
        _ => None,
    })
}

fn text<'o>(object: &'o Object<'_>, name: &str) -> Checked<&'o str> {
    member(object, name).and_then(Value::text).ok_or_else(|| format!("expected a text `{name}`"))
}
