//! Prepared matchers of text.
//!
//! Text is compared by code point, which for UTF-8 is the order of its bytes. Where case is ignored,
//! every letter of value and pattern is first replaced by the one letter that stands for all that
//! differ from it by case only (Unicode simple case folding, as the `regex` crate does under `(?i)`);
//! so `k` finds the Kelvin sign, and `ß` is not `ss`.

use std::collections::HashMap;
use std::ops::{Bound, RangeBounds};

use arrow_array::{GenericStringArray, OffsetSizeTrait};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, BooleanBufferBuilder};
use memchr::memmem::Finder;
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use crate::schema::Operator;

/// RowSet searched at a stretch: few enough for their text to stay in the processor's cache.
const STRETCH: usize = 4_096;
/// Longest stretch that is folded as one, in bytes; of longer texts each is folded by itself.
const STRETCH_BYTES: usize = 1 << 20;

/// One test of a text; nothing is left to look up.
#[derive(Debug, Clone)]
pub(super) struct TextMatcher {
    test: Test,
    folding: Option<Folding>,
}

#[derive(Debug, Clone)]
enum Test {
    /// Sorted, each once.
    IsOneOf(Vec<String>),
    Lies(Bound<String>, Bound<String>),
    StartsWith(String),
    Contains(Box<Finder<'static>>),
}

/// Neighbours in the order of bytes.
#[derive(Debug, Clone, Copy)]
pub(super) enum ByteInterval<'a> {
    Exactly(&'a [u8]),
    Between(Bound<&'a [u8]>, Bound<&'a [u8]>),
    StartsWith(&'a [u8]),
}

impl ByteInterval<'_> {
    /// Whether `text` is not before this span.
    pub(super) fn is_reached_by(self, text: &[u8]) -> bool {
        match self {
            Self::Exactly(first) | Self::StartsWith(first) | Self::Between(Bound::Included(first), _) => {
                text >= first
            }
            Self::Between(Bound::Excluded(before), _) => text > before,
            Self::Between(Bound::Unbounded, _) => true,
        }
    }

    /// Whether `text` is behind this span.
    pub(super) fn is_passed_by(self, text: &[u8]) -> bool {
        match self {
            Self::Exactly(last) | Self::Between(_, Bound::Included(last)) => text > last,
            Self::StartsWith(prefix) => text > prefix && !text.starts_with(prefix),
            Self::Between(_, Bound::Excluded(end)) => text >= end,
            Self::Between(_, Bound::Unbounded) => false,
        }
    }
}

impl TextMatcher {
    /// Returns the matcher for `operator` and the texts it is given: any number for `IN`, else one.
    ///
    /// `NEQ` gives the matcher of `EQ`: the negation is the caller's.
    pub(super) fn new(operator: Operator, mut texts: Vec<String>, ignore_case: bool) -> Self {
        let folding = ignore_case.then(|| Folding::of(&texts));
        if let Some(folding) = &folding {
            for text in &mut texts {
                let mut folded = String::with_capacity(text.len());
                folding.fold(text, &mut folded);
                *text = folded;
            }
        }
        let test = match operator {
            Operator::Eq | Operator::Neq | Operator::In | Operator::Exists => {
                texts.sort_unstable();
                texts.dedup();
                Test::IsOneOf(texts)
            }
            _ => Test::about(operator, texts.pop().unwrap_or_default()),
        };
        Self { test, folding }
    }

    /// Returns whether `text` is what was asked for. What `scratch` holds is of no matter.
    pub(super) fn matches(&self, text: &str, scratch: &mut String) -> bool {
        let text = match &self.folding {
            None => text,
            Some(folding) => {
                folding.fold(text, scratch);
                scratch.as_str()
            }
        };
        match &self.test {
            Test::IsOneOf(texts) => texts.binary_search_by(|own| own.as_str().cmp(text)).is_ok(),
            Test::Lies(from, to) => {
                let span: (Bound<&str>, Bound<&str>) =
                    (from.as_ref().map(String::as_str), to.as_ref().map(String::as_str));
                RangeBounds::<str>::contains(&span, text)
            }
            Test::StartsWith(prefix) => text.starts_with(prefix.as_str()),
            Test::Contains(finder) => finder.find(text.as_bytes()).is_some(),
        }
    }

    /// Returns how many texts this matcher matches at most, if it names them as they are.
    pub(super) fn count(&self) -> Option<usize> {
        match &self.test {
            Test::IsOneOf(texts) if self.folding.is_none() => Some(texts.len()),
            _ => None,
        }
    }

    /// Returns what is asked of a text as it is, in the order of bytes; `None` if only each text by
    /// itself can tell.
    pub(super) fn spans(&self) -> Option<Vec<ByteInterval<'_>>> {
        if self.folding.is_some() {
            return None;
        }
        match &self.test {
            Test::IsOneOf(texts) => {
                Some(texts.iter().map(|text| ByteInterval::Exactly(text.as_bytes())).collect())
            }
            Test::Lies(from, to) => {
                let (from, to) = (from.as_ref(), to.as_ref());
                Some(vec![ByteInterval::Between(from.map(String::as_bytes), to.map(String::as_bytes))])
            }
            Test::StartsWith(prefix) => Some(vec![ByteInterval::StartsWith(prefix.as_bytes())]),
            Test::Contains(_) => None,
        }
    }

    /// Returns the rows whose text contains the pattern, if this matcher looks for one. What is
    /// said of a missing text is of no matter.
    pub(super) fn rows_that_contain<O: OffsetSizeTrait>(
        &self,
        texts: &GenericStringArray<O>,
    ) -> Option<BooleanBuffer> {
        self.texts_that_contain(texts.value_data(), texts.value_offsets(), false)
    }

    /// Returns which texts contain the pattern, if this matcher looks for one. The texts lie in `bytes`
    /// one after another, each from one of `offsets` to the next; `is_folded` if they are known to have no
    /// letters beyond ASCII and no upper case, so that folding leaves them as they are.
    pub(super) fn texts_that_contain<O: ArrowNativeType>(
        &self,
        bytes: &[u8],
        offsets: &[O],
        is_folded: bool,
    ) -> Option<BooleanBuffer> {
        let Test::Contains(finder) = &self.test else { return None };
        let count = offsets.len().saturating_sub(1);
        if finder.needle().is_empty() {
            return Some(BooleanBuffer::new_set(count));
        }
        let mut hits = BooleanBufferBuilder::new(count);
        hits.append_n(count, false);
        if is_folded || self.folding.is_none() {
            let (start, end) = (offsets[0].as_usize(), offsets[count].as_usize());
            find_in_each(finder, &bytes[start..end], offsets, |text| hits.set_bit(text, true));
            return Some(hits.finish());
        }
        let mut folded = Vec::new();
        let mut scratch = String::new();
        for first in (0..count).step_by(STRETCH) {
            let last = count.min(first + STRETCH);
            let offsets = &offsets[first..=last];
            let stretch = &bytes[offsets[0].as_usize()..offsets[last - first].as_usize()];
            if stretch.len() > STRETCH_BYTES || !stretch.is_ascii() {
                for (text, ends) in offsets.windows(2).enumerate() {
                    let text_bytes = &bytes[ends[0].as_usize()..ends[1].as_usize()];
                    let is_hit =
                        std::str::from_utf8(text_bytes).is_ok_and(|text| self.matches(text, &mut scratch));
                    hits.set_bit(first + text, is_hit);
                }
                continue;
            }
            folded.clear();
            folded.extend_from_slice(stretch);
            folded.make_ascii_lowercase();
            find_in_each(finder, &folded, offsets, |text| hits.set_bit(first + text, true));
        }
        Some(hits.finish())
    }
}

/// Calls `hit` with the number of every text that contains what `finder` looks for.
///
/// The texts lie in `bytes` one after another, each from one of `offsets` to the next. They are
/// searched as if they were one; what begins in one text and ends in another is no hit, and then
/// the search goes on at the next text that is long enough, so that it stays linear.
fn find_in_each<O: ArrowNativeType>(
    finder: &Finder<'_>,
    bytes: &[u8],
    offsets: &[O],
    mut hit: impl FnMut(usize),
) {
    let base = offsets.first().map_or(0, |first| first.as_usize());
    let end = |text: usize| offsets.get(text + 1).map(|offset| offset.as_usize() - base);
    let (mut text, mut from) = (0, 0);
    while let Some(found) = finder.find(&bytes[from..]) {
        let start = from + found;
        // Hits are often far apart: ever longer strides, then the exact place.
        let mut stride = 1;
        while end(text + stride).is_some_and(|end| end <= start) {
            text += stride;
            stride *= 2;
        }
        text += offsets[(text + 1).min(offsets.len())..(text + 1 + stride).min(offsets.len())]
            .partition_point(|offset| offset.as_usize() - base <= start);
        let Some(text_end) = end(text) else { return };
        from = text_end;
        if start + finder.needle().len() <= text_end {
            hit(text);
            continue;
        }
        text += 1;
        while end(text).is_some_and(|end| end - from < finder.needle().len()) {
            from = end(text).unwrap_or(from);
            text += 1;
        }
    }
}

impl Test {
    fn about(operator: Operator, text: String) -> Self {
        match operator {
            Operator::Gt => Self::Lies(Bound::Excluded(text), Bound::Unbounded),
            Operator::Gte => Self::Lies(Bound::Included(text), Bound::Unbounded),
            Operator::Lt => Self::Lies(Bound::Unbounded, Bound::Excluded(text)),
            Operator::Lte => Self::Lies(Bound::Unbounded, Bound::Included(text)),
            Operator::StartsWith => Self::StartsWith(text),
            _ => Self::Contains(Box::new(Finder::new(text.as_bytes()).into_owned())),
        }
    }
}

/// Replaces letters by the one that stands for them, for the letters of some patterns and all that
/// differ from those by case only. Other letters match no pattern and may stay as they are.
#[derive(Debug, Clone)]
struct Folding {
    /// Only letters beyond ASCII; within it, the lower case stands for both.
    beyond_ascii: HashMap<char, char>,
}

impl Folding {
    fn of(patterns: &[String]) -> Self {
        let mut letters: Vec<char> = patterns.iter().flat_map(|pattern| pattern.chars()).collect();
        letters.sort_unstable();
        letters.dedup();
        let mut beyond_ascii = HashMap::new();
        for letter in letters {
            let mut class = ClassUnicode::new([ClassUnicodeRange::new(letter, letter)]);
            class.case_fold_simple();
            let alike = class.ranges().iter().flat_map(|range| range.start()..=range.end());
            let alike: Vec<char> = alike.collect();
            let Some(first) = alike.first().map(char::to_ascii_lowercase) else { continue };
            let others = alike.into_iter().filter(|other| !other.is_ascii());
            beyond_ascii.extend(others.map(|other| (other, first)));
        }
        Self { beyond_ascii }
    }

    fn fold(&self, text: &str, folded: &mut String) {
        folded.clear();
        if text.is_ascii() {
            folded.push_str(text);
            folded.make_ascii_lowercase();
            return;
        }
        folded.extend(text.chars().map(|letter| {
            if letter.is_ascii() {
                letter.to_ascii_lowercase()
            } else {
                *self.beyond_ascii.get(&letter).unwrap_or(&letter)
            }
        }));
    }
}
