//! Tests of texts in views: short ones stand in the view, of long ones the length, the first four bytes and the place.

use arrow_array::{Array, StringViewArray};

use super::super::text::TextMatcher;
use super::test::Test;
use super::texts::{ByteTest, Literal, Text};
use super::words::{each_open, each_value, is_dense, keep, words_of};

/// The longest text that stands in its view.
const MAX_INLINE: usize = 12;

/// A test of a column of views.
pub(super) struct ViewTest {
    texts: StringViewArray,
    test: ByteTest,
}

impl ViewTest {
    pub(super) fn new(texts: &StringViewArray, matcher: &TextMatcher) -> Self {
        Self { texts: texts.clone(), test: ByteTest::of(matcher) }
    }

    /// Keeps the rows of `found` that are open and of which the test is true.
    fn verify(&self, first: usize, open: &[u64], found: &mut [u64]) {
        let mut scratch = String::new();
        found.iter_mut().zip(open).for_each(|(found, open)| *found &= open);
        keep(found, |row| self.is_true_of(first + row, &mut scratch));
    }

    #[inline]
    fn is_true_of(&self, row: usize, scratch: &mut String) -> bool {
        let view = self.texts.views()[row];
        let length = length_of(view);
        if length <= MAX_INLINE {
            // Twelve bytes and four of zeros, so that the first and the last eight can be read at once.
            let inline = (view >> 32).to_le_bytes();
            return self.test.is_true_of((&inline, 0, length), scratch);
        }
        self.test.is_true_of(self.place_of(view, length), scratch)
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "parts of the view are 32 bits")]
    fn place_of(&self, view: u128, length: usize) -> Text<'_> {
        let (buffer, start) = ((view >> 64) as u32 as usize, (view >> 96) as u32 as usize);
        (self.texts.data_buffers()[buffer].as_slice(), start, length)
    }

    /// Looks for the pattern of a `CONTAINS` in the texts one after another, as if they were adjacent.
    fn find_contained(&self, matcher: &TextMatcher, first: usize, rows: usize, found: &mut [u64]) -> bool {
        let mut bytes = Vec::new();
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0_i64);
        for row in first..first + rows {
            if self.texts.is_valid(row) {
                bytes.extend_from_slice(self.texts.value(row).as_bytes());
            }
            offsets.push(i64::try_from(bytes.len()).unwrap_or(i64::MAX));
        }
        let Some(hits) = matcher.texts_that_contain(&bytes, &offsets, false) else { return false };
        found.copy_from_slice(&words_of(&hits));
        true
    }
}

impl Test for ViewTest {
    #[allow(clippy::cast_possible_truncation, reason = "the lower half of the view is meant")]
    fn find(&self, first: usize, open: &[u64], found: &mut [u64]) {
        let rows = (open.len() * 64).min(self.texts.len() - first);
        let views = &self.texts.views()[first..first + rows];
        match &self.test {
            ByteTest::Equals(literal) if is_dense(open) => {
                let low = low_of(literal);
                each_value(views, found, |view| view as u64 == low);
                self.verify(first, open, found);
            }
            ByteTest::StartsWith(literal) if is_dense(open) => {
                let (prefix, mask) = prefix_of(literal);
                each_value(views, found, |view| (view >> 32) as u32 & mask == prefix);
                self.verify(first, open, found);
            }
            ByteTest::Matches(matcher)
                if is_dense(open) && self.find_contained(matcher, first, rows, found) => {}
            _ => {
                let mut scratch = String::new();
                each_open(open, found, |row| self.is_true_of(first + row, &mut scratch));
            }
        }
    }
}

#[inline]
#[allow(clippy::cast_possible_truncation, reason = "the length is 32 bits")]
fn length_of(view: u128) -> usize {
    view as u32 as usize
}

/// Returns the lower half of the view of a text: its length and its first four bytes.
fn low_of(literal: &Literal) -> u64 {
    let (prefix, _) = prefix_of(literal);
    // A text longer than a view can say equals none: its length is that of no view with this prefix.
    let length = u32::try_from(literal.bytes.len()).unwrap_or(u32::MAX);
    u64::from(prefix) << 32 | u64::from(length)
}

/// Returns the first four bytes of a text, and which of them it has.
fn prefix_of(literal: &Literal) -> (u32, u32) {
    let mut bytes = [0; 4];
    let mut mask = [0; 4];
    for (at, byte) in literal.bytes.iter().take(4).enumerate() {
        bytes[at] = *byte;
        mask[at] = u8::MAX;
    }
    (u32::from_le_bytes(bytes), u32::from_le_bytes(mask))
}
