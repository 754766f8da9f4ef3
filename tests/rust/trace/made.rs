//! Test spans, and the JSON expected for them.

use std::sync::Arc;

use proptest::prelude::*;
use prost::Message as _;
use serde_json::{Value as Json, json};
use spanwise::otlp::proto::any_value::Value;
use spanwise::otlp::proto::{self, AnyValue, ArrayValue, KeyValue, KeyValueList};
use spanwise::otlp::{Origin, SpanId, TraceId, WireSpan};
use spanwise::trace::{Span, Trace, detail};

/// The receipt time of test traces, in microseconds since 1970.
pub(super) const RECEIVED: i64 = 1_795_200_000_000_000;

pub(super) fn trace_id() -> TraceId {
    TraceId::from_bytes(&[7; 16]).expect("an id")
}

pub(super) fn span_id(number: u64) -> SpanId {
    SpanId::from_bytes(&number.to_be_bytes()).expect("an id that is not zero")
}

/// Returns a message of span `id` with parent `parent`; zero means no parent.
pub(super) fn message(id: u64, parent: u64, start: u64) -> proto::Span {
    proto::Span {
        trace_id: trace_id().as_bytes().to_vec().into(),
        span_id: id.to_be_bytes().to_vec().into(),
        parent_span_id: if parent == 0 { bytes::Bytes::new() } else { parent.to_be_bytes().to_vec().into() },
        name: format!("span {id}"),
        start_time_unix_nano: start,
        end_time_unix_nano: start + 5_000_000,
        ..proto::Span::default()
    }
}

pub(super) fn span(message: &proto::Span) -> Arc<Span> {
    let wire = WireSpan { bytes: message.encode_to_vec().into(), origin: Arc::new(Origin::default()) };
    Arc::new(Span::from_wire(wire).expect("a span"))
}

pub(super) fn trace(messages: &[proto::Span]) -> Trace {
    Trace::new(trace_id(), RECEIVED).with(messages.iter().map(span))
}

pub(super) fn text(key: &str, text: &str) -> KeyValue {
    attribute(key, Value::StringValue(text.to_owned()))
}

pub(super) fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

/// Returns the OTLP value of a JSON value.
pub(super) fn otlp_value(json: &Json) -> AnyValue {
    let value = match json {
        Json::Null => None,
        Json::Bool(truth) => Some(Value::BoolValue(*truth)),
        Json::Number(number) => Some(match number.as_i64() {
            Some(whole) => Value::IntValue(whole),
            None => Value::DoubleValue(number.as_f64().expect("a number")),
        }),
        Json::String(text) => Some(Value::StringValue(text.clone())),
        Json::Array(items) => {
            Some(Value::ArrayValue(ArrayValue { values: items.iter().map(otlp_value).collect() }))
        }
        Json::Object(members) => {
            let entry = |(key, value): (&String, &Json)| KeyValue {
                key: key.clone(),
                value: Some(otlp_value(value)),
                ..KeyValue::default()
            };
            Some(Value::KvlistValue(KeyValueList { values: members.iter().map(entry).collect() }))
        }
    };
    AnyValue { value }
}

/// Returns the expected JSON of a value, built recursively.
pub(super) fn otlp_json(value: &AnyValue) -> Json {
    use base64::Engine as _;
    match &value.value {
        None => Json::Null,
        Some(Value::StringValue(text)) => json!(text),
        Some(Value::BoolValue(truth)) => json!(truth),
        Some(Value::IntValue(number)) => json!(number),
        Some(Value::DoubleValue(number)) if number.is_nan() => json!("NaN"),
        Some(Value::DoubleValue(number)) if *number == f64::INFINITY => json!("Infinity"),
        Some(Value::DoubleValue(number)) if *number == f64::NEG_INFINITY => json!("-Infinity"),
        Some(Value::DoubleValue(number)) => json!(number),
        Some(Value::BytesValue(bytes)) => json!(base64::engine::general_purpose::STANDARD.encode(bytes)),
        Some(Value::StringValueStrindex(index)) => json!(index),
        Some(Value::ArrayValue(array)) => array.values.iter().map(otlp_json).collect(),
        Some(Value::KvlistValue(map)) => otlp_json_map(&map.values),
    }
}

pub(super) fn otlp_json_map(entries: &[KeyValue]) -> Json {
    let mut map = serde_json::Map::new();
    for entry in entries {
        let of_key = entries.iter().filter(|other| other.key == entry.key);
        let mut values: Vec<Json> =
            of_key.map(|entry| entry.value.as_ref().map_or(Json::Null, otlp_json)).collect();
        let value = if values.len() == 1 { values.remove(0) } else { Json::Array(values) };
        map.insert(entry.key.clone(), value);
    }
    Json::Object(map)
}

pub(super) fn detail_of(trace: &Trace) -> Json {
    let mut out = Vec::new();
    detail::write_trace(&mut out, trace).expect("a readable trace");
    serde_json::from_slice(&out).expect("JSON")
}

/// Returns a single span as JSON.
pub(super) fn span_json(trace: &Trace, id: SpanId) -> Json {
    let mut out = Vec::new();
    assert!(detail::write_span(&mut out, trace, id).expect("a readable span"), "no span {id}");
    serde_json::from_slice(&out).expect("JSON")
}

/// Returns the nodes of a tree, each before its children.
pub(super) fn nodes(detail: &Json) -> Vec<&Json> {
    let mut found = Vec::new();
    let mut open: Vec<&Json> = detail["tree"].as_array().expect("a tree").iter().rev().collect();
    while let Some(node) = open.pop() {
        found.push(node);
        open.extend(node["spans"].as_array().into_iter().flatten().rev());
    }
    found
}

/// Spans whose parents may be missing, themselves, or in a cycle. Some have attributes of a convention.
pub(super) fn messages() -> impl Strategy<Value = Vec<proto::Span>> {
    let kinds = prop::sample::select(vec!["", "", "AGENT", "CHAIN", "LLM", "TOOL"]);
    let one = (0..14_u64, 0..4_u64, kinds, 0..6_u8, any::<bool>());
    prop::collection::vec(one, 1..12).prop_map(|parts| {
        let number = |(index, part): (usize, (u64, u64, &str, u8, bool))| {
            let (parent, start, kind, ids, is_error) = part;
            let id = index as u64 + 1;
            let mut message = message(id, parent, start * 1_000_000);
            if !kind.is_empty() {
                message.attributes.push(text("openinference.span.kind", kind));
            }
            if ids == 1 {
                message.attributes.push(text("session.id", &format!("session {id}")));
            }
            if ids == 2 {
                message.attributes.push(text("user.id", &format!("user {id}")));
            }
            message
                .attributes
                .push(attribute("llm.token_count.prompt", Value::IntValue(start.cast_signed())));
            if is_error {
                let code = proto::status::StatusCode::Error as i32;
                message.status = Some(proto::Status { message: format!("fault {id}"), code });
            }
            message
        };
        parts.into_iter().enumerate().map(number).collect()
    })
}
