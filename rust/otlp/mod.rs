//! Decodes OTLP requests into checked spans.
//!
//! A body is inflated within a limit, split into spans as protobuf or JSON, and each span is checked by itself: an
//! accepted span is kept as the bytes it arrived in, a rejected one is counted and described. The format is OTLP
//! 1.9 (<https://opentelemetry.io/docs/specs/otlp/>); only HTTP is served.

pub mod check;
pub mod decoded;
pub mod ids;
pub mod inflate;
mod json;
pub mod limits;
#[allow(missing_docs, clippy::all, clippy::pedantic, reason = "generated")]
#[rustfmt::skip]
pub mod proto;
pub mod response;
pub mod span_ref;
pub mod wire;

pub use decoded::{AcceptedSpan, DecodedRequest};
pub use ids::{SpanId, TraceId};
pub use span_ref::SpanRef;
pub use wire::{Origin, WireSpan};

use bytes::Bytes;

use crate::error::{Error, Result};

/// The encoding of a request and of its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// `application/x-protobuf`.
    Protobuf,
    /// `application/json`.
    Json,
}

impl Encoding {
    /// Returns the encoding that a `Content-Type` header names; case and parameters are ignored.
    ///
    /// # Errors
    /// [`Error::MediaType`] for any other type.
    ///
    /// # Examples
    /// ```
    /// use spanwise::otlp::Encoding;
    /// assert_eq!(Encoding::of("Application/JSON; charset=utf-8").unwrap(), Encoding::Json);
    /// assert!(Encoding::of("text/plain").is_err());
    /// ```
    pub fn of(content_type: &str) -> Result<Self> {
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        match [Self::Protobuf, Self::Json]
            .into_iter()
            .find(|known| known.media_type().eq_ignore_ascii_case(essence))
        {
            Some(encoding) => Ok(encoding),
            None => Err(Error::MediaType(format!(
                "unsupported content type `{essence}`, expected `{}` or `{}`",
                Self::Protobuf.media_type(),
                Self::Json.media_type()
            ))),
        }
    }

    /// Returns the `Content-Type` of a response in this encoding.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Protobuf => "application/x-protobuf",
            Self::Json => "application/json",
        }
    }
}

/// Decodes a request body into its spans and checks each of them by itself. `content_type` and `content_encoding`
/// are the request's headers, `now_nanos` is the current time since 1970.
///
/// # Errors
/// [`Error::MediaType`] for an unsupported content type or encoding, [`Error::TooLarge`] if the body or its decoded
/// form exceeds its limit, [`Error::Decode`] if the body as a whole cannot be decoded. Nothing of a failed request
/// may be stored.
pub fn decode(
    body: Bytes,
    content_type: &str,
    content_encoding: Option<&str>,
    now_nanos: u64,
) -> Result<DecodedRequest> {
    let encoding = Encoding::of(content_type)?;
    let body = inflate::inflate(body, content_encoding)?;
    let mut checker = check::RequestChecker::new(now_nanos);
    match encoding {
        Encoding::Protobuf => wire::walk(&body, |span| checker.add(Ok(span)))?,
        Encoding::Json => json::walk(&body, |span| checker.add(span))?,
    }
    Ok(checker.finish(Some(body).filter(|_| encoding == Encoding::Protobuf)))
}

/// Returns the spans of a message of any size, unchecked; the number of spans that cannot be converted to protobuf;
/// and the reason for the first of those.
///
/// # Errors
/// [`Error::Decode`] if the message as a whole cannot be decoded.
pub fn split_message(body: &Bytes, encoding: Encoding) -> Result<(Vec<WireSpan>, u64, String)> {
    let (mut spans, mut rejected, mut first) = (Vec::new(), 0, String::new());
    match encoding {
        Encoding::Protobuf => wire::walk(body, |span| {
            spans.push(span);
            Ok(())
        })?,
        Encoding::Json => json::walk(body, |span| {
            match span {
                Ok(span) => spans.push(span),
                Err(reason) => {
                    rejected += 1;
                    if rejected == 1 {
                        first = check::clip(&reason);
                    }
                }
            }
            Ok(())
        })?,
    }
    Ok((spans, rejected, first))
}
