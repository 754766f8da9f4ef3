//! Inputs from outside: request bodies, filters, and the shapes of traces.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use serde::de::IgnoredAny;
use serde_json::Value as Json;
use spanwise::error::Error;
use spanwise::filter::Filter;
use spanwise::otlp::fragment::{append_fragments, fragments_of};
use spanwise::otlp::{self, TraceId, proto, wire};
use spanwise::query::{Aggregation, CancellationToken, FacetRequest, aggregate};
use spanwise::storage::{Snapshot, SnapshotPart};
use spanwise::trace::trace_columns::write_skeleton;
use spanwise::trace::tree::Forest;
use spanwise::trace::values::{ValuePart, write_truncated, write_value_page};
use spanwise::trace::{Span, Trace, detail};

use super::{contents_of, fuzz};
use crate::support::logs::{log, log_body, logs};
use crate::support::spans::{EPOCH, MILLISECOND, body, failed, request, span, with};

/// Asserts that a request body is rejected, or that its spans can be stored, replayed and rendered.
fn assert_storable(body: &[u8], content_type: &str) {
    let now = EPOCH + 365 * 86_400_000 * MILLISECOND;
    let decoded = match otlp::decode(Bytes::copy_from_slice(body), content_type, None, now) {
        Ok(decoded) => decoded,
        Err(Error::Decode(_) | Error::TooLarge(_)) => return,
        Err(error) => panic!("{error}"),
    };
    assert_eq!(decoded.rejected == 0, decoded.reason.is_empty());
    let joined = wire::join(decoded.spans.iter().map(|span| &span.wire));
    let mut stored = wire::split(joined.into()).expect("joined spans");
    let mut sent: Vec<_> = decoded.spans.iter().map(|span| span.wire.clone()).collect();
    stored.sort();
    sent.sort();
    assert_eq!(stored, sent);
    let mut traces = std::collections::BTreeMap::<TraceId, Vec<_>>::new();
    for accepted in decoded.spans {
        let again = Span::from_wire(accepted.wire.clone()).expect("a replay rejects nothing");
        assert_eq!((again.trace_id, again.span_id), (accepted.trace_id, accepted.span_id));
        traces
            .entry(accepted.trace_id)
            .or_default()
            .push(Arc::new(Span::from_wire(accepted.wire).expect("an accepted span")));
    }
    for (trace_id, spans) in traces {
        assert_rendered(&Trace::new(trace_id, 0).with(spans));
    }
}

/// Asserts that a request body with log records is rejected, or that its fragments can be stored, replayed
/// and rendered with their spans.
fn assert_log_storable(body: &[u8], content_type: &str) {
    let now = EPOCH + 365 * 86_400_000 * MILLISECOND;
    let decoded = match otlp::decode_logs(Bytes::copy_from_slice(body), content_type, None, now) {
        Ok(decoded) => decoded,
        Err(Error::Decode(_) | Error::TooLarge(_)) => return,
        Err(error) => panic!("{error}"),
    };
    assert_eq!(decoded.rejected == 0, decoded.reason.is_empty());
    let mut encoded = Vec::new();
    append_fragments(&mut encoded, &decoded.fragments);
    assert_eq!(fragments_of(&encoded.into()).expect("a replay rejects nothing"), decoded.fragments);
    for fragment in &decoded.fragments {
        let named = proto::Span {
            trace_id: fragment.trace_id.as_bytes().to_vec().into(),
            span_id: fragment.span_id.as_bytes().to_vec().into(),
            ..span(1, 1, 0)
        };
        let span = request(&[named]).spans.remove(0);
        let span = Arc::new(Span::from_wire(span.wire).expect("an accepted span"));
        let trace = Trace::new(fragment.trace_id, 0).with([span]).with_fragments([fragment.clone()]);
        assert_eq!(trace.assembled().spans()[0].message().expect("a span").events.len(), 1);
        assert_rendered(&trace);
    }
}

/// Asserts that a trace is rendered as JSON, with every span in exactly one position of the forest.
fn assert_rendered(trace: &Trace) {
    let forest = Forest::of(trace.spans());
    let mut level = forest.roots().to_vec();
    let mut count = 0;
    while !level.is_empty() {
        count += level.len();
        level = forest.level_below(&level);
    }
    assert_eq!(count, trace.spans().len());
    let mut json = Vec::new();
    detail::write_trace(&mut json, trace).expect("a rendered trace");
    serde_json::from_slice::<IgnoredAny>(&json).expect("JSON");
    let mut skeleton = Vec::new();
    write_skeleton(&mut skeleton, trace).expect("a rendered skeleton");
    let skeleton: Json = serde_json::from_slice(&skeleton).expect("JSON");
    assert_eq!(skeleton["spans"]["span_id"].as_array().map(Vec::len), Some(count));
    for span in trace.spans() {
        let (mut whole, mut cut) = (Vec::new(), Vec::new());
        assert!(detail::write_span(&mut whole, trace, span.span_id).expect("a rendered span"));
        write_truncated(&mut cut, &whole, 64);
        serde_json::from_slice::<IgnoredAny>(&cut).expect("JSON");
    }
    let document = Trace::from_document(trace.trace_id, 0, trace.document().into()).expect("a document");
    assert_eq!(document.spans().len(), trace.spans().len());
}

fn captures(suffix: &str) -> Vec<Vec<u8>> {
    let mut captures = contents_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/otlp"), suffix);
    captures.retain(|capture| capture.len() < 8_192);
    captures
}

#[test]
fn otlp_protobuf() {
    fuzz("otlp-protobuf", captures(".pb"), |body| assert_storable(body, "application/x-protobuf"));
}

#[test]
fn otlp_json() {
    fuzz("otlp-json", captures("-01.json"), |body| assert_storable(body, "application/json"));
}

#[test]
fn value_paths() {
    let span = br#"{"input":"text","extra_data":{"events":[{"name":"a"},{}],"attributes":{"a/b~c":[1,{"d":null}],"":2}}}"#;
    let paths = [
        "/input",
        "/extra_data/events/0/name",
        "/extra_data/attributes/a~1b~0c/1/d",
        "/extra_data/attributes/",
    ];
    fuzz("value-paths", paths.map(|path| path.as_bytes().to_vec()).to_vec(), |path| {
        let path = &String::from_utf8_lossy(path);
        let mut page = Vec::new();
        if write_value_page(&mut page, span, &ValuePart { path, from: 0, max_bytes: Some(64) }) {
            let parsed: Json = serde_json::from_slice(span).expect("JSON");
            assert!(parsed.pointer(path).is_some(), "{path}");
        }
        serde_json::from_slice::<IgnoredAny>(&page).map_or_else(|_| assert!(page.is_empty()), |_| ());
    });
}

#[test]
fn logs_protobuf() {
    let records =
        [log(1, 1, 1), log(1, 2, 2), proto::LogRecord { event_name: "other".into(), ..log(2, 1, 3) }];
    let corpus = vec![log_body(&records[..1]).to_vec(), log_body(&records).to_vec()];
    fuzz("logs-protobuf", corpus, |body| assert_log_storable(body, "application/x-protobuf"));
}

#[test]
fn logs_json() {
    let record = r#"{"timeUnixNano":"1767225600000000000","observedTimeUnixNano":"1","severityNumber":9,
        "eventName":"gen_ai.choice","body":{"kvlistValue":{"values":[{"key":"index","value":{"intValue":"0"}}]}},
        "attributes":[{"key":"event.name","value":{"stringValue":"gen_ai.choice"}}],"flags":1,
        "traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0102030405060708"}"#;
    let body = format!(r#"{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{record},{record}]}}]}}]}}"#);
    fuzz("logs-json", vec![body.into()], |body| assert_log_storable(body, "application/json"));
}

#[test]
fn fragments() {
    // The field of a document or of a write-ahead log entry may have any content; it is damage or fragments.
    let kept = logs(&[log(1, 1, 1), log(1, 2, 2)]).fragments;
    let mut document = body(&[span(1, 1, 0)]).to_vec();
    append_fragments(&mut document, &kept);
    fuzz("fragments", vec![document], |document| {
        let document = Bytes::copy_from_slice(document);
        let Ok(trace) = Trace::from_document(kept[0].trace_id, 0, document) else { return };
        let again = Trace::from_document(trace.trace_id, 0, trace.document().into()).expect("a document");
        assert_eq!(again.fragments(), trace.fragments());
        let _assembled = trace.assembled().document();
    });
}

/// Returns a part of the head with three traces.
fn three_traces() -> SnapshotPart {
    let spans = [with(span(1, 1, 0), "session.id", "ärger"), failed(span(2, 1, 5), "no"), span(3, 1, 9)];
    let traces = request(&spans).spans.into_iter().map(|accepted| {
        let trace_id = accepted.trace_id;
        Trace::new(trace_id, 7).with([Arc::new(Span::from_wire(accepted.wire).expect("an accepted span"))])
    });
    SnapshotPart::of_traces(traces.collect())
}

#[test]
fn filter() {
    let rows = three_traces().batch().expect("rows in memory");
    fuzz("filter", Vec::new(), |source| {
        let Ok(filter) = Filter::compile(source) else { return };
        let canonical = filter.canonical();
        let again = Filter::compile(canonical.as_bytes()).expect("the canonical form of a filter");
        assert_eq!(again.canonical(), canonical);
        let mask = filter.mask(&rows).expect("the columns of a store");
        assert_eq!(mask, again.mask(&rows).expect("the columns of a store"));
        let own = filter.restrict("session_id", "ärger").expect("a field").mask(&rows).expect("columns");
        assert!(own.iter().zip(mask.iter()).all(|(own, all)| own != Some(true) || all == Some(true)));
    });
}

#[test]
fn aggregation() {
    let bodies = [
        r#"{"filter":{"op":"EXISTS","key":"name"},"time":{"from":"2026-01-01","to":"2026-01-02","buckets":12},
            "by":[{"key":"session_id","limit":2},{"key":"status"}],"measures":[{"name":"n","op":"COUNT"},
            {"name":"p","op":"QUANTILE","key":"duration_ms","q":0.5,"where":{"op":"EQ","key":"status","value":"OK"}}]}"#,
        r#"{"by":[{"key":"run_id"}],"time":{"buckets":1},"measures":[{"name":"d","op":"COUNT_DISTINCT","key":"name"},
            {"name":"h","op":"HISTOGRAM","key":"total_spans","scale":"log","bins":7,"range":[-9,9223372036854775807]},
            {"name":"s","op":"SUM","key":"duration_ms"},{"name":"a","op":"AVG","key":"error_count"}]}"#,
        r#"{"measures":[{"name":"l","op":"MIN","key":"input_tokens"},{"name":"m","op":"MAX","key":"output_tokens"},
            {"name":"h","op":"HISTOGRAM","key":"duration_ms"}]}"#,
    ];
    let snapshot = Snapshot::new(vec![three_traces()]);
    let token = CancellationToken::default();
    fuzz("aggregation", bodies.map(|body| body.as_bytes().to_vec()).to_vec(), |source| {
        let aggregation = match Aggregation::compile(source) {
            Ok(aggregation) => aggregation,
            Err(Error::Request(message)) => return assert!(message.contains(" - at `$"), "{message}"),
            Err(Error::Filter(error)) => return assert!(error.path.starts_with('$'), "{error}"),
            Err(error) => panic!("{error}"),
        };
        let result = aggregate(&snapshot, &aggregation, &token).expect("an answer");
        assert!(result.matched <= 3);
        let data: serde_json::Value = serde_json::from_slice(&result.data).expect("JSON");
        assert!(data["groups"].is_array());
    });
}

#[test]
fn facets() {
    let spans = [with(span(1, 1, 0), "session.id", "ärger"), failed(span(2, 1, 5), "no"), span(3, 1, 9)];
    let traces = request(&spans).spans.into_iter().map(|accepted| {
        let trace_id = accepted.trace_id;
        Trace::new(trace_id, 7).with([Arc::new(Span::from_wire(accepted.wire).expect("an accepted span"))])
    });
    let snapshot = Arc::new(Snapshot::new(vec![SnapshotPart::of_traces(traces.collect())]));
    let corpus = vec![
        br#"{"filter":{"op":"EQ","key":"status","value":"OK"},"fields":["status","session_id"],"limit":2,
            "prefix":{"field":"session_id","text":"\u00e4"},"exclude_own":true}"#
            .to_vec(),
    ];
    fuzz("facets", corpus, |body| {
        let Ok(body) = serde_json::from_slice::<serde_json::Value>(body) else { return };
        let Ok(filter) = Filter::compile(body["filter"].to_string().as_bytes()) else { return };
        let keys: Vec<&str> =
            body["fields"].as_array().into_iter().flatten().filter_map(|key| key.as_str()).collect();
        let limit = body["limit"].as_u64().and_then(|limit| usize::try_from(limit).ok()).unwrap_or(20);
        let Ok(mut asked) = FacetRequest::new(&keys, limit) else { return };
        if let Some((key, text)) = body["prefix"]["field"].as_str().zip(body["prefix"]["text"].as_str()) {
            let Ok(narrowed) = asked.with_prefix(key, text) else { return };
            asked = narrowed;
        }
        let asked = asked.excluding_own(body["exclude_own"] == true);
        let counted = spanwise::query::facets(&snapshot, &filter, asked, &CancellationToken::default())
            .expect("facets");
        let data: serde_json::Value = serde_json::from_slice(&counted.data).expect("JSON");
        assert_eq!(data.as_object().map_or(0, serde_json::Map::len), keys.len());
        assert!(counted.matched <= 3);
    });
}

#[test]
fn forest() {
    // Four bytes per span: its id, its parent's id, its start and its duration.
    fuzz("forest", Vec::new(), |shape| {
        let spans: Vec<_> = shape
            .chunks_exact(4)
            .take(512)
            .map(|bytes| {
                let mut made = span(1, u64::from(bytes[0]) + 1, u64::from(bytes[2]));
                if bytes[1] > 0 {
                    made.parent_span_id = u64::from(bytes[1]).to_be_bytes().to_vec().into();
                }
                made.end_time_unix_nano = u64::from(bytes[3]) * MILLISECOND * 1_000_000_000;
                made
            })
            .collect();
        let Some(first) = spans.first() else { return };
        let trace_id = request(std::slice::from_ref(first)).spans.first().map(|span| span.trace_id);
        let spans = request(&spans)
            .spans
            .into_iter()
            .map(|accepted| Arc::new(Span::from_wire(accepted.wire).expect("an accepted span")));
        if let Some(trace_id) = trace_id {
            assert_rendered(&Trace::new(trace_id, 0).with(spans));
        }
    });
}
