//! Response bodies, in both encodings.

use prost::Message as _;
use serde_json::{Value as Json, json};
use spanwise::otlp::Encoding::{Json as InJson, Protobuf};
use spanwise::otlp::Signal;
use spanwise::otlp::proto::{ExportTracePartialSuccess, ExportTraceServiceResponse, RpcStatus};
use spanwise::otlp::response::{failure, success};

fn json_of(body: &[u8]) -> Json {
    serde_json::from_slice(body).expect("a JSON response")
}

#[test]
fn each_signal_names_what_it_counts() {
    let counted = [
        (Signal::Traces, "rejectedSpans"),
        (Signal::Logs, "rejectedLogRecords"),
        (Signal::Metrics, "rejectedDataPoints"),
    ];
    for (signal, name) in counted {
        let response = json_of(&success(InJson, signal, 3, "no"));
        assert_eq!(response, json!({"partialSuccess": {name: "3", "errorMessage": "no"}}));
        assert_eq!(success(Protobuf, signal, 3, "no"), success(Protobuf, Signal::Traces, 3, "no"));
    }
}

#[test]
fn a_full_success_is_an_empty_message() {
    assert_eq!(success(Protobuf, Signal::Traces, 0, ""), b"");
    assert_eq!(success(InJson, Signal::Traces, 0, ""), b"{}");
}

#[test]
fn a_partial_success_has_a_count_and_a_reason() {
    let response =
        ExportTraceServiceResponse::decode(success(Protobuf, Signal::Traces, 12, "too \"deep\"").as_slice());
    let partial_success =
        Some(ExportTracePartialSuccess { rejected_spans: 12, error_message: "too \"deep\"".to_owned() });
    assert_eq!(response.expect("a response"), ExportTraceServiceResponse { partial_success });
    let response = json_of(&success(InJson, Signal::Traces, 12, "too \"deep\""));
    assert_eq!(response, json!({"partialSuccess": {"rejectedSpans": "12", "errorMessage": "too \"deep\""}}));
}

#[test]
fn a_failure_has_the_rpc_code_of_its_status() {
    let codes = [
        (400, 3),
        (401, 16),
        (403, 7),
        (404, 5),
        (405, 12),
        (408, 4),
        (413, 8),
        (415, 3),
        (429, 8),
        (500, 13),
        (503, 14),
        (504, 4),
        (599, 2),
    ];
    for (http_status, code) in codes {
        let response = RpcStatus::decode(failure(Protobuf, http_status, "why").as_slice()).expect("a status");
        assert_eq!(response, RpcStatus { code, message: "why".to_owned(), details: Vec::new() });
        assert_eq!(json_of(&failure(InJson, http_status, "why")), json!({"code": code, "message": "why"}));
    }
}
