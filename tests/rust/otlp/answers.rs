//! What the sender is told.

use prost::Message as _;
use serde_json::{Value as Json, json};
use spanwise::otlp::Encoding::{Json as InJson, Protobuf};
use spanwise::otlp::answer::{response, status};
use spanwise::otlp::proto::{ExportTracePartialSuccess, ExportTraceServiceResponse, RpcStatus};

fn json_of(body: &[u8]) -> Json {
    serde_json::from_slice(body).expect("an answer in JSON")
}

#[test]
fn a_whole_success_says_nothing() {
    assert_eq!(response(Protobuf, 0, ""), b"");
    assert_eq!(response(InJson, 0, ""), b"{}");
}

#[test]
fn a_partial_success_counts_and_explains() {
    let told = ExportTraceServiceResponse::decode(response(Protobuf, 12, "too \"deep\"").as_slice());
    let partial_success =
        Some(ExportTracePartialSuccess { rejected_spans: 12, error_message: "too \"deep\"".to_owned() });
    assert_eq!(told.expect("a response"), ExportTraceServiceResponse { partial_success });
    let told = json_of(&response(InJson, 12, "too \"deep\""));
    assert_eq!(told, json!({"partialSuccess": {"rejectedSpans": "12", "errorMessage": "too \"deep\""}}));
}

#[test]
fn a_failure_carries_the_code_of_its_status() {
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
        let told = RpcStatus::decode(status(Protobuf, http_status, "why").as_slice()).expect("a status");
        assert_eq!(told, RpcStatus { code, message: "why".to_owned(), details: Vec::new() });
        assert_eq!(json_of(&status(InJson, http_status, "why")), json!({"code": code, "message": "why"}));
    }
}
