//! Tests of `rust/otlp/`.

mod captured;
mod golden;
mod inflating;
mod laws;
mod limits;
mod logs;
mod rendering;
mod responses;
mod samples;

use bytes::Bytes;
use spanwise::error::{Error, Result};
use spanwise::otlp::{self, DecodedRequest};

/// 2026-11-21T12:00:00Z, the current time in these tests.
pub(crate) const NOW_NANOS: u64 = 1_795_262_400_000_000_000;

fn decode_protobuf(body: impl Into<Bytes>) -> Result<DecodedRequest> {
    otlp::decode(body.into(), "application/x-protobuf", None, NOW_NANOS)
}

fn decode_json(body: impl Into<Bytes>) -> Result<DecodedRequest> {
    otlp::decode(body.into(), "application/json", None, NOW_NANOS)
}

/// Returns the Python exception for an error, and its message.
fn exception_of(error: &Error) -> (&'static str, String) {
    let class = match error {
        Error::Decode(_) => "DecodeError",
        Error::MediaType(_) => "UnsupportedMediaTypeError",
        Error::TooLarge(_) => "PayloadTooLargeError",
        other => panic!("no error of a request body: {other:?}"),
    };
    (class, error.to_string())
}
