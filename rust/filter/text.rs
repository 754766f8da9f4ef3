//! Prepared matchers of text.
//!
//! Text is compared by code point, which for UTF-8 is the order of its bytes. Where case is ignored,
//! every letter of value and pattern is first replaced by the one letter that stands for all that
//! differ from it by case only (Unicode simple case folding, as the `regex` crate does under `(?i)`);
//! so `k` finds the Kelvin sign, and `ß` is not `ss`.

use std::collections::HashMap;
use std::ops::{Bound, RangeBounds};

use arrow_array::{Array, GenericStringArray, OffsetSizeTrait};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, BooleanBufferBuilder};
use memchr::memmem::Finder;
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use crate::schema::Operator;

/// Rows searched at a stretch: few enough for their text to stay in the processor's cache.
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

    /// Returns the rows whose text contains the pattern, if this matcher looks for one. What is
    /// said of a missing text is of no matter.
    pub(super) fn rows_that_contain<O: OffsetSizeTrait>(
        &self,
        texts: &GenericStringArray<O>,
    ) -> Option<BooleanBuffer> {
        let Test::Contains(finder) = &self.test else { return None };
        if finder.needle().is_empty() {
            return Some(BooleanBuffer::new_set(texts.len()));
        }
        let mut hits = BooleanBufferBuilder::new(texts.len());
        hits.append_n(texts.len(), false);
        let mut folded = Vec::new();
        let mut scratch = String::new();
        for first in (0..texts.len()).step_by(STRETCH) {
            let last = texts.len().min(first + STRETCH);
            let offsets = &texts.value_offsets()[first..=last];
            let stretch = &texts.value_data()[offsets[0].as_usize()..offsets[last - first].as_usize()];
            if self.folding.is_some() && (stretch.len() > STRETCH_BYTES || !stretch.is_ascii()) {
                let found = (first..last).filter(|row| self.matches(texts.value(*row), &mut scratch));
                found.for_each(|row| hits.set_bit(row, true));
                continue;
            }
            let stretch = if self.folding.is_some() {
                folded.clear();
                folded.extend_from_slice(stretch);
                folded.make_ascii_lowercase();
                &folded
            } else {
                stretch
            };
            find_in_each(finder, stretch, offsets, |text| hits.set_bit(first + text, true));
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
        while end(text).is_some_and(|end| end <= start) {
            text += 1;
        }
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
