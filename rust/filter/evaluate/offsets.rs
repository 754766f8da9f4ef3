//! Tests of texts that are adjacent, each from one offset to the next.

use arrow_array::{Array, GenericStringArray, OffsetSizeTrait};

use super::super::text::TextMatcher;
use super::adjacent::Adjacent;
use super::test::ColumnTest;
use super::texts::{BytePredicate, InFilter, SameHead, SameTail};
use super::words::{BLOCK_WORDS, is_dense, keep, words_of};

/// A test of a column of texts.
pub(super) struct OffsetTest<O: OffsetSizeTrait> {
    texts: GenericStringArray<O>,
    test: BytePredicate,
}

impl<O: OffsetSizeTrait> OffsetTest<O> {
    pub(super) fn new(texts: &GenericStringArray<O>, matcher: &TextMatcher) -> Self {
        Self { texts: texts.clone(), test: BytePredicate::of(matcher) }
    }
}

impl<O: OffsetSizeTrait> ColumnTest for OffsetTest<O> {
    fn find(&self, first: usize, open: &[u64], matching: &mut [u64]) {
        let rows = (open.len() * 64).min(self.texts.len() - first);
        let offsets = &self.texts.value_offsets()[first..=first + rows];
        let texts = Adjacent { bytes: self.texts.value_data(), offsets };
        let mut possible = [0; BLOCK_WORDS];
        let possible = &mut possible[..open.len()];
        matching.fill(0);
        match &self.test {
            BytePredicate::Equals(literal) => {
                let mut candidates = [0; BLOCK_WORDS];
                let candidates = &mut candidates[..open.len()];
                candidates.copy_from_slice(open);
                texts.keep_of_length(literal.bytes.len(), candidates);
                texts.each(candidates, (matching, possible), &SameTail(literal));
            }
            BytePredicate::StartsWith(literal) => texts.each(open, (matching, possible), &SameHead(literal)),
            BytePredicate::Between(range) => texts.each(open, (matching, possible), range),
            BytePredicate::OneOf(set) => match set.quick_filter() {
                Some(filter) => texts.each(open, (matching, possible), &InFilter(filter)),
                None => possible.copy_from_slice(open),
            },
            BytePredicate::Matches(matcher) => {
                let contained = || matcher.texts_that_contain(texts.bytes, offsets, false);
                if let Some(hits) = is_dense(open).then(contained).flatten() {
                    matching.copy_from_slice(&words_of(&hits));
                } else {
                    possible.copy_from_slice(open);
                }
            }
        }
        let mut scratch = String::new();
        keep(possible, |row| self.test.is_true_of(texts.text(row), &mut scratch));
        matching.iter_mut().zip(possible).for_each(|(matching, possible)| *matching |= *possible);
    }
}
