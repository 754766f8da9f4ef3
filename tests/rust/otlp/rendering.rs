//! Renders messages as OTLP/JSON, independently of the engine's parser.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value as Json, json};
use spanwise::otlp::proto::{
    AnyValue, EntityRef, InstrumentationScope, KeyValue, Resource, Span, any_value::Value, span::Event,
    span::Link,
};

use super::samples::Group;

/// Returns `groups` as a JSON request.
pub(super) fn render(groups: &[Group]) -> String {
    let groups = groups.iter().map(|(resource, schema_url, scopes)| {
        let scopes = scopes.iter().map(|(scope, schema_url, spans)| {
            json!({"scope": scope.as_ref().map(render_scope), "schemaUrl": schema_url, "spans": list(spans, render_span)})
        });
        json!({
            "scopeSpans": scopes.collect::<Vec<_>>(),
            "resource": resource.as_ref().map(render_resource),
            "schemaUrl": schema_url,
        })
    });
    json!({"resourceSpans": groups.collect::<Vec<_>>()}).to_string()
}

/// Returns a span as JSON.
pub(super) fn render_span(span: &Span) -> Json {
    json!({
        "traceId": hex(&span.trace_id),
        "spanId": hex(&span.span_id).to_uppercase(),
        "traceState": span.trace_state,
        "parentSpanId": hex(&span.parent_span_id),
        "flags": span.flags,
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": span.start_time_unix_nano.to_string(),
        "endTimeUnixNano": span.end_time_unix_nano,
        "attributes": list(&span.attributes, render_pair),
        "droppedAttributesCount": span.dropped_attributes_count,
        "events": list(&span.events, render_event),
        "droppedEventsCount": span.dropped_events_count.to_string(),
        "links": list(&span.links, render_link),
        "droppedLinksCount": span.dropped_links_count,
        "status": span.status.as_ref().map(|status| json!({"message": status.message, "code": status.code})),
        "invented": {"later": [null]},
    })
}

fn render_resource(resource: &Resource) -> Json {
    json!({
        "attributes": list(&resource.attributes, render_pair),
        "droppedAttributesCount": resource.dropped_attributes_count,
        "entityRefs": list(&resource.entity_refs, render_entity),
    })
}

fn render_entity(entity: &EntityRef) -> Json {
    json!({
        "schemaUrl": entity.schema_url,
        "type": entity.r#type,
        "idKeys": entity.id_keys,
        "descriptionKeys": entity.description_keys,
    })
}

fn render_scope(scope: &InstrumentationScope) -> Json {
    json!({
        "name": scope.name,
        "version": scope.version,
        "attributes": list(&scope.attributes, render_pair),
        "droppedAttributesCount": scope.dropped_attributes_count,
    })
}

fn render_event(event: &Event) -> Json {
    json!({
        "timeUnixNano": event.time_unix_nano.to_string(),
        "name": event.name,
        "attributes": list(&event.attributes, render_pair),
        "droppedAttributesCount": event.dropped_attributes_count,
    })
}

fn render_link(link: &Link) -> Json {
    json!({
        "traceId": hex(&link.trace_id),
        "spanId": hex(&link.span_id),
        "traceState": link.trace_state,
        "attributes": list(&link.attributes, render_pair),
        "droppedAttributesCount": link.dropped_attributes_count,
        "flags": link.flags,
    })
}

fn render_pair(pair: &KeyValue) -> Json {
    json!({"key": pair.key, "value": pair.value.as_ref().map(render_value)})
}

fn render_value(value: &AnyValue) -> Json {
    match &value.value {
        None => json!({}),
        Some(Value::StringValue(text)) => json!({"stringValue": text}),
        Some(Value::BoolValue(flag)) => json!({"boolValue": flag}),
        Some(Value::IntValue(number)) => json!({"intValue": number.to_string()}),
        Some(Value::DoubleValue(number)) if number.is_nan() => json!({"doubleValue": "NaN"}),
        Some(Value::DoubleValue(number)) if number.is_infinite() => {
            json!({"doubleValue": if *number > 0.0 { "Infinity" } else { "-Infinity" }})
        }
        Some(Value::DoubleValue(number)) => json!({"doubleValue": number}),
        Some(Value::BytesValue(bytes)) => json!({"bytesValue": BASE64_STANDARD.encode(bytes)}),
        Some(Value::ArrayValue(array)) => {
            json!({"arrayValue": {"values": list(&array.values, render_value)}})
        }
        Some(Value::KvlistValue(pairs)) => {
            json!({"kvlistValue": {"values": list(&pairs.values, render_pair)}})
        }
        Some(Value::StringValueStrindex(_)) => unreachable!("only profiles have string tables"),
    }
}

fn list<T>(items: &[T], render: fn(&T) -> Json) -> Json {
    items.iter().map(render).collect()
}

fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).expect("four bits");
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0x0f)]).collect()
}
