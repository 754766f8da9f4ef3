//! Ids in the formats of other programs.

use bytes::Bytes;

use super::Checked;
use super::value::Value;
use crate::otlp::ids::decode_hex;

/// Returns the bytes of an id in hexadecimal text or in bytes; empty if it is null or empty.
pub(super) fn id(value: Option<&Value<'_>>, name: &str) -> Checked<Bytes> {
    let found = match value {
        None | Some(Value::Null) => return Ok(Bytes::new()),
        Some(Value::Bytes(bytes)) => return Ok(Bytes::copy_from_slice(bytes)),
        Some(Value::Text(text)) => decode_hex(text),
        Some(_) => None,
    };
    let got = || value.map(Value::to_string).unwrap_or_default();
    found
        .map(Bytes::from)
        .ok_or_else(|| format!("expected `{name}` as hexadecimal text or bytes, got `{}`", got()))
}

/// Returns an id of `N` bytes from hexadecimal digits, possibly without leading zeros.
pub(super) fn padded<const N: usize>(text: &str) -> Checked<Bytes> {
    let digits = format!("{text:0>width$}", width = 2 * N);
    let bytes = decode_hex(&digits).filter(|bytes| bytes.len() == N);
    bytes
        .map(Bytes::from)
        .ok_or_else(|| format!("expected an id of up to {} hexadecimal digits, got `{text}`", 2 * N))
}

/// Returns an id of `N` bytes for `text`, and `true` if the text is that id in hexadecimal digits. Hyphens of
/// a UUID are removed. Any other text is hashed.
pub(super) fn derived<const N: usize>(text: &str) -> (Bytes, bool) {
    let plain = text.replace('-', "");
    match decode_hex(&plain).filter(|bytes| bytes.len() == N) {
        Some(bytes) => (bytes.into(), plain.len() == text.len()),
        None => (Bytes::copy_from_slice(&fnv1a(text.as_bytes()).to_be_bytes()[..N]), false),
    }
}

/// Returns the 128-bit FNV-1a hash of `bytes`.
fn fnv1a(bytes: &[u8]) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(OFFSET, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
}
