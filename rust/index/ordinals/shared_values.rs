//! The values of a text column that several segments share.
//!
//! Each segment has its own codes for values. To count a value over all segments, a search must know which
//! codes of different segments stand for the same value. Shared values get a number. In a column with many
//! values, such as sessions, most values occur in one segment only and need no number. Numbers are computed
//! once for a set of segments, and extended when segments are added.

use std::sync::{Arc, Weak};

use rayon::prelude::*;

use super::merged_texts::{common, merge, range_bounds};
use crate::index::columns::{Index, Texts};
use crate::schema::Field;

/// The codes of one segment whose values other segments also have.
#[derive(Debug, Default)]
pub struct SharedCodes {
    /// The codes, ascending.
    pub codes: Vec<u32>,
    /// The number of the value of each of `codes`.
    pub numbers: Vec<u32>,
}

/// The values of a column that several segments share. Equal values have equal numbers.
#[derive(Debug)]
pub struct SharedValues {
    /// One entry per segment, in the order of the snapshot. Removed segments are not kept alive.
    by_segment: Vec<(Weak<Index>, Arc<SharedCodes>)>,
    end: u32,
}

/// A placeholder for an unassigned number.
const UNASSIGNED: u32 = u32::MAX;

impl SharedValues {
    /// Numbers the values of the column of `field`, which must be verified, in `segments`. Extends the
    /// numbers of `previous` segments if they cover most of the values.
    pub(crate) fn new(field: Field, segments: &[Arc<Index>], previous: Option<&Self>) -> Self {
        let texts: Vec<&Texts> =
            segments.iter().filter_map(|index| index.texts(field).map(Arc::as_ref)).collect();
        let (codes, end) = previous
            .and_then(|previous| previous.extend(segments, &texts))
            .unwrap_or_else(|| merge_all(&texts));
        let by_segment = segments.iter().map(Arc::downgrade).zip(codes.into_iter().map(Arc::new)).collect();
        Self { by_segment, end }
    }

    /// Returns the shared codes of a segment. Segments are in the order of the snapshot.
    pub fn of_segment(&self, segment: usize) -> &SharedCodes {
        &self.by_segment[segment].1
    }

    /// Returns a number greater than the numbers of all values.
    pub fn end(&self) -> u32 {
        self.end
    }

    /// Returns the shared codes of every segment and the end of the numbers; `None` if too few values have a
    /// number.
    fn extend(&self, segments: &[Arc<Index>], texts: &[&Texts]) -> Option<(Vec<SharedCodes>, u32)> {
        let known = |index: &Arc<Index>| {
            let is_it = |(known, _): &&(Weak<Index>, _)| std::ptr::eq(known.as_ptr(), Arc::as_ptr(index));
            self.by_segment.iter().find(is_it).map(|(_, shared)| shared.copied())
        };
        let mut by_segment: Vec<Option<SharedCodes>> = segments.iter().map(known).collect();
        let distinct = |of: &dyn Fn(usize) -> bool| -> usize {
            (0..texts.len()).filter(|at| of(*at)).map(|at| texts[at].distinct() as usize).sum()
        };
        let (all, old) = (distinct(&|_| true), distinct(&|at| by_segment[at].is_some()));
        // The numbers of values that only removed segments have are not reused, so too many may be unused.
        if 2 * old < all || self.end as usize > 2 * all {
            return None;
        }
        let mut end = self.end;
        for segment in 0..segments.len() {
            if by_segment[segment].is_none() {
                by_segment[segment] = Some(add(texts, &mut by_segment, segment, &mut end));
            }
        }
        Some((by_segment.into_iter().flatten().collect(), end))
    }
}

impl SharedCodes {
    fn copied(&self) -> Self {
        Self { codes: self.codes.clone(), numbers: self.numbers.clone() }
    }

    fn number(&self, code: u32) -> Option<u32> {
        self.codes.binary_search(&code).ok().map(|at| self.numbers[at])
    }

    /// Adds new codes with their numbers.
    fn insert(&mut self, added: Vec<(u32, u32)>) {
        if added.is_empty() {
            return;
        }
        let mut all: Vec<(u32, u32)> =
            self.codes.iter().copied().zip(self.numbers.iter().copied()).chain(added).collect();
        all.sort_unstable();
        (self.codes, self.numbers) = all.into_iter().unzip();
    }

    fn of_numbers(numbers: &[u32]) -> Self {
        let shared = (0u32..).zip(numbers).filter(|(_, number)| **number != UNASSIGNED);
        let (codes, numbers) = shared.map(|(code, number)| (code, *number)).unzip();
        Self { codes, numbers }
    }
}

/// Returns the shared codes of a new segment. Also adds the newly shared codes of the other segments to their
/// sets.
fn add(
    texts: &[&Texts],
    by_segment: &mut [Option<SharedCodes>],
    segment: usize,
    end: &mut u32,
) -> SharedCodes {
    let own = texts[segment];
    let pairs: Vec<Vec<(u32, u32)>> = texts
        .par_iter()
        .zip(by_segment.par_iter())
        .map(|(texts, known)| known.as_ref().map_or_else(Vec::new, |_| common(own, texts)))
        .collect();
    let mut numbers = vec![UNASSIGNED; own.distinct() as usize];
    for (known, pairs) in by_segment.iter_mut().zip(pairs) {
        let Some(known) = known else { continue };
        let mut added = Vec::new();
        for (own, other) in pairs {
            let number = &mut numbers[own as usize];
            if let Some(theirs) = known.number(other) {
                *number = theirs;
            } else {
                // The value is new among the numbered segments before this one; otherwise they would share
                // it.
                (*number, *end) = (*end, *end + 1);
                added.push((other, *number));
            }
        }
        known.insert(added);
    }
    SharedCodes::of_numbers(&numbers)
}

/// Returns the shared codes of every segment and the end of the numbers. Values are numbered in value order.
fn merge_all(texts: &[&Texts]) -> (Vec<SharedCodes>, u32) {
    let bounds = range_bounds(texts);
    let ranges = bounds.par_windows(2).map(|pair| merge_range(texts, &pair[0], &pair[1]));
    let ranges: Vec<(Vec<SharedCodes>, u32)> = ranges.collect();
    let mut by_segment: Vec<SharedCodes> = texts.iter().map(|_| SharedCodes::default()).collect();
    let mut end = 0;
    for (range, count) in ranges {
        for (all, own) in by_segment.iter_mut().zip(range) {
            all.codes.extend(own.codes);
            all.numbers.extend(own.numbers.into_iter().map(|number| number + end));
        }
        end += count;
    }
    (by_segment, end)
}

/// Like [`merge_all`], but only for the codes of every segment from `from` up to `to`.
fn merge_range(texts: &[&Texts], from: &[u32], to: &[u32]) -> (Vec<SharedCodes>, u32) {
    let mut by_segment: Vec<SharedCodes> = texts.iter().map(|_| SharedCodes::default()).collect();
    let (mut count, mut first) = (0, None);
    let mut push = |segment: usize, code: u32, number: u32| {
        by_segment[segment].codes.push(code);
        by_segment[segment].numbers.push(number);
    };
    merge(texts, from, to, |segment, code, is_new| {
        if is_new {
            first = Some((segment, code));
            return;
        }
        if let Some((segment, code)) = first.take() {
            push(segment, code, count);
            count += 1;
        }
        push(segment, code, count - 1);
    });
    (by_segment, count)
}
