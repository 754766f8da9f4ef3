//! Decodes request bodies.

use bytes::Bytes;

use super::{DecodedRequest, Encoding, WireSpan, check, fragment, inflate, json, wire};
use crate::error::Result;

/// Decodes a request body into its spans and checks each span individually. `content_type` and
/// `content_encoding` are the request's headers, `now_nanos` is the current time since 1970.
///
/// # Errors
/// [`crate::error::Error::MediaType`] for an unsupported content type or encoding,
/// [`crate::error::Error::TooLarge`] if the body or its decoded form exceeds its limit,
/// [`crate::error::Error::Decode`] if the body as a whole cannot be decoded. No part of a failed request may
/// be stored.
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
    // Fragments are internal: only log records become fragments.
    let is_stored = encoding == Encoding::Protobuf && !fragment::has_fragments(&body);
    Ok(checker.finish(Some(body).filter(|_| is_stored)))
}

/// Returns the unchecked spans of a message of any size. Also returns the number of spans that cannot be
/// converted to protobuf, and the first reason.
///
/// # Errors
/// [`crate::error::Error::Decode`] if the message as a whole cannot be decoded.
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
