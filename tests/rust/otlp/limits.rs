//! Every limit at its maximum and one above. Excess data is counted and described, never truncated.

use std::fmt::Write as _;

use bytes::Bytes;
use prost::Message as _;
use spanwise::error::Error;
use spanwise::otlp::DecodedRequest;
use spanwise::otlp::check::MAX_AHEAD_NANOS;
use spanwise::otlp::limits::{
    MAX_ATTRIBUTES, MAX_BODY_BYTES, MAX_EVENTS, MAX_LINKS, MAX_VALUE_BYTES, MAX_VALUE_DEPTH,
};
use spanwise::otlp::proto::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList, Resource, ResourceSpans, ScopeSpans,
    Span, Status, TracesData, any_value::Value, span::Event, span::Link,
};

use super::rendering::{render, render_span};
use super::samples::{attribute, encode, good_span, request, request_under};
use super::{NOW_NANOS, decode_json, decode_protobuf};

/// Asserts that `within` is accepted and `beyond` rejected for `reason`, as protobuf and as JSON.
fn assert_limit(within: &Span, beyond: &Span, reason: &str) {
    for (span, rejected) in [(within, 0), (beyond, 1)] {
        let groups = [(None, String::new(), vec![(None, String::new(), vec![span.clone()])])];
        let exports = [decode_protobuf(encode(&groups)), decode_json(render(&groups))];
        for export in exports.map(|export| export.expect("a good frame")) {
            assert_eq!(export.rejected, rejected, "{}", export.reason);
            assert_eq!(export.spans.len() as u64, 1 - rejected);
            match rejected {
                0 => assert_eq!(export.spans[0].wire.bytes, span.encode_to_vec()),
                _ => assert_eq!(export.reason, format!("1 span rejected: span `2222222222222222`: {reason}")),
            }
        }
    }
}

fn many<T: Clone>(count: usize, item: T) -> Vec<T> {
    vec![item; count]
}

fn nested(depth: usize, wrap: fn(AnyValue) -> Value) -> Value {
    let innermost = Value::IntValue(1);
    (1..depth).fold(innermost, |value, _| wrap(AnyValue { value: Some(value) }))
}

fn in_array(value: AnyValue) -> Value {
    Value::ArrayValue(ArrayValue { values: vec![value] })
}

fn in_pairs(value: AnyValue) -> Value {
    let pair = KeyValue { key: "k".to_owned(), value: Some(value), key_strindex: 0 };
    Value::KvlistValue(KeyValueList { values: vec![pair] })
}

#[test]
fn counts() {
    let pair = attribute("k", Value::IntValue(1));
    let with_attributes = |count| Span { attributes: many(count, pair.clone()), ..good_span() };
    assert_limit(
        &with_attributes(MAX_ATTRIBUTES),
        &with_attributes(MAX_ATTRIBUTES + 1),
        "more than 1024 attributes",
    );
    let with_events = |count| Span { events: many(count, Event::default()), ..good_span() };
    assert_limit(&with_events(MAX_EVENTS), &with_events(MAX_EVENTS + 1), "more than 1024 events");
    let with_links = |count| Span { links: many(count, Link::default()), ..good_span() };
    assert_limit(&with_links(MAX_LINKS), &with_links(MAX_LINKS + 1), "more than 1024 links");
    let in_event = |count| {
        let event = Event { attributes: many(count, pair.clone()), ..Event::default() };
        Span { events: vec![event], ..good_span() }
    };
    assert_limit(
        &in_event(MAX_ATTRIBUTES),
        &in_event(MAX_ATTRIBUTES + 1),
        "more than 1024 attributes of an event",
    );
    let in_link = |count| {
        let link = Link { attributes: many(count, pair.clone()), ..Link::default() };
        Span { links: vec![link], ..good_span() }
    };
    assert_limit(
        &in_link(MAX_ATTRIBUTES),
        &in_link(MAX_ATTRIBUTES + 1),
        "more than 1024 attributes of a link",
    );
}

#[test]
fn sizes() {
    let text = |length| "x".repeat(length);
    let with_value = |length| Span {
        attributes: vec![attribute("input.value", Value::StringValue(text(length)))],
        ..good_span()
    };
    let reason = "attribute `input.value` of 4194305 bytes, expected at most 4194304";
    assert_limit(&with_value(MAX_VALUE_BYTES), &with_value(MAX_VALUE_BYTES + 1), reason);
    // Each element of a list takes its own length and two headers of five bytes.
    let with_list = |length| Span {
        attributes: vec![attribute(
            "input.value",
            in_array(AnyValue { value: Some(Value::BytesValue(vec![7; length - 10].into())) }),
        )],
        ..good_span()
    };
    assert_limit(&with_list(MAX_VALUE_BYTES), &with_list(MAX_VALUE_BYTES + 1), reason);
    let reason = "a field of 4194305 bytes, expected at most 4194304";
    let with_name = |length| Span { name: text(length), ..good_span() };
    assert_limit(&with_name(MAX_VALUE_BYTES), &with_name(MAX_VALUE_BYTES + 1), reason);
    let with_status =
        |length| Span { status: Some(Status { message: text(length), code: 2 }), ..good_span() };
    assert_limit(&with_status(MAX_VALUE_BYTES), &with_status(MAX_VALUE_BYTES + 1), reason);
}

#[test]
fn nesting() {
    for wrap in [in_array as fn(AnyValue) -> Value, in_pairs] {
        let on_span =
            |depth| Span { attributes: vec![attribute("deep", nested(depth, wrap))], ..good_span() };
        let on_event = |depth| {
            let event =
                Event { attributes: vec![attribute("deep", nested(depth, wrap))], ..Event::default() };
            Span { events: vec![event], ..good_span() }
        };
        for with_depth in [&on_span as &dyn Fn(usize) -> Span, &on_event] {
            let within = with_depth(MAX_VALUE_DEPTH);
            assert_eq!(
                accepted(&decode_protobuf(request([within.encode_to_vec()])).expect("a frame")),
                (1, 0)
            );
            let groups = [(None, String::new(), vec![(None, String::new(), vec![within])])];
            assert_eq!(accepted(&decode_json(render(&groups)).expect("a frame")), (1, 0));
            let beyond = with_depth(MAX_VALUE_DEPTH + 1);
            let export = decode_protobuf(request([beyond.encode_to_vec()])).expect("a frame");
            let expected = "1 span rejected: span `2222222222222222`: attribute `deep` nested deeper than 32";
            assert_eq!(export.reason, expected);
            let groups = [(None, String::new(), vec![(None, String::new(), vec![beyond])])];
            assert_eq!(accepted(&decode_json(render(&groups)).expect("a frame")), (0, 1));
        }
    }
}

#[test]
fn unbounded_nesting_rejects_only_its_span() {
    let deep = format!("{}{}", r#"{"arrayValue":{"values":["#.repeat(100_000), "]}}".repeat(100_000));
    let bad = render_span(&good_span()).to_string().replacen(
        r#""attributes":[]"#,
        &format!(r#""attributes":[{{"key":"deep","value":{deep}}}]"#),
        1,
    );
    let good = render_span(&good_span()).to_string();
    let body = format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{bad},{good}]}}]}}]}}"#);
    let export = decode_json(body).expect("a good frame");
    assert_eq!(accepted(&export), (1, 1));
    assert!(export.reason.contains("recursion limit exceeded"), "{}", export.reason);
    let unknown = format!(r#"{{"invented":{deep}}}"#);
    assert_eq!(accepted(&decode_json(unknown).expect("unknown members are ignored")), (0, 0));
}

fn accepted(export: &DecodedRequest) -> (usize, u64) {
    (export.spans.len(), export.rejected)
}

#[test]
fn times() {
    let starting = |nanos| Span { start_time_unix_nano: nanos, ..good_span() };
    let ending = |nanos| Span { end_time_unix_nano: nanos, ..good_span() };
    let latest = NOW_NANOS + MAX_AHEAD_NANOS;
    let reason = "start time 2026-11-22T12:00:00Z lies more than 24 hours ahead";
    assert_limit(&starting(latest), &starting(latest + 1), reason);
    assert_limit(
        &ending(latest),
        &ending(latest + 1),
        "end time 2026-11-22T12:00:00Z lies more than 24 hours ahead",
    );
    let reason = "start time 2554-07-21T23:34:33.709551Z lies more than 24 hours ahead";
    assert_limit(&starting(0), &starting(u64::MAX), reason);
}

#[test]
fn shared_parts() {
    let pair = attribute("k", Value::IntValue(1));
    let resource = |count| Resource { attributes: many(count, pair.clone()), ..Resource::default() };
    let scope = |count| InstrumentationScope {
        attributes: many(count, pair.clone()),
        ..InstrumentationScope::default()
    };
    for (count, expected) in [(MAX_ATTRIBUTES, (2, 0)), (MAX_ATTRIBUTES + 1, (0, 2))] {
        let spans = vec![good_span(), good_span()];
        let groups = [
            [(Some(resource(count)), String::new(), vec![(None, String::new(), spans.clone())])],
            [(None, String::new(), vec![(Some(scope(count)), String::new(), spans)])],
        ];
        for (groups, name) in groups.iter().zip(["resource", "scope"]) {
            for export in [decode_protobuf(encode(groups)), decode_json(render(groups))] {
                let export = export.expect("a good frame");
                assert_eq!(accepted(&export), expected);
                let reason = format!("its {name}: more than 1024 attributes");
                assert_eq!(export.reason.ends_with(&reason), expected.1 > 0, "{}", export.reason);
            }
        }
    }
}

#[test]
fn bodies() {
    let body_of = |length: usize| {
        let mut body = r#"{"x":""#.to_owned();
        body.extend(std::iter::repeat_n('x', length - body.len() - 2));
        body + r#""}"#
    };
    assert!(decode_json(body_of(MAX_BODY_BYTES)).is_ok());
    let error = decode_json(body_of(MAX_BODY_BYTES + 1)).expect_err("a body over the limit");
    assert!(matches!(error, Error::TooLarge(_)), "{error}");
    assert_eq!(error.to_string(), "the request body is over 20971520 bytes");
}

#[test]
fn small_bodies_cannot_require_much_memory() {
    let empty_values = Bytes::from([0x0a, 0x00].repeat(MAX_VALUE_BYTES / 2));
    let hollow_value = [&[0x2a][..], &length(empty_values.len()), &empty_values].concat();
    let hollow_pair = [&[0x12][..], &length(hollow_value.len()), &hollow_value].concat();
    let mut hollow_span = good_span().encode_to_vec();
    hollow_span.extend([&[0x4a][..], &length(hollow_pair.len()), &hollow_pair].concat());
    assert_too_large(request([hollow_span]));
    assert_too_large(many_small_spans());
    assert_too_large(request(std::iter::repeat_n(Vec::new(), 1 << 20)));
    assert_too_large(large_resource_in_many_traces());
    assert_too_large(large_resource_above_many_bad_scopes());
}

#[test]
fn a_value_of_the_maximum_size_is_the_same_as_json() {
    let count = MAX_VALUE_BYTES / 4;
    let one = AnyValue { value: Some(Value::IntValue(1)) };
    let list = Value::ArrayValue(ArrayValue { values: many(count, one) });
    let sent = Span { attributes: vec![attribute("list", list)], ..good_span() }.encode_to_vec();
    let ones = vec![r#"{"intValue":"1"}"#; count].join(",");
    let short =
        Span { attributes: vec![attribute("list", Value::StringValue(String::new()))], ..good_span() };
    let rendered = render(&[(None, String::new(), vec![(None, String::new(), vec![short])])]);
    let body = rendered.replace(r#""stringValue":"""#, &format!(r#""arrayValue":{{"values":[{ones}]}}"#));
    let export = decode_json(body).expect("a good frame");
    assert_eq!(export.reason, "");
    assert!(export.spans[0].wire.bytes == sent, "not the value that was sent");
}

#[test]
fn empty_groups_are_walked_without_allocating() {
    let empty = decode_protobuf([0x0a, 0x00].repeat(1 << 20)).expect("a frame without spans");
    assert_eq!(accepted(&empty), (0, 0));
    let mut groups = String::new();
    for _ in 0..1 << 16 {
        write!(groups, "{{}},").expect("writing to a string does not fail");
    }
    let empty = decode_json(format!(r#"{{"resourceSpans":[{groups}{{}}]}}"#)).expect("a frame without spans");
    assert_eq!(accepted(&empty), (0, 0));
}

/// Returns a body of nearly 20 MiB of the smallest possible spans.
fn many_small_spans() -> Vec<u8> {
    let span = Span { name: String::new(), start_time_unix_nano: 0, end_time_unix_nano: 0, ..good_span() };
    request(std::iter::repeat_n(span.encode_to_vec(), 600_000))
}

/// Returns a request with a resource of 1 MiB that each of a hundred traces would store.
fn large_resource_in_many_traces() -> Vec<u8> {
    let attributes = vec![attribute("k", Value::StringValue("x".repeat(1 << 20)))];
    let resource = Bytes::from(Resource { attributes, ..Resource::default() }.encode_to_vec());
    let spans = (1_u8..=100).map(|trace| {
        let trace_id = Bytes::from(vec![trace; 16]);
        Bytes::from(Span { trace_id, ..good_span() }.encode_to_vec())
    });
    let scope_spans = vec![ScopeSpans { spans: spans.collect(), ..ScopeSpans::default() }];
    TracesData { resource_spans: vec![ResourceSpans { resource, scope_spans, ..Default::default() }] }
        .encode_to_vec()
}

/// Returns a request with a resource of 1 MiB that would be checked for each of a hundred scopes.
fn large_resource_above_many_bad_scopes() -> Vec<u8> {
    let attributes = vec![attribute("k", Value::StringValue("x".repeat(1 << 20)))];
    let resource = Bytes::from(Resource { attributes, ..Resource::default() }.encode_to_vec());
    let scope_spans = many(100, ScopeSpans { spans: vec![Bytes::new()], ..ScopeSpans::default() });
    TracesData { resource_spans: vec![ResourceSpans { resource, scope_spans, ..Default::default() }] }
        .encode_to_vec()
}

fn length(bytes: usize) -> Vec<u8> {
    let mut encoded = Vec::new();
    prost::encoding::encode_varint(bytes as u64, &mut encoded);
    encoded
}

fn assert_too_large(body: Vec<u8>) {
    assert!(body.len() <= MAX_BODY_BYTES);
    let error = decode_protobuf(body).expect_err("a request over the limit");
    assert!(matches!(error, Error::TooLarge(_)), "{error}");
    assert_eq!(
        error.to_string(),
        "the request takes over 83886080 bytes once decoded, send fewer spans in one"
    );
}

#[test]
fn an_invalid_resource_rejects_its_spans() {
    let body = request_under(Bytes::from_static(&[0x0a, 0x7f]), [good_span().encode_to_vec()]);
    let export = decode_protobuf(body).expect("a good frame");
    assert_eq!(accepted(&export), (0, 1));
    assert!(
        export.reason.contains("its resource: malformed protobuf: buffer underflow"),
        "{}",
        export.reason
    );
}
