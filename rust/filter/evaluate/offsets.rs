//! Tests of texts that are adjacent, each from one offset to the next.

use arrow_array::{Array, GenericStringArray, OffsetSizeTrait};

use super::super::text::TextMatcher;
use super::test::Test;
use super::texts::ByteTest;
use super::words::{each_length, each_open, is_dense, keep, words_of};

/// A test of a column of texts.
pub(super) struct OffsetTest<O: OffsetSizeTrait> {
    texts: GenericStringArray<O>,
    test: ByteTest,
}

impl<O: OffsetSizeTrait> OffsetTest<O> {
    pub(super) fn new(texts: &GenericStringArray<O>, matcher: &TextMatcher) -> Self {
        Self { texts: texts.clone(), test: ByteTest::of(matcher) }
    }
}

impl<O: OffsetSizeTrait> Test for OffsetTest<O> {
    fn find(&self, first: usize, open: &[u64], found: &mut [u64]) {
        let rows = (open.len() * 64).min(self.texts.len() - first);
        let offsets = &self.texts.value_offsets()[first..=first + rows];
        let bytes = self.texts.value_data();
        let text = |row: usize| {
            let start = offsets[row].as_usize();
            (bytes, start, offsets[row + 1].as_usize() - start)
        };
        match &self.test {
            ByteTest::Equals(literal) if is_dense(open) => {
                let Some(length) = O::from_usize(literal.bytes.len()) else {
                    found.fill(0);
                    return;
                };
                each_length(offsets, length, found);
                found.iter_mut().zip(open).for_each(|(found, open)| *found &= open);
                keep(found, |row| literal.is_at(bytes, offsets[row].as_usize()));
            }
            ByteTest::Matches(matcher) if is_dense(open) => {
                match matcher.texts_that_contain(bytes, offsets, false) {
                    Some(hits) => found.copy_from_slice(&words_of(&hits)),
                    None => each_matching(open, found, |row, buffer| self.test.is_true_of(text(row), buffer)),
                }
            }
            _ => each_matching(open, found, |row, buffer| self.test.is_true_of(text(row), buffer)),
        }
    }
}

fn each_matching(open: &[u64], found: &mut [u64], test: impl Fn(usize, &mut String) -> bool) {
    let mut scratch = String::new();
    each_open(open, found, |row| test(row, &mut scratch));
}
