//! The response bodies of OTLP, in the encoding of the request.
//!
//! See <https://opentelemetry.io/docs/specs/otlp/>, "OTLP/HTTP Response".

use prost::Message as _;
use serde_json::json;

use super::{Encoding, Signal, proto};

/// Returns the encoded `Export<Signal>ServiceResponse`. In protobuf the bytes are the same for all signals.
/// `partial_success` is omitted if `rejected` is zero and `reason` is empty.
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

/// Returns the `google.rpc.Code` of an HTTP status, by the table in `google/rpc/code.proto`. For statuses
/// outside the table: 405 is an unimplemented operation, 408 is a deadline, and 413 has the code that gRPC
/// uses for an oversized message. Other client errors are invalid arguments, and other failures are unknown.
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
