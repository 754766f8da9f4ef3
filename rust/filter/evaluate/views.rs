//! Tests of texts in views. A view holds a short text inline; for a long text it has the length, the first
//! four bytes and the location.

use arrow_array::{Array, StringViewArray};

use super::super::text::TextMatcher;
use super::key_table::KeyFilter;
use super::test::ColumnTest;
use super::texts::{BytePredicate, TextSlice};
use super::words::{BLOCK_WORDS, Verdict, each_verdict, is_dense, keep, words_of};

/// The maximum length of an inline text, in bytes.
const MAX_INLINE: usize = 12;

/// A test of a column of views.
pub(super) struct ViewTest {
    texts: StringViewArray,
    test: BytePredicate,
    /// A filter for the listed texts, by the contents of their views.
    listed: Option<KeyFilter>,
}

impl ViewTest {
    pub(super) fn new(texts: &StringViewArray, matcher: &TextMatcher) -> Self {
        let test = BytePredicate::of(matcher);
        let listed = match &test {
            BytePredicate::OneOf(set) => Some(set.filter_by(|text| key_of(view_of(text)))),
            _ => None,
        };
        Self { texts: texts.clone(), test, listed }
    }

    #[inline]
    fn is_true_of(&self, row: usize, scratch: &mut String) -> bool {
        let view = self.texts.views()[row];
        let length = length_of(view);
        if length <= MAX_INLINE {
            // Twelve bytes and four zeros, so that the first and the last eight bytes can be read at once.
            let inline = (view >> 32).to_le_bytes();
            return self.test.is_true_of((&inline, 0, length), scratch);
        }
        self.test.is_true_of(self.text_of(view, length), scratch)
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "parts of the view are 32 bits")]
    fn text_of(&self, view: u128, length: usize) -> TextSlice<'_> {
        let (buffer, start) = ((view >> 64) as u32 as usize, (view >> 96) as u32 as usize);
        (self.texts.data_buffers()[buffer].as_slice(), start, length)
    }

    /// Searches for the pattern of a `CONTAINS` in the concatenated texts.
    fn find_contained(&self, matcher: &TextMatcher, first: usize, rows: usize, matching: &mut [u64]) -> bool {
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
        matching.copy_from_slice(&words_of(&hits));
        true
    }
}

impl ColumnTest for ViewTest {
    #[allow(clippy::cast_possible_truncation, reason = "a part of the view is meant")]
    fn find(&self, first: usize, open: &[u64], matching: &mut [u64]) {
        let rows = (open.len() * 64).min(self.texts.len() - first);
        let views = &self.texts.views()[first..first + rows];
        let mut possible = [0; BLOCK_WORDS];
        let possible = &mut possible[..open.len()];
        if is_dense(open) {
            let sets = (&mut *matching, &mut *possible);
            match (&self.test, &self.listed) {
                (BytePredicate::Equals(literal), _) => {
                    let low = view_of(&literal.bytes) as u64;
                    each_verdict(views, sets, |view| Verdict::may_be(view as u64 == low));
                }
                (BytePredicate::StartsWith(literal), _) => {
                    let (prefix, mask) = prefix_of(&literal.bytes);
                    each_verdict(views, sets, |view| Verdict::may_be((view >> 32) as u32 & mask == prefix));
                }
                (BytePredicate::OneOf(_), Some(listed)) => {
                    each_verdict(views, sets, |view| Verdict::may_be(listed.may_have(key_of(view))));
                }
                (BytePredicate::Between(range), _) => {
                    each_verdict(views, sets, |view| {
                        range.has_likely_prefix(((view >> 32) as u32).swap_bytes())
                    });
                }
                (BytePredicate::Matches(matcher), _)
                    if self.find_contained(matcher, first, rows, matching) => {}
                _ => {
                    matching.fill(0);
                    possible.fill(u64::MAX);
                }
            }
            possible.iter_mut().zip(open).for_each(|(possible, open)| *possible &= open);
        } else {
            matching.fill(0);
            possible.copy_from_slice(open);
        }
        let mut scratch = String::new();
        keep(possible, |row| self.is_true_of(first + row, &mut scratch));
        matching.iter_mut().zip(possible).for_each(|(matching, possible)| *matching |= *possible);
    }
}

#[inline]
#[allow(clippy::cast_possible_truncation, reason = "the length is 32 bits")]
fn length_of(view: u128) -> usize {
    view as u32 as usize
}

/// Returns the part of a text's view that is known without its location: the length, and the inline text or
/// the first four bytes.
fn view_of(text: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    // A text over 4 GiB is in no view, so it gets a length that no view has.
    bytes[..4].copy_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
    let shown = if text.len() <= MAX_INLINE { text } else { &text[..4] };
    bytes[4..4 + shown.len()].copy_from_slice(shown);
    u128::from_le_bytes(bytes)
}

/// Returns a key from the length and the inline bytes of a view.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "the halves of the view are meant")]
fn key_of(view: u128) -> u64 {
    let rest = if length_of(view) <= MAX_INLINE { (view >> 64) as u64 } else { 0 };
    view as u64 ^ rest.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Returns the first four bytes of a text, and a mask of the bytes that it has.
fn prefix_of(text: &[u8]) -> (u32, u32) {
    let mut bytes = [0; 4];
    let mut mask = [0; 4];
    for (at, byte) in text.iter().take(4).enumerate() {
        bytes[at] = *byte;
        mask[at] = u8::MAX;
    }
    (u32::from_le_bytes(bytes), u32::from_le_bytes(mask))
}
