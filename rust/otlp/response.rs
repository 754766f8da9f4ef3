//! The response bodies of OTLP, in the encoding of the request.
//!
//! See <https://opentelemetry.io/docs/specs/otlp/>, "OTLP/HTTP Response".

use prost::Message as _;
use serde_json::json;

use super::{Encoding, Signal, proto};

/// Returns the encoded `Export<Signal>ServiceResponse`; in protobuf those of all signals are the same bytes.
/// `partial_success` is left unset if nothing was rejected and `reason` is empty.
pub fn success(encoding: Encoding, signal: Signal, rejected: u64, reason: &str) -> Vec<u8> {
    let is_whole = rejected == 0 && reason.is_empty();
    match encoding {
        Encoding::Protobuf => {
            let partial_success = (!is_whole).then(|| proto::ExportTracePartialSuccess {
                rejected_spans: i64::try_from(rejected).unwrap_or(i64::MAX),
                error_message: reason.to_owned(),
            });
            proto::ExportTraceServiceResponse { partial_success }.encode_to_vec()
        }
        Encoding::Json if is_whole => b"{}".to_vec(),
        Encoding::Json => {
            // The JSON mapping of protobuf writes 64-bit integers as text.
            let count = rejected.to_string();
            let counted = match signal {
                Signal::Traces => "rejectedSpans",
                Signal::Logs => "rejectedLogRecords",
                Signal::Metrics => "rejectedDataPoints",
            };
            json!({"partialSuccess": {counted: count, "errorMessage": reason}}).to_string().into_bytes()
        }
    }
}

/// Returns an encoded `google.rpc.Status`, the body of every failed request.
pub fn failure(encoding: Encoding, http_status: u16, message: &str) -> Vec<u8> {
    let code = rpc_code(http_status);
    match encoding {
        Encoding::Protobuf => {
            proto::RpcStatus { code, message: message.to_owned(), details: Vec::new() }.encode_to_vec()
        }
        Encoding::Json => json!({"code": code, "message": message}).to_string().into_bytes(),
    }
}

/// Returns the `google.rpc.Code` of an HTTP status, by the table in `google/rpc/code.proto`. Statuses that are not
/// in it: 405 is an operation that is not implemented, 413 is the code gRPC gives a message over its limit, 408 is
/// a deadline; other client errors are an invalid argument, and other failures are unknown.
fn rpc_code(http_status: u16) -> i32 {
    match http_status {
        401 => 16,
        403 => 7,
        404 => 5,
        405 | 501 => 12,
        408 | 504 => 4,
        409 => 10,
        413 | 429 => 8,
        499 => 1,
        400..500 => 3,
        500 => 13,
        502 | 503 => 14,
        _ => 2,
    }
}
