//! Tests of the bytes of one text, made of a [`TextMatcher`].

use std::collections::HashMap;
use std::ops::{Bound, RangeBounds};

use super::super::text::{ByteInterval, TextMatcher};
use super::key_table::{KeyFilter, KeyTable};
use super::words::Verdict;

/// So many texts may have one quick key; with more of them texts are hashed as a whole.
const MAX_SAME_KEYS: usize = 8;

/// What is asked of a text, by the operators that compare its bytes.
#[derive(Debug)]
pub(super) enum BytePredicate {
    /// The text is this one.
    Equals(ComparedText),
    /// The text is one of these.
    OneOf(TextSet),
    /// The text starts with this one.
    StartsWith(ComparedText),
    /// The text lies between two others.
    Between(TextRange),
    /// The matcher decides.
    Matches(TextMatcher),
}

impl BytePredicate {
    /// Returns the test of `matcher`.
    pub(super) fn of(matcher: &TextMatcher) -> Self {
        let Some(intervals) = matcher.intervals(false) else { return Self::Matches(matcher.clone()) };
        match intervals.as_slice() {
            [ByteInterval::Exactly(text)] => Self::Equals(ComparedText::new(text)),
            [ByteInterval::StartsWith(text)] => Self::StartsWith(ComparedText::new(text)),
            [ByteInterval::Between(from, to)] => Self::Between(TextRange::new(*from, *to)),
            texts => Self::OneOf(TextSet::new(texts)),
        }
    }

    /// Whether the test is true of the text at `start` in `bytes`, of this length. `scratch` is a reusable buffer.
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

/// Bytes, and where in them a text starts and how long it is.
pub(super) type TextSlice<'t> = (&'t [u8], usize, usize);

/// So many bytes of a text are looked at first.
pub(super) const HEAD: usize = 8;

/// A look at some bytes of texts, without branches, so that many texts are looked at at once. It is compiled inside its caller:
/// what is vectors there must not be a call here.
pub(super) trait TextProbe {
    /// Whether it is worth its time for texts of several lengths, whose places are only known one by one.
    const IS_FOR_ANY_LENGTH: bool = true;

    /// Returns what is to be known of a text.
    fn sample(&self, text: TextSlice<'_>) -> u64;

    /// Returns what that says of it.
    fn verdict(&self, sample: u64) -> Verdict;
}

/// The eight bytes at `start`, the first in the lowest; `None` at the end of `bytes`.
#[inline(always)]
#[allow(clippy::inline_always, reason = "see `TextProbe`")]
fn eight_at(bytes: &[u8], start: usize) -> Option<u64> {
    let eight = bytes.get(start..start + HEAD)?;
    Some(u64::from_le_bytes(eight.try_into().ok()?))
}

/// The bits of the first `length` bytes of a word.
#[inline(always)]
#[allow(clippy::inline_always, reason = "see `TextProbe`")]
fn mask_of(length: usize) -> u64 {
    if length >= HEAD { u64::MAX } else { (1 << (length * 8)) - 1 }
}

/// The first eight bytes of a text, zero beyond its end.
#[inline(always)]
#[allow(clippy::inline_always, reason = "see `TextProbe`")]
fn head_of((bytes, start, length): TextSlice<'_>) -> u64 {
    match eight_at(bytes, start) {
        Some(eight) => eight & mask_of(length),
        None => head_at_end(&bytes[start..start + length.min(HEAD)]),
    }
}

/// The last eight bytes of a text; the head of one that has no more.
#[inline(always)]
#[allow(clippy::inline_always, reason = "see `TextProbe`")]
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

/// A text to compare with: most are told apart by their first or last eight bytes.
#[derive(Debug)]
pub(super) struct ComparedText {
    pub(super) bytes: Box<[u8]>,
    head: u64,
    tail: u64,
    mask: u64,
    /// What is known of a text with the same eight bytes.
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

    /// Whether this text stands at `start` in `bytes`, which are that long.
    #[inline]
    pub(super) fn is_at(&self, bytes: &[u8], start: usize) -> bool {
        match eight_at(bytes, start) {
            Some(eight) if (eight ^ self.head) & self.mask != 0 => false,
            Some(_) if self.bytes.len() <= HEAD => true,
            _ => bytes[start..].starts_with(&self.bytes),
        }
    }
}

/// The look for a text among those of its length, by their last eight bytes: ids of one kind often begin alike.
pub(super) struct SameTail<'l>(pub(super) &'l ComparedText);

#[allow(clippy::inline_always, reason = "see `TextProbe`")]
impl TextProbe for SameTail<'_> {
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

/// The look for texts that begin with another one.
pub(super) struct SameHead<'l>(pub(super) &'l ComparedText);

#[allow(clippy::inline_always, reason = "see `TextProbe`")]
impl TextProbe for SameHead<'_> {
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
    /// The first eight bytes of both as numbers, the first byte the highest: they are in the order of the texts.
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

    /// Whether a text is between them by its first four bytes, of which the first is the highest.
    #[inline]
    pub(super) fn has_likely_prefix(&self, prefix: u32) -> Verdict {
        is_between(prefix.into(), self.heads.map(|head| head.map(|head| head >> 32)))
    }

    /// Whether a text is between them.
    fn has(&self, (bytes, start, length): TextSlice<'_>) -> bool {
        let bounds: (Bound<&[u8]>, Bound<&[u8]>) =
            (self.from.as_ref().map(AsRef::as_ref), self.to.as_ref().map(AsRef::as_ref));
        RangeBounds::<[u8]>::contains(&bounds, &bytes[start..start + length])
    }
}

#[allow(clippy::inline_always, reason = "see `TextProbe`")]
impl TextProbe for TextRange {
    #[inline(always)]
    fn sample(&self, text: TextSlice<'_>) -> u64 {
        head_of(text).swap_bytes()
    }

    #[inline(always)]
    fn verdict(&self, head: u64) -> Verdict {
        is_between(head, self.heads)
    }
}

/// Whether a text is between two others of which only the beginnings are known.
#[inline(always)]
#[allow(clippy::inline_always, clippy::needless_bitwise_bool, reason = "see `TextProbe`")]
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
    /// Whether a text with `n` bytes can be in the set, by bit; the last one is for all longer texts.
    lengths: u64,
    /// Hashes whole texts, if too many begin and end alike.
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

    /// Returns the filter of quick keys; `None` if these do not tell texts apart.
    pub(super) fn quick_filter(&self) -> Option<&KeyFilter> {
        self.hasher.is_none().then(|| self.table.filter())
    }

    /// Whether a text is in the set.
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

/// The look for texts of a set by their quick keys.
pub(super) struct InFilter<'s>(pub(super) &'s KeyFilter);

#[allow(clippy::inline_always, reason = "see `TextProbe`")]
impl TextProbe for InFilter<'_> {
    #[inline(always)]
    fn sample(&self, text: TextSlice<'_>) -> u64 {
        self.0.may_have(quick_key(text)).into()
    }

    #[inline(always)]
    fn verdict(&self, may_have: u64) -> Verdict {
        if may_have == 1 { Verdict::Maybe } else { Verdict::No }
    }
}

/// A key of how a text begins and ends, and of its length.
#[inline(always)]
#[allow(clippy::inline_always, reason = "see `TextProbe`")]
fn quick_key(text: TextSlice<'_>) -> u64 {
    let (head, tail) = (head_of(text), tail_of(text));
    let mixed =
        head.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ tail.wrapping_mul(0xc2b2_ae3d_27d4_eb4f).rotate_left(31);
    (mixed ^ (mixed >> 29)).wrapping_add(text.2 as u64)
}
