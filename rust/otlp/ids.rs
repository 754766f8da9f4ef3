//! Trace ids and span ids.

use std::fmt;

/// A trace id: 16 bytes, not all zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TraceId([u8; 16]);

/// A span id, unique within its trace: 8 bytes, not all zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpanId([u8; 8]);

macro_rules! hexadecimal_id {
    ($id:ident, $length:literal) => {
        impl $id {
            /// Returns the id with these bytes; `None` if the length is wrong or every byte is zero.
            pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
                let bytes: [u8; $length] = bytes.try_into().ok()?;
                (bytes != [0; $length]).then_some(Self(bytes))
            }

            /// Returns the id for hexadecimal digits of either case; `None` if `text` is not an id.
            pub fn from_hex(text: &str) -> Option<Self> {
                decode_hex(text).and_then(|bytes| Self::from_bytes(&bytes))
            }

            /// Returns the bytes of the id.
            pub fn as_bytes(&self) -> &[u8; $length] {
                &self.0
            }
        }

        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                const DIGITS: &[u8; 16] = b"0123456789abcdef";
                let mut text = [0; 2 * $length];
                for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
                    pair.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
                }
                f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
            }
        }

        impl fmt::Debug for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

hexadecimal_id!(TraceId, 16);
hexadecimal_id!(SpanId, 8);

/// Returns the bytes for pairs of hexadecimal digits of either case; `None` if `text` is malformed.
pub(crate) fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let value = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some(value(*high)? << 4 | value(*low)?),
        _ => None,
    };
    text.as_bytes().chunks(2).map(byte).collect()
}
