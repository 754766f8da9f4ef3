//! Merges the sorted values of a text column of several segments.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::index::columns::Texts;
use crate::index::{Boundary, sort_key};

/// Splits the values of all segments into a few contiguous ranges for parallel merging. Returns the first
/// code of every segment in each range, and the codes after the last range.
pub(crate) fn range_bounds(texts: &[&Texts]) -> Vec<Vec<u32>> {
    const RANGES: u32 = 8;
    let largest = texts.iter().max_by_key(|texts| texts.distinct());
    let between = (1..RANGES).filter_map(|range| {
        let largest = largest.filter(|largest| largest.distinct() > RANGES)?;
        let bound = largest.value(largest.distinct() / RANGES * range);
        Some(texts.iter().map(|texts| texts.first_code(Boundary::Before(bound))).collect())
    });
    let first = std::iter::once(vec![0; texts.len()]);
    let last = std::iter::once(texts.iter().map(|texts| texts.distinct()).collect());
    first.chain(between).chain(last).collect()
}

/// Calls `visit` with every segment and code from the codes `from` up to the codes `to`, in value order. The
/// third argument is true if the value differs from the previous one.
pub(crate) fn merge(texts: &[&Texts], from: &[u32], to: &[u32], mut visit: impl FnMut(usize, u32, bool)) {
    let common = common_prefix(texts, from, to);
    let next = |segment: usize, code: u32| {
        let text = texts[segment].value(code);
        Reverse((sort_key(text, common), text, segment, code))
    };
    let non_empty = (0..texts.len()).filter(|segment| from[*segment] < to[*segment]);
    let mut heads: BinaryHeap<_> = non_empty.map(|segment| next(segment, from[segment])).collect();
    let mut last = None;
    while let Some(mut head) = heads.peek_mut() {
        let Reverse((_, text, segment, code)) = *head;
        visit(segment, code, last != Some(text));
        last = Some(text);
        if code + 1 < to[segment] {
            *head = next(segment, code + 1);
        } else {
            PeekMut::pop(head);
        }
    }
}

/// Returns the codes of the values that both segments have, one pair per value, ascending.
pub(crate) fn common(one: &Texts, other: &Texts) -> Vec<(u32, u32)> {
    let swapped = other.distinct() < one.distinct();
    let (smaller, larger) = if swapped { (other, one) } else { (one, other) };
    let mut found = Vec::new();
    let mut position = 0;
    for code in 0..smaller.distinct() {
        let text = smaller.value(code);
        position = larger.first_code_from(position, |other| other >= text);
        if position < larger.distinct() && larger.value(position) == text {
            found.push(if swapped { (position, code) } else { (code, position) });
        }
    }
    found
}

/// Returns the length of the prefix that all values of a range share.
fn common_prefix(texts: &[&Texts], from: &[u32], to: &[u32]) -> usize {
    let ends = texts.iter().zip(from.iter().zip(to)).filter(|(_, (from, to))| from < to);
    let ends: Vec<&[u8]> =
        ends.flat_map(|(texts, (from, to))| [texts.value(*from), texts.value(*to - 1)]).collect();
    let (Some(first), Some(last)) = (ends.iter().min(), ends.iter().max()) else { return 0 };
    first.iter().zip(last.iter()).take_while(|(one, other)| one == other).count()
}
