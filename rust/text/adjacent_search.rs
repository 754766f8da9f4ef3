//! Finds which of many texts that are adjacent in memory contain a pattern.
//!
//! The texts are searched as one byte string, from one occurrence to the next. An occurrence costs 10 to 20
//! ns; checking one text by itself costs 4 ns. If at least one text in four has the pattern, all possible
//! starts are therefore marked first, and the marks of each text are checked.

use std::ops::Range;

use arrow_buffer::ArrowNativeType;
use memchr::memmem::Finder;

use super::PairFinder;

/// Texts that share one search strategy. Their bytes fit into the processor's cache.
const TEXTS_AT_ONCE: usize = 1 << 10;
/// Longer chunks, in bytes, are always searched from one occurrence to the next.
const MAX_MARKED_BYTES: usize = 1 << 20;
/// Longer patterns are also searched that way: marking would compare them at every possible start.
const MAX_MARKED_PATTERN: usize = 32;
/// Possible starts are marked if at least one in this many texts has the pattern.
const OFTEN: usize = 4;
const WORD: usize = 64;

/// A search for a pattern that is not empty.
#[derive(Debug)]
pub(crate) struct AdjacentSearch<'p> {
    finder: &'p Finder<'p>,
    pair: PairFinder,
    /// True if the previous chunk had many matches.
    is_often: bool,
    marks: Vec<u64>,
}

impl<'p> AdjacentSearch<'p> {
    pub(crate) fn of(finder: &'p Finder<'p>) -> Self {
        Self { finder, pair: PairFinder::of(finder.needle()), is_often: false, marks: Vec::new() }
    }

    /// Sets the bit of every text that contains the pattern.
    ///
    /// The texts are adjacent in `bytes`, each from one of `offsets` to the next. `hits` has one bit for each
    /// text, initially 0.
    pub(crate) fn find<O: ArrowNativeType>(&mut self, bytes: &[u8], offsets: &[O], hits: &mut [u64]) {
        for (first, hits) in (0..).step_by(TEXTS_AT_ONCE).zip(hits.chunks_mut(TEXTS_AT_ONCE / WORD)) {
            let offsets = &offsets[first..offsets.len().min(first + TEXTS_AT_ONCE + 1)];
            let [start, .., end] = offsets else { return };
            self.find_in(&bytes[start.as_usize()..end.as_usize()], offsets, hits);
        }
    }

    /// As [`Self::find`], for texts that cover all of `bytes` and share one strategy.
    pub(crate) fn find_in<O: ArrowNativeType>(&mut self, bytes: &[u8], offsets: &[O], hits: &mut [u64]) {
        let can_be_marked =
            bytes.len() <= MAX_MARKED_BYTES && self.finder.needle().len() <= MAX_MARKED_PATTERN;
        if self.is_often && can_be_marked {
            self.look_at_each(bytes, offsets, hits);
        } else {
            self.go_from_hit_to_hit(bytes, offsets, hits);
        }
        let found: usize = hits.iter().map(|word| word.count_ones() as usize).sum();
        self.is_often = found * OFTEN >= offsets.len();
    }

    /// Searches from one occurrence to the next.
    ///
    /// A match that crosses the end of a text does not count. The search then continues at the next text long
    /// enough to hold the pattern, so that it stays linear.
    fn go_from_hit_to_hit<O: ArrowNativeType>(&self, bytes: &[u8], offsets: &[O], hits: &mut [u64]) {
        let length = self.finder.needle().len();
        let base = offsets.first().map_or(0, |first| first.as_usize());
        let end = |text: usize| offsets.get(text + 1).map(|offset| offset.as_usize() - base);
        let (mut text, mut from) = (0, 0);
        while let Some(found) = self.finder.find(&bytes[from..]) {
            let start = from + found;
            // Matches are often far apart: gallop, then search the last step.
            let mut step = 1;
            while end(text + step).is_some_and(|end| end <= start) {
                text += step;
                step *= 2;
            }
            text += offsets[(text + 1).min(offsets.len())..(text + 1 + step).min(offsets.len())]
                .partition_point(|offset| offset.as_usize() - base <= start);
            let Some(text_end) = end(text) else { return };
            from = text_end;
            if start + length <= text_end {
                hits[text / WORD] |= 1 << (text % WORD);
                continue;
            }
            text += 1;
            while end(text).is_some_and(|end| end - from < length) {
                from = end(text).unwrap_or(from);
                text += 1;
            }
        }
    }

    fn look_at_each<O: ArrowNativeType>(&mut self, bytes: &[u8], offsets: &[O], hits: &mut [u64]) {
        let pattern = self.finder.needle();
        self.pair.mark(bytes, &mut self.marks);
        let base = offsets.first().map_or(0, |first| first.as_usize());
        let is_exact = self.pair.is_exact();
        for (number, hits) in hits.iter_mut().enumerate() {
            let of_word = &offsets[number * WORD..offsets.len().min(number * WORD + WORD + 1)];
            for (text, ends) in of_word.windows(2).enumerate() {
                let [start, end] = [ends[0], ends[1]].map(|offset| offset.as_usize() - base);
                let positions = start..(end + 1).saturating_sub(pattern.len());
                let is_hit = if is_exact {
                    is_marked(&self.marks, positions)
                } else {
                    is_marked_where(&self.marks, positions, |position| bytes[position..].starts_with(pattern))
                };
                *hits |= u64::from(is_hit) << text;
            }
        }
    }
}

/// Returns `true` if a position in a range is marked. It folds over all words: without an early return, there
/// is no branch to mispredict.
fn is_marked(marks: &[u64], positions: Range<usize>) -> bool {
    let words = positions.clone().step_by(WORD);
    words.fold(0, |any, position| any | marks_of(marks, position..positions.end)) != 0
}

/// Returns `true` if `is_there` is true for a marked position in a range.
fn is_marked_where(marks: &[u64], positions: Range<usize>, is_there: impl Fn(usize) -> bool) -> bool {
    positions.clone().step_by(WORD).any(|position| {
        let mut left = marks_of(marks, position..positions.end);
        while left != 0 {
            if is_there(position + left.trailing_zeros() as usize) {
                return true;
            }
            left &= left - 1;
        }
        false
    })
}

/// Returns the marks of the first 64 positions of a range.
fn marks_of(marks: &[u64], positions: Range<usize>) -> u64 {
    let (word, bit) = (positions.start / WORD, positions.start % WORD);
    let later = marks.get(word + 1).copied().unwrap_or_default();
    // Two shifts, because a shift by 64 bits is an overflow.
    (marks[word] >> bit | later << 1 << (WORD - 1 - bit)) & u64::MAX >> (WORD - positions.len().min(WORD))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_ways_find_the_texts_that_contain_a_pattern(
            texts in prop::collection::vec("[abä]{0,9}|[abä]{60,140}", 1..200),
            first in 0..200_usize,
            (chosen, start, length) in (any::<prop::sample::Index>(), 0..9_usize, 1..5_usize),
            other in prop::option::of("[abcä]{1,3}"),
        ) {
            let own: String = chosen.get(&texts).chars().skip(start).take(length).collect();
            let pattern = other.unwrap_or(own);
            prop_assume!(!pattern.is_empty());
            let texts = &texts[first.min(texts.len() - 1)..];
            let ends = texts.iter().scan(7, |end, text| { *end += text.len(); Some(i32::from_usize(*end).expect("small")) });
            let offsets: Vec<i32> = std::iter::once(7).chain(ends).collect();
            let bytes = texts.concat().into_bytes();
            let finder = Finder::new(pattern.as_bytes());
            let expected: Vec<bool> = texts.iter().map(|text| text.contains(&pattern)).collect();
            for is_often in [false, true] {
                let mut hits = vec![0_u64; texts.len().div_ceil(WORD)];
                AdjacentSearch { is_often, ..AdjacentSearch::of(&finder) }.find_in(&bytes, &offsets, &mut hits);
                let found = |text: usize| hits[text / WORD] >> (text % WORD) & 1 == 1;
                prop_assert_eq!((0..texts.len()).map(found).collect::<Vec<_>>(), expected.clone(), "{} in {:?}", pattern, texts);
                let after: u32 = hits.iter().map(|word| word.count_ones()).sum();
                prop_assert_eq!(after as usize, expected.iter().filter(|is_hit| **is_hit).count());
            }
        }
    }

    #[test]
    fn the_way_changes_between_texts_without_a_loss() {
        let texts: Vec<&str> = (0..5 * TEXTS_AT_ONCE)
            .map(|text| {
                if (text / TEXTS_AT_ONCE).is_multiple_of(2) || text % 1000 == 0 { "sess-1" } else { "other" }
            })
            .collect();
        let ends = texts.iter().scan(0, |end, text| {
            *end += text.len();
            i32::from_usize(*end)
        });
        let offsets: Vec<i32> = std::iter::once(0).chain(ends).collect();
        let finder = Finder::new("ss-");
        let mut hits = vec![0_u64; texts.len().div_ceil(WORD)];
        AdjacentSearch::of(&finder).find(texts.concat().as_bytes(), &offsets, &mut hits);
        for (text, own) in texts.iter().enumerate() {
            assert_eq!(hits[text / WORD] >> (text % WORD) & 1 == 1, *own == "sess-1", "{text}");
        }
    }
}
