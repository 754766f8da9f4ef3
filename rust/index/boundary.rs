//! Boundaries between sorted texts, and comparison of texts by a few of their bytes.

/// A boundary between texts in byte order.
#[derive(Debug, Clone, Copy)]
pub enum Boundary<'a> {
    /// Before a text, and after all lesser ones.
    Before(&'a [u8]),
    /// After a text.
    After(&'a [u8]),
    /// After the last text with this prefix.
    AfterPrefix(&'a [u8]),
}

impl Boundary<'_> {
    /// Returns `true` if `text` comes after the boundary.
    pub fn precedes(self, text: &[u8]) -> bool {
        match self {
            Self::Before(own) => text >= own,
            Self::After(own) => text > own,
            Self::AfterPrefix(prefix) => text > prefix && !text.starts_with(prefix),
        }
    }

    /// Returns a [`sort_key`]: all texts with a lesser key come before the boundary, and all texts with a
    /// greater key after it. `None` if the boundary is not among texts with the prefix `common`.
    pub(super) fn sort_key(self, common: &[u8]) -> Option<u64> {
        let (text, padding) = match self {
            Self::Before(text) | Self::After(text) => (text, 0),
            Self::AfterPrefix(prefix) => (prefix, u8::MAX),
        };
        Some(padded(text.strip_prefix(common)?, padding))
    }
}

/// Returns the eight bytes after the first `common` ones as a number. Among texts that share these first
/// bytes, different numbers have the order of their texts.
pub fn sort_key(text: &[u8], common: usize) -> u64 {
    padded(text.get(common..).unwrap_or_default(), 0)
}

fn padded(text: &[u8], padding: u8) -> u64 {
    let mut bytes = [padding; 8];
    let length = text.len().min(8);
    bytes[..length].copy_from_slice(&text[..length]);
    u64::from_be_bytes(bytes)
}
