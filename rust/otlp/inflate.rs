//! Decodes the content encoding of a body, and enforces the size limit while inflating.

use std::io::{BufRead, Read};

use bytes::Bytes;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use super::limits::MAX_BODY_BYTES;
use crate::error::{Error, Result};

/// Returns `body` without its content encoding: `identity` (the default), `gzip`, or `deflate`. The latter is
/// zlib by the standard, but some senders send raw deflate data. Encoding names are case-insensitive.
///
/// # Errors
/// [`Error::MediaType`] for any other encoding, [`Error::TooLarge`] over [`MAX_BODY_BYTES`],
/// [`Error::Decode`] if the body is damaged, truncated, or has trailing data.
pub fn inflate(body: Bytes, content_encoding: Option<&str>) -> Result<Bytes> {
    let name = content_encoding.unwrap_or_default().trim().to_ascii_lowercase();
    match name.as_str() {
        "" | "identity" if body.len() <= MAX_BODY_BYTES => Ok(body),
        "" | "identity" => Err(too_large()),
        "gzip" | "x-gzip" => read_whole(MultiGzDecoder::new(body.as_ref()), "gzip"),
        "deflate" if is_zlib(&body) => {
            let mut rest = body.as_ref();
            let inflated = read_whole(ZlibDecoder::new(&mut rest), "deflate")?;
            expect_end(rest).map(|()| inflated)
        }
        "deflate" => {
            let mut rest = body.as_ref();
            let inflated = read_whole(DeflateDecoder::new(&mut rest), "deflate")?;
            expect_end(rest).map(|()| inflated)
        }
        _ => Err(Error::MediaType(format!(
            "unsupported content encoding `{name}`, expected `gzip`, `deflate` or `identity`"
        ))),
    }
}

/// Returns `true` if the first two bytes are a zlib header (RFC 1950, section 2.2). Raw deflate data with the
/// same bytes would be a stored block with padding, which no compressor writes.
fn is_zlib(body: &[u8]) -> bool {
    match body {
        [method, flags, ..] => method & 0x0f == 8 && u16::from_be_bytes([*method, *flags]).is_multiple_of(31),
        _ => false,
    }
}

fn read_whole(decoder: impl Read, name: &str) -> Result<Bytes> {
    let mut inflated = Vec::new();
    // One byte over the limit is enough to detect the excess.
    let mut bounded = decoder.take(MAX_BODY_BYTES as u64 + 1);
    bounded
        .read_to_end(&mut inflated)
        .map_err(|error| Error::Decode(format!("expected a body encoded as `{name}`: {error}")))?;
    if inflated.len() > MAX_BODY_BYTES {
        return Err(too_large());
    }
    // A body may wait long for its commit, so its spare capacity is released.
    inflated.shrink_to_fit();
    Ok(inflated.into())
}

fn expect_end(rest: impl BufRead) -> Result<()> {
    match rest.bytes().next() {
        None => Ok(()),
        Some(_) => Err(Error::Decode("expected a body encoded as `deflate`: data after its end".to_owned())),
    }
}

fn too_large() -> Error {
    Error::TooLarge(format!("the request body is over {MAX_BODY_BYTES} bytes"))
}
