//! Tests of the bytes of one text, made of a [`TextMatcher`].

use std::collections::HashMap;
use std::ops::Bound;

use super::super::text::{ByteInterval, TextMatcher};
use super::key_table::KeyTable;

/// So many texts may have one quick key; with more of them texts are hashed as a whole.
const MAX_SAME_KEYS: usize = 8;

/// What is asked of a text, by the operators that compare its bytes.
#[derive(Debug)]
pub(super) enum ByteTest {
    /// The text is this one.
    Equals(Literal),
    /// The text is one of these.
    OneOf(TextSet),
    /// The text starts with this one.
    StartsWith(Literal),
    /// The text lies between these.
    Between(Bound<Literal>, Bound<Literal>),
    /// The matcher decides.
    Matches(TextMatcher),
}

impl ByteTest {
    /// Returns the test of `matcher`.
    pub(super) fn of(matcher: &TextMatcher) -> Self {
        let Some(intervals) = matcher.intervals(false) else { return Self::Matches(matcher.clone()) };
        match intervals.as_slice() {
            [ByteInterval::Exactly(text)] => Self::Equals(Literal::new(text)),
            [ByteInterval::StartsWith(text)] => Self::StartsWith(Literal::new(text)),
            [ByteInterval::Between(from, to)] => Self::Between(from.map(Literal::new), to.map(Literal::new)),
            texts => Self::OneOf(TextSet::new(texts)),
        }
    }

    /// Whether the test is true of the text at `start` in `bytes`, of this length. `scratch` is a reusable buffer.
    #[inline]
    pub(super) fn is_true_of(&self, (bytes, start, length): Text<'_>, scratch: &mut String) -> bool {
        match self {
            Self::Equals(literal) => length == literal.bytes.len() && literal.is_at(bytes, start),
            Self::StartsWith(literal) => length >= literal.bytes.len() && literal.is_at(bytes, start),
            Self::OneOf(set) => set.has((bytes, start, length)),
            Self::Between(from, to) => {
                let text = (bytes, start, length);
                let is_after = match from {
                    Bound::Unbounded => true,
                    Bound::Included(from) => from.compared_to(text).is_le(),
                    Bound::Excluded(from) => from.compared_to(text).is_lt(),
                };
                is_after
                    && match to {
                        Bound::Unbounded => true,
                        Bound::Included(to) => to.compared_to(text).is_ge(),
                        Bound::Excluded(to) => to.compared_to(text).is_gt(),
                    }
            }
            Self::Matches(matcher) => {
                let text = std::str::from_utf8(&bytes[start..start + length]);
                text.is_ok_and(|text| matcher.matches(text, scratch))
            }
        }
    }
}

/// Bytes, and where in them a text starts and how long it is.
pub(super) type Text<'t> = (&'t [u8], usize, usize);

/// The eight bytes at `start`, the first in the lowest; `None` at the end of `bytes`.
#[inline]
fn eight_at(bytes: &[u8], start: usize) -> Option<u64> {
    let eight = bytes.get(start..start + 8)?;
    Some(u64::from_le_bytes(eight.try_into().ok()?))
}

/// The bits of the first `length` bytes of a word.
#[inline]
fn mask_of(length: usize) -> u64 {
    if length >= 8 { u64::MAX } else { (1 << (length * 8)) - 1 }
}

/// The first eight bytes of a text, zero beyond its end.
#[inline]
fn head_of((bytes, start, length): Text<'_>) -> u64 {
    match eight_at(bytes, start) {
        Some(eight) => eight & mask_of(length),
        None => head_at_end(&bytes[start..start + length.min(8)]),
    }
}

#[cold]
fn head_at_end(text: &[u8]) -> u64 {
    let mut eight = [0; 8];
    eight[..text.len()].copy_from_slice(text);
    u64::from_le_bytes(eight)
}

/// A text to compare with: most are told apart by their first eight bytes.
#[derive(Debug)]
pub(super) struct Literal {
    pub(super) bytes: Box<[u8]>,
    head: u64,
    mask: u64,
}

impl Literal {
    pub(super) fn new(bytes: &[u8]) -> Self {
        Self { bytes: bytes.into(), head: head_of((bytes, 0, bytes.len())), mask: mask_of(bytes.len()) }
    }

    /// Whether this text stands at `start` in `bytes`, which are that long.
    #[inline]
    pub(super) fn is_at(&self, bytes: &[u8], start: usize) -> bool {
        match eight_at(bytes, start) {
            Some(eight) if (eight ^ self.head) & self.mask != 0 => false,
            Some(_) if self.bytes.len() <= 8 => true,
            _ => bytes[start..].starts_with(&self.bytes),
        }
    }

    /// Compares this text with another one, byte by byte.
    #[inline]
    fn compared_to(&self, (bytes, start, length): Text<'_>) -> std::cmp::Ordering {
        let head = head_of((bytes, start, length)).swap_bytes();
        self.head.swap_bytes().cmp(&head).then_with(|| self.bytes.as_ref().cmp(&bytes[start..start + length]))
    }
}

/// A set of texts.
#[derive(Debug)]
pub(super) struct TextSet {
    texts: Vec<Literal>,
    table: KeyTable,
    /// Whether a text with `n` bytes can be in the set, by bit; the last one is for all longer texts.
    lengths: u64,
    /// Hashes whole texts, if too many begin and end alike.
    hasher: Option<ahash::RandomState>,
}

impl TextSet {
    fn new(texts: &[ByteInterval<'_>]) -> Self {
        let exact = |text: &ByteInterval<'_>| match text {
            ByteInterval::Exactly(text) => Some(Literal::new(text)),
            ByteInterval::Between(_, _) | ByteInterval::StartsWith(_) => None,
        };
        let texts: Vec<_> = texts.iter().filter_map(exact).collect();
        let whole = |literal: &Literal| quick_key((&literal.bytes, 0, literal.bytes.len()));
        let mut same: HashMap<u64, usize> = HashMap::new();
        for text in &texts {
            *same.entry(whole(text)).or_default() += 1;
        }
        let is_alike = same.values().any(|count| *count > MAX_SAME_KEYS);
        let hasher = is_alike.then(ahash::RandomState::new);
        let keys: Vec<_> = texts
            .iter()
            .map(|text| {
                hasher.as_ref().map_or_else(|| whole(text), |hasher| hasher.hash_one(&text.bytes[..]))
            })
            .collect();
        let lengths = texts.iter().fold(0, |lengths, text| lengths | 1 << text.bytes.len().min(63));
        Self { table: KeyTable::new(&keys), texts, lengths, hasher }
    }

    /// Whether a text is in the set.
    #[inline]
    pub(super) fn has(&self, text: Text<'_>) -> bool {
        let (bytes, start, length) = text;
        if self.lengths >> length.min(63) & 1 == 0 {
            return false;
        }
        let key = match &self.hasher {
            None => quick_key(text),
            Some(hasher) => hasher.hash_one(&bytes[start..start + length]),
        };
        self.table.has(key, |number| {
            let literal = &self.texts[number];
            literal.bytes.len() == length && literal.is_at(bytes, start)
        })
    }
}

/// A key of how a text begins and ends, and of its length.
#[inline]
fn quick_key((bytes, start, length): Text<'_>) -> u64 {
    let head = head_of((bytes, start, length));
    let tail = if length > 8 { eight_at(bytes, start + length - 8).unwrap_or_default() } else { 0 };
    let mixed =
        head.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ tail.wrapping_mul(0xc2b2_ae3d_27d4_eb4f).rotate_left(31);
    (mixed ^ (mixed >> 29)).wrapping_add(length as u64)
}
