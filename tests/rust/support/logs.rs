//! Concise construction of log records and requests.

use bytes::Bytes;
use prost::Message as _;
use spanwise::otlp::proto::{self, any_value::Value};
use spanwise::otlp::{self, DecodedLogs, Fragment};

use crate::support::spans::{EPOCH, MILLISECOND, span};

pub(crate) fn value(value: Value) -> proto::AnyValue {
    proto::AnyValue { value: Some(value) }
}

/// Returns a key with a text.
pub(crate) fn text(key: &str, text: &str) -> proto::KeyValue {
    proto::KeyValue {
        key: key.into(),
        value: Some(value(Value::StringValue(text.into()))),
        ..Default::default()
    }
}

/// Returns message number `number` of a span of trace number `trace` as a log record, `number` milliseconds after
/// [`EPOCH`].
pub(crate) fn log(trace: u64, id: u64, number: u64) -> proto::LogRecord {
    let named = span(trace, id, 0);
    let content = vec![text("content", &format!("message {number}"))];
    proto::LogRecord {
        time_unix_nano: EPOCH + number * MILLISECOND,
        event_name: "gen_ai.user.message".into(),
        body: Some(value(Value::KvlistValue(proto::KeyValueList { values: content }))),
        trace_id: named.trace_id,
        span_id: named.span_id,
        ..proto::LogRecord::default()
    }
}

/// Returns the encoded body of an OTLP request with `records`: `LogsData`, which has the layout of `TracesData`.
pub(crate) fn log_body(records: &[proto::LogRecord]) -> Bytes {
    let spans = records.iter().map(|record| record.encode_to_vec().into()).collect();
    let scope_spans = vec![proto::ScopeSpans { spans, ..proto::ScopeSpans::default() }];
    let resource_spans = vec![proto::ResourceSpans { scope_spans, ..proto::ResourceSpans::default() }];
    proto::TracesData { resource_spans }.encode_to_vec().into()
}

/// Returns the decoded request with `records`, received one year after [`EPOCH`].
pub(crate) fn logs(records: &[proto::LogRecord]) -> DecodedLogs {
    let now = EPOCH + 365 * 86_400 * 1_000 * MILLISECOND;
    otlp::decode_logs(log_body(records), "application/x-protobuf", None, now).expect("a good request")
}

/// Returns the fragment of a log record.
pub(crate) fn fragment(record: &proto::LogRecord) -> Fragment {
    logs(std::slice::from_ref(record)).fragments.remove(0)
}
