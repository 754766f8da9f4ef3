//! Compiled text matchers.
//!
//! Text is compared by code point, which is byte order in UTF-8. If case is ignored, every letter of value
//! and pattern is first replaced by one representative of all letters that differ from it only by case. This
//! is Unicode simple case folding, as the `regex` crate does it under `(?i)`. For example, `k` matches the
//! Kelvin sign, but `ß` does not match `ss`.

use std::ops::{Bound, Range, RangeBounds};
use std::sync::Arc;

use arrow_buffer::{ArrowNativeType, BooleanBuffer};
use memchr::memmem::Finder;

use crate::index::Boundary;
use crate::schema::Operator;
use crate::text::{AdjacentSearch, CaseFolding, PairFinder};

/// The number of rows that are searched at once. Their text stays in the processor's cache.
const CHUNK_ROWS: usize = 4_096;
/// The maximum size of a chunk that is folded as a whole, in bytes. In a larger chunk each text is folded by
/// itself.
const MAX_CHUNK_BYTES: usize = 1 << 20;

/// A test of one text.
#[derive(Debug, Clone)]
pub(super) struct TextMatcher {
    test: TextTest,
    case_folding: Option<CaseFolding>,
    /// Finds the pattern of a `CONTAINS` in any case, if the pattern is ASCII and case is ignored.
    any_case: Option<Box<PairFinder>>,
}

#[derive(Debug, Clone)]
enum TextTest {
    /// Sorted and distinct.
    IsOneOf(Vec<Arc<str>>),
    IsBetween(Bound<Arc<str>>, Bound<Arc<str>>),
    StartsWith(Arc<str>),
    Contains(Box<Finder<'static>>),
}

/// A range of texts in byte order.
#[derive(Debug, Clone, Copy)]
pub(super) enum ByteInterval<'a> {
    Exactly(&'a [u8]),
    Between(Bound<&'a [u8]>, Bound<&'a [u8]>),
    StartsWith(&'a [u8]),
}

impl<'a> ByteInterval<'a> {
    /// Returns the start and the end of the interval; `None` if it is unbounded there.
    pub(super) fn boundaries(self) -> (Option<Boundary<'a>>, Option<Boundary<'a>>) {
        match self {
            Self::Exactly(text) => (Some(Boundary::Before(text)), Some(Boundary::After(text))),
            Self::StartsWith(prefix) => (Some(Boundary::Before(prefix)), Some(Boundary::AfterPrefix(prefix))),
            Self::Between(start, end) => {
                let start = match start {
                    Bound::Included(text) => Some(Boundary::Before(text)),
                    Bound::Excluded(text) => Some(Boundary::After(text)),
                    Bound::Unbounded => None,
                };
                let end = match end {
                    Bound::Included(text) => Some(Boundary::After(text)),
                    Bound::Excluded(text) => Some(Boundary::Before(text)),
                    Bound::Unbounded => None,
                };
                (start, end)
            }
        }
    }
}

impl TextMatcher {
    /// Returns the matcher for `operator` and its texts: any number for `IN`, otherwise one.
    ///
    /// `NEQ` returns the matcher for `EQ`; the caller negates it.
    pub(super) fn new(operator: Operator, mut texts: Vec<Arc<str>>, ignore_case: bool) -> Self {
        let case_folding = ignore_case.then(|| CaseFolding::of(&texts));
        if let Some(case_folding) = &case_folding {
            let mut folded = String::new();
            for text in &mut texts {
                case_folding.fold(text, &mut folded);
                if folded != **text {
                    *text = folded.as_str().into();
                }
            }
        }
        let test = match operator {
            Operator::Eq | Operator::Neq | Operator::In | Operator::Exists => {
                texts.sort_unstable();
                texts.dedup();
                TextTest::IsOneOf(texts)
            }
            _ => TextTest::from_pattern(operator, texts.pop().unwrap_or_default()),
        };
        let pattern = match &test {
            TextTest::Contains(finder) => Some(finder.needle()).filter(|pattern| !pattern.is_empty()),
            _ => None,
        };
        let any_case = pattern
            .filter(|pattern| case_folding.is_some() && pattern.is_ascii())
            .map(|pattern| Box::new(PairFinder::in_any_case(pattern)));
        Self { test, case_folding, any_case }
    }

    /// Returns `true` if `text` matches. `scratch` is a reusable buffer; its content is overwritten.
    pub(super) fn matches(&self, text: &str, scratch: &mut String) -> bool {
        if let Some(is_in) = self.is_in_any_case(text) {
            return is_in;
        }
        let text = self.folded(text, scratch);
        self.matches_as_it_is(text)
    }

    /// Returns `true` if `text`, which case folding does not change, matches.
    pub(super) fn matches_as_it_is(&self, text: &str) -> bool {
        match &self.test {
            TextTest::IsOneOf(texts) => texts.binary_search_by(|own| (**own).cmp(text)).is_ok(),
            TextTest::IsBetween(from, to) => {
                let bounds: (Bound<&str>, Bound<&str>) =
                    (from.as_ref().map(AsRef::as_ref), to.as_ref().map(AsRef::as_ref));
                RangeBounds::<str>::contains(&bounds, text)
            }
            TextTest::StartsWith(prefix) => text.starts_with(&**prefix),
            TextTest::Contains(finder) => finder.find(text.as_bytes()).is_some(),
        }
    }

    /// Returns `true` if `text` contains the pattern; `None` if only the folded text can decide that.
    fn is_in_any_case(&self, text: &str) -> Option<bool> {
        let (TextTest::Contains(finder), Some(any_case)) = (&self.test, &self.any_case) else { return None };
        let (pattern, bytes) = (finder.needle(), text.as_bytes());
        if any_case.any(bytes, |at| bytes[at..at + pattern.len()].eq_ignore_ascii_case(pattern)) {
            return Some(true);
        }
        let is_changed = self.case_folding.as_ref().is_some_and(|case_folding| case_folding.changes(bytes));
        (!is_changed).then_some(false)
    }

    /// Returns the first occurrence of the pattern of a `CONTAINS` matcher in `text`, in characters.
    pub(super) fn find(&self, text: &str) -> Option<Range<usize>> {
        let TextTest::Contains(finder) = &self.test else { return None };
        let mut scratch = String::new();
        // Folding keeps the number of characters, but not the number of bytes.
        let text = self.folded(text, &mut scratch);
        let start = finder.find(text.as_bytes())?;
        let first = text[..start].chars().count();
        Some(first..first + text[start..start + finder.needle().len()].chars().count())
    }

    /// Returns `text` in the form in which it is compared.
    fn folded<'t>(&self, text: &'t str, scratch: &'t mut String) -> &'t str {
        let Some(case_folding) = &self.case_folding else { return text };
        case_folding.fold(text, scratch);
        scratch
    }

    /// Returns `true` if case is ignored.
    pub(super) fn folds(&self) -> bool {
        self.case_folding.is_some()
    }

    /// Returns the pattern of a `CONTAINS` matcher in the form for texts without upper case.
    pub(super) fn pattern(&self) -> Option<&[u8]> {
        match &self.test {
            TextTest::Contains(finder) => Some(finder.needle()),
            _ => None,
        }
    }

    /// Returns `true` if the matcher compares whole texts, not parts or ranges of texts.
    pub(super) fn is_of_whole_texts(&self) -> bool {
        matches!(self.test, TextTest::IsOneOf(_))
    }

    /// Returns an upper bound on the number of distinct matching texts, if the matcher lists them exactly.
    pub(super) fn count(&self) -> Option<usize> {
        match &self.test {
            TextTest::IsOneOf(texts) if self.case_folding.is_none() => Some(texts.len()),
            _ => None,
        }
    }

    /// Returns the number of texts or ranges that the matcher looks up.
    pub(super) fn patterns(&self) -> usize {
        match &self.test {
            TextTest::IsOneOf(texts) => texts.len(),
            TextTest::IsBetween(..) | TextTest::StartsWith(_) | TextTest::Contains(_) => 1,
        }
    }

    /// Returns the number of intervals of [`TextMatcher::intervals`] without building them.
    pub(super) fn interval_count(&self, is_lower_case: bool) -> Option<usize> {
        let is_each_tested = self.pattern().is_some() || (self.folds() && !is_lower_case);
        (!is_each_tested).then(|| self.patterns())
    }

    /// Returns the matching texts as intervals in byte order; `None` if each text has to be tested by itself.
    ///
    /// `is_lower_case` says that the texts are ASCII without upper case, so that case folding leaves them
    /// unchanged.
    pub(super) fn intervals(&self, is_lower_case: bool) -> Option<Vec<ByteInterval<'_>>> {
        self.interval_count(is_lower_case)?;
        match &self.test {
            TextTest::IsOneOf(texts) => {
                Some(texts.iter().map(|text| ByteInterval::Exactly(text.as_bytes())).collect())
            }
            TextTest::IsBetween(from, to) => {
                let (from, to) = (from.as_ref(), to.as_ref());
                let (from, to) = (from.map(|text| text.as_bytes()), to.map(|text| text.as_bytes()));
                Some(vec![ByteInterval::Between(from, to)])
            }
            TextTest::StartsWith(prefix) => Some(vec![ByteInterval::StartsWith(prefix.as_bytes())]),
            TextTest::Contains(_) => None,
        }
    }

    /// Returns the texts that contain the pattern, if this is a `CONTAINS` matcher. The texts are adjacent in
    /// `bytes`, each from one of `offsets` to the next.
    ///
    /// `is_lower_case` says that the texts are ASCII without upper case, so that case folding leaves them
    /// unchanged.
    pub(super) fn texts_that_contain<O: ArrowNativeType>(
        &self,
        bytes: &[u8],
        offsets: &[O],
        is_lower_case: bool,
    ) -> Option<BooleanBuffer> {
        let TextTest::Contains(finder) = &self.test else { return None };
        let count = offsets.len().saturating_sub(1);
        if finder.needle().is_empty() {
            return Some(BooleanBuffer::new_set(count));
        }
        let mut hits = vec![0; count.div_ceil(64)];
        let mut search = AdjacentSearch::of(finder);
        let Some(case_folding) = self.case_folding.as_ref().filter(|_| !is_lower_case) else {
            search.find(bytes, offsets, &mut hits);
            return Some(BooleanBuffer::new(hits.into(), 0, count));
        };
        let mut folded = Vec::new();
        let mut scratch = String::new();
        for (first, hits) in (0..).step_by(CHUNK_ROWS).zip(hits.chunks_mut(CHUNK_ROWS / 64)) {
            let last = count.min(first + CHUNK_ROWS);
            let offsets = &offsets[first..=last];
            let chunk = &bytes[offsets[0].as_usize()..offsets[last - first].as_usize()];
            if chunk.len() > MAX_CHUNK_BYTES || case_folding.changes(chunk) {
                for (text, ends) in offsets.windows(2).enumerate() {
                    let text_bytes = &bytes[ends[0].as_usize()..ends[1].as_usize()];
                    let is_hit =
                        std::str::from_utf8(text_bytes).is_ok_and(|text| self.matches(text, &mut scratch));
                    hits[text / 64] |= u64::from(is_hit) << (text % 64);
                }
                continue;
            }
            folded.clear();
            folded.extend_from_slice(chunk);
            folded.make_ascii_lowercase();
            search.find_in(&folded, offsets, hits);
        }
        Some(BooleanBuffer::new(hits.into(), 0, count))
    }
}

impl TextTest {
    fn from_pattern(operator: Operator, text: Arc<str>) -> Self {
        match operator {
            Operator::Gt => Self::IsBetween(Bound::Excluded(text), Bound::Unbounded),
            Operator::Gte => Self::IsBetween(Bound::Included(text), Bound::Unbounded),
            Operator::Lt => Self::IsBetween(Bound::Unbounded, Bound::Excluded(text)),
            Operator::Lte => Self::IsBetween(Bound::Unbounded, Bound::Included(text)),
            Operator::StartsWith => Self::StartsWith(text),
            _ => Self::Contains(Box::new(Finder::new(text.as_bytes()).into_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn intervals_are_as_many_as_are_counted(
            operator in prop::sample::select(vec![
                Operator::Eq,
                Operator::In,
                Operator::Gt,
                Operator::Lte,
                Operator::StartsWith,
                Operator::Contains,
            ]),
            texts in prop::collection::vec("[a-cA-C]{0,3}", 1..6),
            [ignore_case, is_lower_case] in any::<[bool; 2]>(),
        ) {
            let matcher = TextMatcher::new(operator, texts.into_iter().map(Arc::from).collect(), ignore_case);
            let intervals = matcher.intervals(is_lower_case);
            prop_assert_eq!(intervals.map(|intervals| intervals.len()), matcher.interval_count(is_lower_case));
        }
    }
}
