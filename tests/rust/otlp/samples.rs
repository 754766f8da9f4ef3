//! Sample spans: one that is certainly accepted, and arbitrary ones.

use bytes::Bytes;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use prost::Message as _;
use spanwise::otlp::proto::{
    AnyValue, ArrayValue, EntityRef, InstrumentationScope, KeyValue, KeyValueList, Resource, ResourceSpans,
    ScopeSpans, Span, Status, TracesData, any_value::Value, span::Event, span::Link,
};

use super::NOW_NANOS;

/// A resource with its scopes and spans, not yet encoded.
pub(super) type Group = (Option<Resource>, String, Vec<(Option<InstrumentationScope>, String, Vec<Span>)>);

/// Returns a span that passes every check.
pub(super) fn good_span() -> Span {
    Span {
        trace_id: Bytes::from_static(&[0x11; 16]),
        span_id: Bytes::from_static(&[0x22; 8]),
        name: "chat".to_owned(),
        start_time_unix_nano: NOW_NANOS - 1_000,
        end_time_unix_nano: NOW_NANOS,
        ..Span::default()
    }
}

/// Returns an attribute.
pub(super) fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), key_strindex: 0 }
}

/// Returns a request of encoded spans under one resource and scope.
pub(super) fn request(spans: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    request_under(Bytes::new(), spans)
}

/// Returns a request of encoded spans under an encoded resource.
pub(super) fn request_under(resource: Bytes, spans: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let scope_spans =
        ScopeSpans { spans: spans.into_iter().map(Bytes::from).collect(), ..ScopeSpans::default() };
    let resource_spans =
        vec![ResourceSpans { resource, scope_spans: vec![scope_spans], ..Default::default() }];
    TracesData { resource_spans }.encode_to_vec()
}

/// Returns `groups` as a protobuf request.
pub(super) fn encode(groups: &[Group]) -> Vec<u8> {
    let encode_scope =
        |(scope, schema_url, spans): &(Option<InstrumentationScope>, String, Vec<Span>)| ScopeSpans {
            scope: scope.as_ref().map(|scope| scope.encode_to_vec().into()).unwrap_or_default(),
            spans: spans.iter().map(|span| span.encode_to_vec().into()).collect(),
            schema_url: schema_url.clone(),
        };
    let encode_group = |(resource, schema_url, scopes): &Group| ResourceSpans {
        resource: resource.as_ref().map(|resource| resource.encode_to_vec().into()).unwrap_or_default(),
        scope_spans: scopes.iter().map(encode_scope).collect(),
        schema_url: schema_url.clone(),
    };
    TracesData { resource_spans: groups.iter().map(encode_group).collect() }.encode_to_vec()
}

/// Arbitrary requests whose spans are all accepted.
pub(super) fn any_groups() -> impl Strategy<Value = Vec<Group>> {
    let scopes = (option::of(any_scope()), ".{0,6}", vec(any_span(), 0..3));
    vec((option::of(any_resource()), ".{0,6}", vec(scopes, 0..3)), 0..3)
}

/// Arbitrary spans that are accepted.
pub(super) fn any_span() -> impl Strategy<Value = Span> {
    let ids = (
        any_id(16),
        any_id(8),
        prop_oneof![Just(Bytes::new()), any_id(8), Just(Bytes::from_static(&[0; 8]))],
    );
    let texts = (".{0,8}", ".{0,8}");
    let numbers = (any::<u32>(), any::<i32>(), any_time(), any_time());
    let dropped = (any::<u32>(), any::<u32>(), any::<u32>());
    let parts = (any_attributes(), vec(any_event(), 0..3), vec(any_link(), 0..3), option::of(any_status()));
    (ids, texts, numbers, dropped, parts).prop_map(|(ids, texts, numbers, dropped, parts)| Span {
        trace_id: ids.0,
        span_id: ids.1,
        parent_span_id: ids.2,
        trace_state: texts.0,
        name: texts.1,
        flags: numbers.0,
        kind: numbers.1,
        start_time_unix_nano: numbers.2,
        end_time_unix_nano: numbers.3,
        dropped_attributes_count: dropped.0,
        dropped_events_count: dropped.1,
        dropped_links_count: dropped.2,
        attributes: parts.0,
        events: parts.1,
        links: parts.2,
        status: parts.3,
    })
}

fn any_id(length: usize) -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), length).prop_filter_map("an id is not all zero", |bytes| {
        bytes.iter().any(|byte| *byte != 0).then(|| Bytes::from(bytes))
    })
}

fn any_time() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 0..=NOW_NANOS]
}

fn any_resource() -> impl Strategy<Value = Resource> {
    let entity = (".{0,4}", ".{0,4}", vec(".{0,4}", 0..3), vec(".{0,4}", 0..3)).prop_map(|parts| EntityRef {
        schema_url: parts.0,
        r#type: parts.1,
        id_keys: parts.2,
        description_keys: parts.3,
    });
    (any_attributes(), any::<u32>(), vec(entity, 0..2)).prop_map(|parts| Resource {
        attributes: parts.0,
        dropped_attributes_count: parts.1,
        entity_refs: parts.2,
    })
}

fn any_scope() -> impl Strategy<Value = InstrumentationScope> {
    (".{0,8}", ".{0,8}", any_attributes(), any::<u32>()).prop_map(|parts| InstrumentationScope {
        name: parts.0,
        version: parts.1,
        attributes: parts.2,
        dropped_attributes_count: parts.3,
    })
}

fn any_event() -> impl Strategy<Value = Event> {
    (any::<u64>(), ".{0,8}", any_attributes(), any::<u32>()).prop_map(|parts| Event {
        time_unix_nano: parts.0,
        name: parts.1,
        attributes: parts.2,
        dropped_attributes_count: parts.3,
    })
}

fn any_link() -> impl Strategy<Value = Link> {
    (any_id(16), any_id(8), ".{0,4}", any_attributes(), any::<(u32, u32)>()).prop_map(|parts| Link {
        trace_id: parts.0,
        span_id: parts.1,
        trace_state: parts.2,
        attributes: parts.3,
        dropped_attributes_count: parts.4.0,
        flags: parts.4.1,
    })
}

fn any_status() -> impl Strategy<Value = Status> {
    (".{0,8}", any::<i32>()).prop_map(|(message, code)| Status { message, code })
}

fn any_attributes() -> impl Strategy<Value = Vec<KeyValue>> {
    vec(any_pair(any_value()), 0..4)
}

fn any_pair(value: impl Strategy<Value = AnyValue>) -> impl Strategy<Value = KeyValue> {
    (".{0,6}", option::of(value)).prop_map(|(key, value)| KeyValue { key, value, key_strindex: 0 })
}

fn any_value() -> impl Strategy<Value = AnyValue> {
    let leaf = prop_oneof![
        Just(None),
        ".{0,12}".prop_map(|text| Some(Value::StringValue(text))),
        any::<bool>().prop_map(|flag| Some(Value::BoolValue(flag))),
        any::<i64>().prop_map(|number| Some(Value::IntValue(number))),
        any::<f64>().prop_map(|number| Some(Value::DoubleValue(number))),
        prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(-0.0)]
            .prop_map(|number| Some(Value::DoubleValue(number))),
        vec(any::<u8>(), 0..8).prop_map(|bytes| Some(Value::BytesValue(bytes.into()))),
    ]
    .prop_map(|value| AnyValue { value });
    leaf.prop_recursive(4, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3)
                .prop_map(|values| AnyValue { value: Some(Value::ArrayValue(ArrayValue { values })) }),
            vec(any_pair(inner), 0..3)
                .prop_map(|values| AnyValue { value: Some(Value::KvlistValue(KeyValueList { values })) }),
        ]
    })
}
