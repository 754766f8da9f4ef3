//! The two identifiers of a span.

use std::fmt;

/// The 16 bytes that name a trace; never all zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TraceId([u8; 16]);

/// The 8 bytes that name a span within its trace; never all zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpanId([u8; 8]);

macro_rules! hexadecimal_id {
    ($id:ident, $length:literal) => {
        impl $id {
            /// Returns the id made of `bytes`, or `None` if the length is wrong or every byte is zero.
            pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
                let bytes: [u8; $length] = bytes.try_into().ok()?;
                (bytes != [0; $length]).then_some(Self(bytes))
            }

            /// Returns the id that `text` spells in hexadecimal digits of either case.
            pub fn from_hex(text: &str) -> Option<Self> {
                let digits = text.as_bytes();
                if digits.len() != 2 * $length {
                    return None;
                }
                let mut bytes = [0; $length];
                for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
                    let high = char::from(pair[0]).to_digit(16)?;
                    let low = char::from(pair[1]).to_digit(16)?;
                    *byte = u8::try_from(high * 16 + low).ok()?;
                }
                Self::from_bytes(&bytes)
            }

            /// Returns the bytes as they go over the wire.
            pub fn as_bytes(&self) -> &[u8; $length] {
                &self.0
            }
        }

        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
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
