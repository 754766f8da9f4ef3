//! Tests of the bytes of one text, built from a [`TextMatcher`].

use std::collections::HashMap;
use std::ops::{Bound, RangeBounds};

use super::super::text::{ByteInterval, TextMatcher};
use super::key_table::{KeyFilter, KeyTable};
use super::words::Verdict;

/// The maximum number of texts that share a quick key. If more do, texts are hashed as a whole.
const MAX_SAME_KEYS: usize = 8;

/// A condition on a text, by the operation that compares its bytes.
#[derive(Debug)]
pub(super) enum BytePredicate {
    /// The text equals this one.
    Equals(ComparedText),
    /// The text equals one of these.
    OneOf(TextSet),
    /// The text has this prefix.
    StartsWith(ComparedText),
    /// The text is between two others.
    Between(TextRange),
    /// The matcher decides.
    Matches(TextMatcher),
}

impl BytePredicate {
    /// Returns the predicate for `matcher`.
    pub(super) fn of(matcher: &TextMatcher) -> Self {
        let Some(intervals) = matcher.intervals(false) else { return Self::Matches(matcher.clone()) };
        match intervals.as_slice() {
            [ByteInterval::Exactly(text)] => Self::Equals(ComparedText::new(text)),
            [ByteInterval::StartsWith(text)] => Self::StartsWith(ComparedText::new(text)),
            [ByteInterval::Between(from, to)] => Self::Between(TextRange::new(*from, *to)),
            texts => Self::OneOf(TextSet::new(texts)),
        }
    }

    /// Returns `true` if the predicate is true for a text. `scratch` is a reusable buffer.
    #[inline]
    pub(super) fn is_true_of(&self, (bytes, start, length): TextSlice<'_>, scratch: &mut String) -> bool {
        match self {
            Self::Equals(literal) => length == literal.bytes.len() && literal.is_at(bytes, start),
            Self::StartsWith(literal) => length >= literal.bytes.len() && literal.is_at(bytes, start),
            Self::OneOf(set) => set.has((bytes, start, length)),
            Self::Between(range) => range.has((bytes, start, length)),
            Self::Matches(matcher) => {
                let text = std::str::from_utf8(&bytes[start..start + length]);
                text.is_ok_and(|text| matcher.matches(text, scratch))
            }
        }
    }
}

/// A text as its buffer, start and length.
pub(super) type TextSlice<'t> = (&'t [u8], usize, usize);

/// The number of bytes of a text that are probed first.
pub(super) const HEAD: usize = 8;

/// A probe of some bytes of texts. It has no branches, so that many texts are probed at once. It is inlined
/// into its caller, because a call would prevent vectorization there.
pub(super) trait BytesProbe {
    /// True if the probe is worthwhile for texts of different lengths, whose positions are only known one by
    /// one.
    const IS_FOR_ANY_LENGTH: bool = true;

    /// Returns the probed bytes of a text in the form that `verdict` needs.
    fn sample(&self, text: TextSlice<'_>) -> u64;

    /// Returns the verdict for a sample.
    fn verdict(&self, sample: u64) -> Verdict;
}

/// Returns the eight bytes at `start`, the first in the lowest byte; `None` at the end of `bytes`.
#[inline(always)]
#[allow(clippy::inline_always, reason = "see `BytesProbe`")]
fn eight_at(bytes: &[u8], start: usize) -> Option<u64> {
    let eight = bytes.get(start..start + HEAD)?;
    Some(u64::from_le_bytes(eight.try_into().ok()?))
}

/// Returns a mask of the first `length` bytes of a word.
#[inline(always)]
#[allow(clippy::inline_always, reason = "see `BytesProbe`")]
fn mask_of(length: usize) -> u64 {
    if length >= HEAD { u64::MAX } else { (1 << (length * 8)) - 1 }
}

/// Returns the first eight bytes of a text, zero beyond its end.
#[inline(always)]
#[allow(clippy::inline_always, reason = "see `BytesProbe`")]
fn head_of((bytes, start, length): TextSlice<'_>) -> u64 {
    match eight_at(bytes, start) {
        Some(eight) => eight & mask_of(length),
        None => head_at_end(&bytes[start..start + length.min(HEAD)]),
    }
}

/// Returns the last eight bytes of a text; the head if it has no more bytes.
#[inline(always)]
#[allow(clippy::inline_always, reason = "see `BytesProbe`")]
fn tail_of((bytes, start, length): TextSlice<'_>) -> u64 {
    let before = length.saturating_sub(HEAD);
    head_of((bytes, start + before, length - before))
}

#[cold]
fn head_at_end(text: &[u8]) -> u64 {
    let mut eight = [0; HEAD];
    eight[..text.len()].copy_from_slice(text);
    u64::from_le_bytes(eight)
}

/// A text to compare with. The first or last eight bytes distinguish most other texts.
#[derive(Debug)]
pub(super) struct ComparedText {
    pub(super) bytes: Box<[u8]>,
    head: u64,
    tail: u64,
    mask: u64,
    /// The verdict for a text with the same eight bytes.
    likely: Verdict,
}

impl ComparedText {
    pub(super) fn new(bytes: &[u8]) -> Self {
        let text = (bytes, 0, bytes.len());
        let likely = if bytes.len() <= HEAD { Verdict::Yes } else { Verdict::Maybe };
        Self {
            bytes: bytes.into(),
            head: head_of(text),
            tail: tail_of(text),
            mask: mask_of(bytes.len()),
            likely,
        }
    }

    /// Returns `true` if this text is at `start` in `bytes`. The candidate is at least as long.
    #[inline]
    pub(super) fn is_at(&self, bytes: &[u8], start: usize) -> bool {
        match eight_at(bytes, start) {
            Some(eight) if (eight ^ self.head) & self.mask != 0 => false,
            Some(_) if self.bytes.len() <= HEAD => true,
            _ => bytes[start..].starts_with(&self.bytes),
        }
    }
}

/// A probe for a text among texts of the same length, by their last eight bytes. Ids of one kind often have
/// the same prefix.
pub(super) struct SameTail<'l>(pub(super) &'l ComparedText);

#[allow(clippy::inline_always, reason = "see `BytesProbe`")]
impl BytesProbe for SameTail<'_> {
    const IS_FOR_ANY_LENGTH: bool = false;

    #[inline(always)]
    fn sample(&self, text: TextSlice<'_>) -> u64 {
        tail_of(text)
    }

    #[inline(always)]
    fn verdict(&self, tail: u64) -> Verdict {
        if tail == self.0.tail { self.0.likely } else { Verdict::No }
    }
}

/// A probe for texts with a prefix.
pub(super) struct SameHead<'l>(pub(super) &'l ComparedText);

#[allow(clippy::inline_always, reason = "see `BytesProbe`")]
impl BytesProbe for SameHead<'_> {
    #[inline(always)]
    fn sample(&self, text: TextSlice<'_>) -> u64 {
        if text.2 >= self.0.bytes.len() { head_of(text) } else { !self.0.head }
    }

    #[inline(always)]
    fn verdict(&self, head: u64) -> Verdict {
        if head & self.0.mask == self.0.head { self.0.likely } else { Verdict::No }
    }
}

/// The texts between two others, in byte order.
#[derive(Debug)]
pub(super) struct TextRange {
    from: Bound<Box<[u8]>>,
    to: Bound<Box<[u8]>>,
    /// The first eight bytes of both bounds as big-endian numbers, which have the order of the texts.
    heads: [Option<u64>; 2],
}

impl TextRange {
    fn new(from: Bound<&[u8]>, to: Bound<&[u8]>) -> Self {
        let head = |bound: Bound<&[u8]>| match bound {
            Bound::Included(text) | Bound::Excluded(text) => {
                Some(head_of((text, 0, text.len())).swap_bytes())
            }
            Bound::Unbounded => None,
        };
        Self { from: from.map(Into::into), to: to.map(Into::into), heads: [head(from), head(to)] }
    }

    /// Returns a verdict from the first four bytes of a text as a big-endian number.
    #[inline]
    pub(super) fn has_likely_prefix(&self, prefix: u32) -> Verdict {
        is_between(prefix.into(), self.heads.map(|head| head.map(|head| head >> 32)))
    }

    /// Returns `true` if a text is in the range.
    fn has(&self, (bytes, start, length): TextSlice<'_>) -> bool {
        let bounds: (Bound<&[u8]>, Bound<&[u8]>) =
            (self.from.as_ref().map(AsRef::as_ref), self.to.as_ref().map(AsRef::as_ref));
        RangeBounds::<[u8]>::contains(&bounds, &bytes[start..start + length])
    }
}

#[allow(clippy::inline_always, reason = "see `BytesProbe`")]
impl BytesProbe for TextRange {
    #[inline(always)]
    fn sample(&self, text: TextSlice<'_>) -> u64 {
        head_of(text).swap_bytes()
    }

    #[inline(always)]
    fn verdict(&self, head: u64) -> Verdict {
        is_between(head, self.heads)
    }
}

/// Compares the beginning of a text with the beginnings of two bounds.
#[inline(always)]
#[allow(clippy::inline_always, clippy::needless_bitwise_bool, reason = "see `BytesProbe`")]
fn is_between(beginning: u64, [from, to]: [Option<u64>; 2]) -> Verdict {
    let is_edge = from.is_some_and(|from| beginning == from) | to.is_some_and(|to| beginning == to);
    let is_inside = from.is_none_or(|from| beginning > from) & to.is_none_or(|to| beginning < to);
    match (is_edge, is_inside) {
        (true, _) => Verdict::Maybe,
        (false, true) => Verdict::Yes,
        (false, false) => Verdict::No,
    }
}

/// A set of texts.
#[derive(Debug)]
pub(super) struct TextSet {
    texts: Vec<ComparedText>,
    table: KeyTable,
    /// Bit `n` is set if a text with `n` bytes can be in the set. The last bit covers all longer texts.
    lengths: u64,
    /// Hashes whole texts if too many share a quick key.
    hasher: Option<ahash::RandomState>,
}

impl TextSet {
    fn new(texts: &[ByteInterval<'_>]) -> Self {
        let exact = |text: &ByteInterval<'_>| match text {
            ByteInterval::Exactly(text) => Some(ComparedText::new(text)),
            ByteInterval::Between(_, _) | ByteInterval::StartsWith(_) => None,
        };
        let texts: Vec<_> = texts.iter().filter_map(exact).collect();
        let whole = |literal: &ComparedText| quick_key((&literal.bytes, 0, literal.bytes.len()));
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

    /// Returns a filter of the texts by another key.
    pub(super) fn filter_by(&self, key: impl Fn(&[u8]) -> u64) -> KeyFilter {
        KeyFilter::new(self.texts.iter().map(|text| key(&text.bytes)))
    }

    /// Returns the filter of quick keys; `None` if quick keys do not distinguish the texts.
    pub(super) fn quick_filter(&self) -> Option<&KeyFilter> {
        self.hasher.is_none().then(|| self.table.filter())
    }

    /// Returns `true` if a text is in the set.
    #[inline]
    pub(super) fn has(&self, text: TextSlice<'_>) -> bool {
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

/// A probe for the texts of a set by their quick keys.
pub(super) struct InFilter<'s>(pub(super) &'s KeyFilter);

#[allow(clippy::inline_always, reason = "see `BytesProbe`")]
impl BytesProbe for InFilter<'_> {
    #[inline(always)]
    fn sample(&self, text: TextSlice<'_>) -> u64 {
        self.0.may_have(quick_key(text)).into()
    }

    #[inline(always)]
    fn verdict(&self, may_have: u64) -> Verdict {
        if may_have == 1 { Verdict::Maybe } else { Verdict::No }
    }
}

/// Returns a key from the first bytes, the last bytes and the length of a text.
#[inline(always)]
#[allow(clippy::inline_always, reason = "see `BytesProbe`")]
fn quick_key(text: TextSlice<'_>) -> u64 {
    let (head, tail) = (head_of(text), tail_of(text));
    let mixed =
        head.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ tail.wrapping_mul(0xc2b2_ae3d_27d4_eb4f).rotate_left(31);
    (mixed ^ (mixed >> 29)).wrapping_add(text.2 as u64)
}
