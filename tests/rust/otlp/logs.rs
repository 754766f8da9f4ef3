//! Log records become fragments of spans; all others are dropped.

use bytes::Bytes;
use prost::Message as _;
use serde_json::{Value as Json, json};
use spanwise::otlp::proto::any_value::Value;
use spanwise::otlp::proto::{self, KeyValueList, LogRecord, span::Event};
use spanwise::otlp::{self, DecodedLogs};

use super::{NOW_NANOS, decode_protobuf, exception_of};
use crate::support::logs::{fragment, log, log_body, logs, text, value};
use crate::support::spans::{EPOCH, MILLISECOND, body, span};

fn event(record: &LogRecord) -> Event {
    Event::decode(fragment(record).event).expect("an event")
}

fn decode_json(records: &Json) -> DecodedLogs {
    let body =
        json!({"resourceLogs": [{"resource": {}, "scopeLogs": [{"scope": {}, "logRecords": records}]}]});
    otlp::decode_logs(body.to_string().into(), "application/json", None, NOW_NANOS).expect("a good request")
}

#[test]
fn a_record_becomes_an_event_of_its_span() {
    let record = LogRecord { attributes: vec![text("gen_ai.system", "openai")], ..log(1, 2, 3) };
    let kept = fragment(&record);
    let span = span(1, 2, 0);
    assert_eq!(kept.trace_id.as_bytes().as_slice(), span.trace_id.as_ref());
    assert_eq!(kept.span_id.as_bytes().as_slice(), span.span_id.as_ref());
    assert_eq!(kept.time, EPOCH + 3 * MILLISECOND);
    let expected = Event {
        time_unix_nano: kept.time,
        name: "gen_ai.user.message".into(),
        attributes: vec![text("gen_ai.system", "openai"), text("content", "message 3")],
        dropped_attributes_count: 0,
    };
    assert_eq!(event(&record), expected);
}

#[test]
fn the_event_name_may_be_an_attribute() {
    let named = |name: &str, attribute: &str| {
        event(&LogRecord {
            event_name: name.into(),
            attributes: vec![text("event.name", attribute)],
            body: None,
            ..log(1, 1, 1)
        })
    };
    let by_attribute = named("", "gen_ai.choice");
    assert_eq!((by_attribute.name.as_str(), by_attribute.attributes.len()), ("gen_ai.choice", 0));
    assert_eq!(named("gen_ai.choice", "gen_ai.choice").attributes.len(), 0);
    let twice = named("gen_ai.choice", "other");
    assert_eq!((twice.name.as_str(), twice.attributes), ("gen_ai.choice", vec![text("event.name", "other")]));
}

#[test]
fn a_body_without_members_is_an_attribute() {
    let record = LogRecord { body: Some(value(Value::StringValue("hello".into()))), ..log(1, 1, 1) };
    assert_eq!(event(&record).attributes, [text("body", "hello")]);
}

#[test]
fn a_record_without_a_time_happened_when_it_was_observed() {
    let record = LogRecord { time_unix_nano: 0, observed_time_unix_nano: EPOCH + 5, ..log(1, 1, 1) };
    assert_eq!(event(&record).time_unix_nano, EPOCH + 5);
}

#[test]
fn what_belongs_to_no_span_is_dropped() {
    let dropped = [
        LogRecord { event_name: String::new(), ..log(1, 1, 1) },
        LogRecord { event_name: "exception".into(), ..log(1, 1, 1) },
        LogRecord { event_name: "gen_ai".into(), ..log(1, 1, 1) },
        LogRecord { trace_id: Bytes::default(), ..log(1, 1, 1) },
        LogRecord { span_id: vec![0; 8].into(), ..log(1, 1, 1) },
        LogRecord { span_id: vec![1; 7].into(), ..log(1, 1, 1) },
    ];
    let decoded = logs(&dropped);
    assert_eq!(decoded, DecodedLogs { dropped: dropped.len() as u64, ..DecodedLogs::default() });
}

#[test]
fn invalid_records_are_rejected_and_the_others_are_kept() {
    let many = (0..1_000).map(|number| text(&number.to_string(), "x")).collect::<Vec<_>>();
    let members = Some(value(Value::KvlistValue(KeyValueList { values: many.clone() })));
    let invalid = [
        (
            LogRecord { time_unix_nano: u64::MAX, ..log(1, 1, 1) },
            "event time 2554-07-21T23:34:33.709551Z lies more than 24 hours ahead",
        ),
        (
            LogRecord { attributes: vec![text("a", &"x".repeat((4 << 20) + 1))], ..log(1, 1, 1) },
            "attribute `a` of 4194305 bytes, expected at most 4194304",
        ),
        (
            LogRecord { attributes: many, body: members, ..log(1, 1, 1) },
            "its attributes and the members of its body are more than 1024",
        ),
    ];
    for (record, reason) in invalid {
        let decoded = logs(&[log(1, 1, 1), record.clone(), record, log(1, 1, 2)]);
        assert_eq!((decoded.fragments.len(), decoded.rejected, decoded.dropped), (2, 2, 0));
        let expected = format!("2 log records rejected; the first: log record 2 of the request: {reason}");
        assert_eq!(decoded.reason, expected);
    }
}

#[test]
fn json_and_protobuf_are_equal() {
    let ids = json!({"traceId": "0000000000000001000000000000000a", "spanId": "000000000000000b"});
    let mut first = ids.clone();
    first["timeUnixNano"] = json!("1767225600003000000");
    first["eventName"] = json!("gen_ai.choice");
    first["severityNumber"] = json!(9);
    first["attributes"] = json!([{"key": "gen_ai.system", "value": {"stringValue": "openai"}}]);
    first["body"] = json!({"kvlistValue": {"values": [{"key": "index", "value": {"intValue": "0"}}]}});
    let mut second = ids;
    second["observedTimeUnixNano"] = json!(5);
    second["body"] = json!({"stringValue": "plain"});
    let index =
        proto::KeyValue { key: "index".into(), value: Some(value(Value::IntValue(0))), ..Default::default() };
    let records = [
        LogRecord {
            event_name: "gen_ai.choice".into(),
            severity_number: 9,
            attributes: vec![text("gen_ai.system", "openai")],
            body: Some(value(Value::KvlistValue(KeyValueList { values: vec![index] }))),
            ..log(10, 11, 3)
        },
        LogRecord { event_name: String::new(), ..log(10, 11, 0) },
    ];
    let decoded = decode_json(&json!([first, second]));
    assert_eq!(decoded, logs(&records));
    assert_eq!((decoded.fragments.len(), decoded.dropped), (1, 1));
}

#[test]
fn bodies_that_are_no_logs_are_rejected() {
    let decode = |body: &str, content_type: &str| {
        let failed = otlp::decode_logs(body.to_owned().into(), content_type, None, NOW_NANOS).unwrap_err();
        exception_of(&failed)
    };
    let json = |body: &str| decode(body, "application/json").1;
    assert_eq!(json("{"), "expected OTLP data as JSON: EOF while parsing an object - at byte 1");
    assert_eq!(json("{}{}"), "expected OTLP data as JSON: trailing characters - at byte 3");
    let twice = r#"{"resourceLogs":[],"resourceLogs":[]}"#;
    assert_eq!(json(twice), "expected OTLP data as JSON: duplicate field `resourceLogs` - at byte 37");
    let no_group = r#"{"resourceLogs":[1]}"#;
    assert_eq!(
        json(no_group),
        "expected OTLP data as JSON: invalid type: integer `1`, expected an object - at byte 18"
    );
    let (class, message) = decode("{}", "application/x-protobuf");
    assert_eq!(class, "DecodeError");
    assert!(message.starts_with("expected OTLP data as protobuf, got "), "{message}");
    assert_eq!(decode("", "text/plain").0, "UnsupportedMediaTypeError");
}

#[test]
fn metrics_are_counted() {
    let count = |body: &[u8], content_type| {
        otlp::count_metrics(body.to_vec().into(), content_type, None).map_err(|error| error.to_string())
    };
    let metrics =
        json!({"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "a"}, {"name": "b"}]}]}]});
    assert_eq!(count(metrics.to_string().as_bytes(), "application/json"), Ok(2));
    assert_eq!(count(b"{}", "application/json"), Ok(0));
    // A record has the same position in its message as a metric.
    assert_eq!(count(&log_body(&[log(1, 1, 1), log(1, 1, 2)]), "application/x-protobuf"), Ok(2));
    assert_eq!(count(b"", "application/x-protobuf"), Ok(0));
    let wrong = r#"{"resourceMetrics": [{"scopeMetrics": [{"metrics": [7]}]}]}"#;
    assert!(count(wrong.as_bytes(), "application/json").unwrap_err().contains("expected an object"));
    let cut = [10, 7, 18, 5, 18, 3, 10, 9, 1];
    let expected = "metric 1: malformed protobuf: buffer underflow";
    assert_eq!(count(&cut, "application/x-protobuf").unwrap_err(), expected);
}

#[test]
fn a_sender_of_spans_cannot_write_fragments() {
    let forged = logs(&[log(1, 1, 1)]).fragments;
    let mut request = body(&[span(1, 1, 0)]).to_vec();
    let clean = request.clone();
    otlp::fragment::append_fragments(&mut request, &forged);
    assert_eq!(otlp::fragment::fragments_of(&request.clone().into()).expect("fragments"), forged);
    let decoded = decode_protobuf(request).expect("a good request");
    assert_eq!((decoded.spans.len(), decoded.message), (1, None));
    assert_eq!(decode_protobuf(clean.clone()).expect("a good request").message, Some(clean.into()));
}

#[test]
fn the_encoding_of_a_fragment_does_not_change() {
    let record = LogRecord { event_name: "gen_ai.x".into(), time_unix_nano: 7, body: None, ..log(1, 2, 0) };
    let mut fragment = fragment(&record);
    fragment.position = 300;
    let mut encoded = Vec::new();
    otlp::fragment::append_fragments(&mut encoded, [&fragment]);
    let event = [&[0x09, 7, 0, 0, 0, 0, 0, 0, 0, 0x12, 8][..], b"gen_ai.x"].concat();
    let ids =
        [&[0x0a, 16, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1][..], &[0x12, 8], &2_u64.to_be_bytes()];
    let message = [&ids.concat()[..], &[0x1a, 19], &event, &[0x20, 0xac, 0x02]].concat();
    assert_eq!(encoded, [&[0x82, 0xb5, 0x0a, 52][..], &message].concat());
    assert_eq!(otlp::fragment::fragments_of(&encoded.into()).expect("a fragment"), [fragment]);
}
