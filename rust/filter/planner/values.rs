//! Finds the values of a column that a text matcher matches.

use std::iter;
use std::ops::Range;
use std::sync::Arc;

use fearless_simd::{Level, dispatch};
use rayon::prelude::*;

use super::plan_node::{CodeRanges, PlanNode, complement, union};
use crate::bitmap::RowSet;
use crate::filter::text::{ByteInterval, TextMatcher};
use crate::index::Boundary;
use crate::index::columns::{Ids, Texts};
use crate::otlp::TraceId;
use crate::text::{ID_DIGITS, IdPiece, digit};

/// The number of texts that one thread tests at a time.
const TEXTS_AT_ONCE: u32 = 1 << 14;

/// Returns the codes of the texts for which the matcher result is `truth`.
pub(super) fn codes(texts: &Texts, matcher: &TextMatcher, truth: bool) -> CodeRanges {
    let matching = if let Some(intervals) = matcher.intervals(texts.is_lower_case()) {
        let mut matching = Vec::with_capacity(intervals.len());
        if let Some(wanted) = exact_texts(&intervals) {
            texts.find_each(&wanted, |code| matching.push(code..code + 1));
        } else {
            let all = 0..texts.distinct();
            let of_interval =
                |interval| between(interval, all.clone(), |boundary| texts.first_code(boundary));
            matching.extend(intervals.into_iter().map(of_interval));
        }
        union(matching.into_iter())
    } else if texts.distinct() <= TEXTS_AT_ONCE {
        union(tested(texts, matcher, 0..texts.distinct()).into_iter())
    } else {
        let chunks = (0..texts.distinct()).step_by(TEXTS_AT_ONCE as usize).collect::<Vec<_>>();
        let end = |first: u32| texts.distinct().min(first + TEXTS_AT_ONCE);
        let matching =
            chunks.into_par_iter().flat_map_iter(|first| tested(texts, matcher, first..end(first)));
        union(matching.collect::<Vec<_>>().into_iter())
    };
    let matching = if truth { matching } else { complement(&matching, texts.distinct()) };
    CodeRanges::new(texts, matching)
}

/// Returns the subset of `codes` whose texts match, by testing each text.
fn tested(texts: &Texts, matcher: &TextMatcher, codes: Range<u32>) -> Vec<Range<u32>> {
    let (bytes, offsets) = texts.all();
    let offsets = &offsets[codes.start as usize..=codes.end as usize];
    if let Some(hits) = matcher.texts_that_contain(bytes, offsets, texts.is_lower_case()) {
        let ranges = hits.set_slices().map(|(start, end)| codes.start + code(start)..codes.start + code(end));
        return ranges.collect();
    }
    let mut scratch = String::new();
    let is_hit = |code: &u32| {
        std::str::from_utf8(texts.value(*code)).is_ok_and(|text| matcher.matches(text, &mut scratch))
    };
    codes.filter(is_hit).map(|code| code..code + 1).collect()
}

#[allow(clippy::cast_possible_truncation, reason = "there are no more values than rows")]
fn code(position: usize) -> u32 {
    position as u32
}

/// Returns the ids for which the matcher result is `truth`.
pub(super) fn ids_that_match(ids: &Arc<Ids>, matcher: &TextMatcher, truth: bool) -> PlanNode {
    let Some(intervals) = matcher.intervals(true) else {
        return PlanNode::Rows(rows_that_contain(ids, matcher, truth));
    };
    if let Some(texts) = exact_texts(&intervals) {
        let wanted: Vec<TraceId> = texts.into_iter().filter_map(id).collect();
        let mut rows = Vec::with_capacity(wanted.len());
        ids.find_each(&wanted, |row| rows.push(row));
        rows.sort_unstable();
        let matching = RowSet::List(rows.into());
        let all = RowSet::Range(0..code(ids.order().len()));
        return PlanNode::Rows(if truth { matching } else { all.without(&matching) });
    }
    let matching =
        union(intervals.into_iter().map(|interval| {
            between(interval, 0..ids.order().len(), |boundary| first_id_after(ids, boundary))
        }));
    PlanNode::Ids(ids.clone(), if truth { matching } else { complement(&matching, ids.order().len()) })
}

/// Returns the texts of intervals that each consist of a single text; `None` if one does not.
fn exact_texts<'t>(intervals: &[ByteInterval<'t>]) -> Option<Vec<&'t [u8]>> {
    let exact = intervals.iter().map(|interval| match interval {
        ByteInterval::Exactly(text) => Some(*text),
        _ => None,
    });
    exact.collect()
}

/// Parses an id in lower-case hexadecimal digits.
fn id(text: &[u8]) -> Option<TraceId> {
    let is_written_so = text.len() == ID_DIGITS && !text.iter().any(u8::is_ascii_uppercase);
    TraceId::from_hex(std::str::from_utf8(text).ok().filter(|_| is_written_so)?)
}

/// Returns the positions, out of `all` in byte order, that are in an interval. `first` returns the first
/// position after a boundary.
fn between<P: Copy + Ord>(
    interval: ByteInterval<'_>,
    all: Range<P>,
    first: impl Fn(Boundary<'_>) -> P,
) -> Range<P> {
    let (start, end) = interval.boundaries();
    let start = start.map_or(all.start, &first);
    start..end.map_or(all.end, first).max(start)
}

/// Returns the first position in id order whose id comes after a boundary.
fn first_id_after(ids: &Ids, boundary: Boundary<'_>) -> usize {
    let (text, padding) = match boundary {
        Boundary::Before(text) | Boundary::After(text) => (text, b'0'),
        Boundary::AfterPrefix(prefix) => (prefix, b'f'),
    };
    let digits = text.iter().copied().chain(iter::repeat(padding)).take(ID_DIGITS / 2);
    let value = |written: u8| digit(written).unwrap_or(if written < b'a' { 0 } else { 15 });
    let near = digits.fold(0, |number, written| number << 4 | u64::from(value(written)));
    ids.first_position(near, |id| {
        let mut digits = [0; ID_DIGITS];
        write_hex(id, &mut digits);
        boundary.precedes(&digits)
    })
}

/// Returns the rows for whose ids the result of a `CONTAINS` matcher is `truth`. Ids are compared in row
/// order, on all threads.
fn rows_that_contain(ids: &Ids, matcher: &TextMatcher, truth: bool) -> RowSet {
    /// The number of ids that one thread compares at a time: a multiple of the bits of a word.
    const IDS_AT_ONCE: usize = 4_096;
    let rows = ids.order().len();
    let pattern = matcher.pattern().unwrap_or_default();
    let digits: Option<Vec<u8>> = pattern.iter().map(|byte| digit(*byte)).collect();
    let starts = (ID_DIGITS + 1).saturating_sub(pattern.len());
    let piece = digits.filter(|digits| !digits.is_empty()).and_then(|digits| IdPiece::of(&digits, 0..starts));
    let Some(piece) = piece else {
        let is_in_all = pattern.is_empty();
        return if truth == is_in_all { RowSet::Range(0..code(rows)) } else { RowSet::NONE };
    };
    let level = Level::new();
    let mut words = vec![0_u64; rows.div_ceil(64)];
    words.par_chunks_mut(IDS_AT_ONCE / 64).enumerate().for_each(|(chunk, words)| {
        let first = chunk * IDS_AT_ONCE;
        let some = (first, rows.min(first + IDS_AT_ONCE));
        dispatch!(level, simd => piece.find(simd, ids.all(), some, |row| {
            words[(row - first) / 64] |= 1 << (row % 64);
        }));
        if !truth {
            let all = (some.0..some.1).step_by(64).map(|at| u64::MAX >> (64 - (some.1 - at).min(64)));
            words.iter_mut().zip(all).for_each(|(word, all)| *word ^= all);
        }
    });
    RowSet::of_words(words)
}

/// Writes an id in hexadecimal digits.
pub(super) fn write_hex(bytes: &[u8], digits: &mut [u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
}
