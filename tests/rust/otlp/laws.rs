//! Laws that hold for every request.

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use prost::Message as _;
use spanwise::otlp::proto::any_value::Value;
use spanwise::otlp::proto::{InstrumentationScope, Resource, Span};
use spanwise::otlp::span_ref::{AttributeRef, ValueRef};
use spanwise::otlp::{self, AcceptedSpan, DecodedRequest, SpanRef, WireSpan, wire};

use super::rendering::render;
use super::samples::{any_groups, any_span, encode, good_span, request, request_under};
use super::{NOW_NANOS, captured, decode_json, decode_protobuf};

/// A field that no version of OTLP defines: number 1,000, the text `later`.
const UNKNOWN_FIELD: &[u8] = b"\xc2\x3e\x05later";

fn wires(export: &DecodedRequest) -> Vec<WireSpan> {
    export.spans.iter().map(|span| span.wire.clone()).collect()
}

fn decoded(span: &AcceptedSpan) -> Span {
    Span::decode(span.wire.bytes.clone()).expect("what is accepted can be decoded")
}

fn any_wires() -> impl Strategy<Value = Vec<WireSpan>> {
    any_groups().prop_map(|groups| wires(&decode_protobuf(encode(&groups)).expect("good spans")))
}

/// Returns the span view expected for a decoded message.
fn span_ref_of(message: &Span) -> SpanRef<'_> {
    let attributes = message.attributes.iter().map(|attribute| AttributeRef {
        key: attribute.key.as_bytes(),
        value: value_ref_of(attribute.value.as_ref().and_then(|value| value.value.as_ref())),
    });
    SpanRef {
        trace_id: &message.trace_id,
        span_id: &message.span_id,
        parent_span_id: &message.parent_span_id,
        name: message.name.as_bytes(),
        start: message.start_time_unix_nano,
        end: message.end_time_unix_nano,
        status: message.status.as_ref().map_or(0, |status| status.code),
        status_message: message.status.as_ref().map_or(b"", |status| status.message.as_bytes()),
        events: u32::try_from(message.events.len()).expect("a few"),
        links: u32::try_from(message.links.len()).expect("a few"),
        attributes: attributes.collect(),
    }
}

fn value_ref_of(value: Option<&Value>) -> ValueRef<'_> {
    match value {
        None => ValueRef::Missing,
        Some(Value::StringValue(text)) => ValueRef::Text(text.as_bytes()),
        Some(Value::IntValue(number)) => ValueRef::Int(*number),
        Some(Value::DoubleValue(number)) => ValueRef::Double(*number),
        Some(Value::BoolValue(truth)) => ValueRef::Bool(*truth),
        Some(_) => ValueRef::Other,
    }
}

/// Decodes `body` with every pair of headers and checks the properties of all results.
fn decode_every_way(body: &Bytes) {
    for content_type in ["application/x-protobuf", "application/json"] {
        for content_encoding in [None, Some("gzip"), Some("deflate")] {
            match otlp::decode(body.clone(), content_type, content_encoding, NOW_NANOS) {
                Ok(export) => {
                    assert_eq!(export.rejected == 0, export.reason.is_empty());
                    assert!(export.reason.chars().count() < 700, "{}", export.reason);
                }
                Err(error) => assert!(error.to_string().chars().count() < 700, "{error}"),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn json_and_protobuf_of_the_same_spans_are_equal(groups in any_groups()) {
        let from_protobuf = decode_protobuf(encode(&groups)).expect("a good request");
        let from_json = decode_json(render(&groups)).expect("a good request");
        prop_assert_eq!(&from_json.reason, "");
        prop_assert_eq!(wires(&from_json), wires(&from_protobuf));
    }

    #[test]
    fn an_accepted_span_is_the_bytes_that_were_sent(span in any_span()) {
        let sent = span.encode_to_vec();
        let export = decode_protobuf(request([sent.clone()])).expect("a good request");
        prop_assert_eq!(export.reason, "");
        prop_assert_eq!(export.spans[0].wire.bytes.as_ref(), &sent);
        prop_assert_eq!(export.spans[0].trace_id.as_bytes().as_slice(), span.trace_id.as_ref());
        prop_assert_eq!(export.spans[0].span_id.as_bytes().as_slice(), span.span_id.as_ref());
    }

    #[test]
    fn a_span_ref_equals_the_decoded_span(
        span in any_span(),
        damages in vec((any::<Index>(), any::<u8>()), 0..3),
        again in any::<bool>(),
    ) {
        let mut sent = span.encode_to_vec();
        if again {
            // Every field occurs twice. Fields that are not lists are merged.
            sent.extend(sent.clone());
        }
        for (place, byte) in damages {
            let place = place.index(sent.len());
            sent[place] = byte;
        }
        let export = decode_protobuf(request([sent.clone()])).expect("a good frame");
        let message = Span::decode(sent.as_slice());
        prop_assert!(message.is_ok() || export.spans.is_empty(), "accepted, and no span");
        if let Ok(message) = message {
            // Compared as text, because NaN does not equal itself.
            let actual = format!("{:?}", SpanRef::of(&sent).expect("what can be decoded"));
            prop_assert_eq!(actual, format!("{:?}", span_ref_of(&message)));
        }
    }

    #[test]
    fn rejected_spans_do_not_affect_the_others(fates in vec(any::<bool>(), 0..12)) {
        let spans = fates.iter().enumerate().map(|(place, is_good)| Span {
            name: place.to_string(),
            trace_id: if *is_good { good_span().trace_id } else { Bytes::from_static(b"short") },
            ..good_span()
        });
        let export = decode_protobuf(request(spans.map(|span| span.encode_to_vec()))).expect("a good frame");
        let names: Vec<_> = export.spans.iter().map(|span| decoded(span).name).collect();
        let good = fates.iter().enumerate().filter(|(_, is_good)| **is_good);
        prop_assert_eq!(names, good.map(|(place, _)| place.to_string()).collect::<Vec<_>>());
        prop_assert_eq!(export.rejected, fates.iter().filter(|is_good| !**is_good).count() as u64);
    }

    #[test]
    fn split_reverses_join(mut spans in any_wires()) {
        let mut kept = wire::split(wire::join(&spans).into()).expect("what was joined");
        spans.sort();
        kept.sort();
        prop_assert_eq!(kept, spans);
    }

    #[test]
    fn join_of_split_is_idempotent(spans in any_wires()) {
        let once = wire::join(&spans);
        let twice = wire::join(&wire::split(once.clone().into()).expect("what was joined"));
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn join_writes_each_resource_once(count in 1_usize..20) {
        let resource = Bytes::from(Resource { dropped_attributes_count: 7, ..Resource::default() }.encode_to_vec());
        let bodies = (0..count).map(|_| request_under(resource.clone(), [good_span().encode_to_vec()]));
        let spans: Vec<_> = bodies.flat_map(|body| wire::split(body.into()).expect("a good frame")).collect();
        let joined = wire::join(&spans);
        prop_assert_eq!(memchr::memmem::find_iter(&joined, &resource).count(), 1);
    }

    #[test]
    fn arbitrary_bytes_never_panic(body in vec(any::<u8>(), 0..300)) {
        decode_every_way(&body.into());
    }

    #[test]
    fn damaged_requests_never_panic(
        file in any::<Index>(),
        damages in vec((any::<Index>(), any::<u8>()), 1..6),
        end in any::<Index>(),
    ) {
        let files = captured::files();
        let file = file.get(&files);
        let mut body = file.body();
        for (place, byte) in damages {
            let place = place.index(body.len());
            body[place] = byte;
        }
        decode_every_way(&Bytes::from(body.clone()));
        body.truncate(end.index(body.len()));
        decode_every_way(&body.into());
    }

    #[test]
    fn arbitrary_json_never_panics(text in r#"(\{"(resourceSpans|spans|scopeSpans|traceId|kind)":|\[|\]|\}|,|null|"[a-f0-9]{0,4}"|-?[0-9]{1,25}){0,24}"#) {
        decode_every_way(&text.into());
    }
}

#[test]
fn unknown_fields_survive() {
    let with_unknown = |mut message: Vec<u8>| {
        message.extend_from_slice(UNKNOWN_FIELD);
        message
    };
    let span = with_unknown(good_span().encode_to_vec());
    let resource = Bytes::from(with_unknown(Resource::default().encode_to_vec()));
    let export = decode_protobuf(request_under(resource.clone(), [span.clone()])).expect("a good request");
    let kept = wire::split(wire::join([&export.spans[0].wire]).into()).expect("what was joined");
    assert_eq!(kept[0].bytes, span);
    assert_eq!(kept[0].origin.resource, resource);
}

#[test]
fn fields_may_be_in_any_order() {
    let scope = InstrumentationScope { name: "library".to_owned(), ..InstrumentationScope::default() };
    let field = |number: u8, content: &[u8]| {
        let length = u8::try_from(content.len()).expect("a short field");
        [&[number << 3 | 2, length], content].concat()
    };
    let span = good_span().encode_to_vec();
    let scope_spans = [field(3, b"scope-url"), field(2, &span), field(1, &scope.encode_to_vec())].concat();
    let resource_spans = [field(2, &scope_spans), field(3, b"url"), field(1, b"")].concat();
    let export = decode_protobuf(field(1, &resource_spans)).expect("a good request");
    let origin = &export.spans[0].wire.origin;
    assert_eq!(origin.scope, scope.encode_to_vec());
    assert_eq!((origin.resource_schema_url.as_str(), origin.scope_schema_url.as_str()), ("url", "scope-url"));
}

#[test]
fn a_few_spans_do_not_retain_a_large_body() {
    let bad = Span { name: "x".repeat(10_000), ..Span::default() }.encode_to_vec();
    let good = good_span().encode_to_vec();
    let body = Bytes::from(request([bad, good.clone()]));
    let export = decode_protobuf(body.clone()).expect("a good frame");
    let kept = &export.spans[0].wire.bytes;
    assert_eq!(kept, &good);
    assert!(!body.as_ptr_range().contains(&kept.as_ptr()));
}
