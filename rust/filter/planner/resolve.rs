//! Resolves a predicate against an index.
//!
//! Everything that distinct values can decide is decided here: a text becomes the codes that match, a number a
//! range of the rows in order of that number, a start time a range of rows. So the number of rows of each leaf is
//! known before a row is read. `NOT` is pushed down into the leaves, where it leaves out the rows without a value,
//! as in `evaluate`.

use std::ops::Range;

use rayon::prelude::*;

use super::text_rows::TextRows;
use crate::filter::intervals::IntervalSet;
use crate::filter::predicate::Predicate;
use crate::filter::text::{ByteInterval, TextMatcher};
use crate::index::{Ids, Index, Numbers, RowSet, Texts, fill};
use crate::otlp::TraceId;
use crate::schema::Field;

/// Nanoseconds in a microsecond, the unit of instants in an index.
const NANOS_PER_MICRO: i128 = 1_000;

/// A predicate in terms of one index.
#[derive(Debug)]
pub(super) enum Resolved<'i> {
    /// Every part holds.
    All(Vec<Resolved<'i>>),
    /// At least one part holds.
    Any(Vec<Resolved<'i>>),
    /// The row is in the range.
    Range(Range<u32>),
    /// The row's text has one of these codes.
    Texts(&'i Texts, Codes),
    /// The row's number is in the set; its positions in the order by number are known.
    Ordered {
        numbers: &'i Numbers,
        order: &'i [u32],
        positions: Vec<Range<usize>>,
        intervals: IntervalSet<i64>,
    },
    /// The row's number is in the set.
    Scanned(&'i Numbers, IntervalSet<i64>),
    /// The row's id is at one of these positions in the order of ids.
    Ids(&'i Ids, Vec<Range<usize>>),
    /// The row is in the set.
    Rows(RowSet),
}

/// A set of codes.
#[derive(Debug)]
pub(super) struct Codes {
    /// Ascending, separated by gaps.
    pub(super) ranges: Vec<Range<u32>>,
    /// How many rows have one of them.
    pub(super) rows: usize,
    /// The same codes as a bitmap, if there are many ranges.
    bits: Option<Vec<u64>>,
}

/// With more ranges than this, membership is tested with a bitmap.
const MAX_SCANNED_RANGES: usize = 4;

impl Codes {
    fn new(texts: &Texts, ranges: Vec<Range<u32>>) -> Self {
        let rows = ranges.iter().map(|range| texts.count(range)).sum();
        let bits = (ranges.len() > MAX_SCANNED_RANGES).then(|| {
            let mut bits = vec![0; texts.distinct() as usize / 64 + 1];
            for range in &ranges {
                fill(&mut bits, range.start as usize..range.end as usize);
            }
            bits
        });
        Self { ranges, rows, bits }
    }

    /// Returns all other codes, including that of a missing value.
    pub(super) fn complement(&self, texts: &Texts) -> Vec<Range<u32>> {
        complement(&self.ranges, texts.distinct() + 1)
    }

    pub(super) fn contains(&self, code: u32) -> bool {
        match &self.bits {
            Some(bits) => bits[code as usize / 64] >> (code % 64) & 1 == 1,
            None => self.ranges.iter().any(|range| range.contains(&code)),
        }
    }

    /// Returns how many codes there are.
    pub(super) fn count(&self) -> usize {
        self.ranges.iter().map(ExactSizeIterator::len).sum()
    }
}

/// Which rows stand for a condition on spans that no index decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::filter) enum SpanRows {
    /// All that may match it.
    Possible,
    /// Those that are known to match it.
    Certain,
}

/// The index, and whether the search has been cancelled.
#[derive(Clone, Copy)]
pub(super) struct ResolveContext<'i, 'w> {
    pub(super) index: &'i Index,
    pub(super) texts: &'w TextRows<'i>,
    pub(super) is_cancelled: &'w dyn Fn() -> bool,
    pub(super) span_rows: SpanRows,
}

/// Returns `predicate` resolved to the rows for which it is `truth`; an empty range once the search is cancelled.
/// Recursion is bounded by the depth of the predicate.
pub(super) fn resolve<'i>(
    predicate: &Predicate,
    truth: bool,
    context: &ResolveContext<'i, '_>,
) -> Resolved<'i> {
    let ResolveContext { index, texts, is_cancelled, span_rows } = *context;
    match predicate {
        _ if is_cancelled() => Resolved::Range(0..0),
        Predicate::And(parts) | Predicate::Or(parts) => {
            let nodes = parts.iter().map(|part| resolve(part, truth, context)).collect();
            let is_and = matches!(predicate, Predicate::And(_));
            if is_and == truth { Resolved::All(nodes) } else { Resolved::Any(nodes) }
        }
        Predicate::Not(part) => resolve(part, !truth, context),
        Predicate::Exists(field) => match index.texts(*field) {
            Some(texts) => {
                let present = texts.distinct();
                let codes = if truth { 0..present } else { present..present + 1 };
                Resolved::Texts(texts, Codes::new(texts, vec![codes]))
            }
            None => Resolved::Range(0..if truth { index.rows() } else { 0 }),
        },
        Predicate::Text(field, matcher) => match index.texts(*field) {
            Some(texts) => Resolved::Texts(texts, codes(texts, matcher, truth)),
            None => resolve_ids(index.ids(), matcher, truth),
        },
        Predicate::Number(field, numbers) => resolve_intervals(index, *field, &numbers.whole, (1, truth)),
        Predicate::Time(field, instants) => {
            resolve_intervals(index, *field, instants, (NANOS_PER_MICRO, truth))
        }
        Predicate::Spans(test) => match texts.bounds(test, truth, is_cancelled) {
            Some([certain, possible]) => {
                Resolved::Rows(if span_rows == SpanRows::Certain { certain } else { possible })
            }
            None if span_rows == SpanRows::Certain => Resolved::Range(0..0),
            None if truth => {
                let implied = [test.implied(), test.implied_texts()];
                Resolved::All(implied.iter().map(|part| resolve(part, true, context)).collect())
            }
            None => Resolved::Range(0..index.rows()),
        },
    }
}

/// Returns the codes whose texts the matcher matches, or those it does not.
fn codes(texts: &Texts, matcher: &TextMatcher, truth: bool) -> Codes {
    let found = if let Some(intervals) = matcher.intervals(texts.is_lower_case()) {
        let range = |interval: ByteInterval<'_>| {
            let first = texts.first_code(|text| interval.starts_at_or_before(text));
            match interval {
                ByteInterval::Exactly(wanted) => {
                    let is_there = first < texts.distinct() && texts.value(first) == wanted;
                    first..first + u32::from(is_there)
                }
                _ => first..texts.first_code(|text| interval.ends_before(text)).max(first),
            }
        };
        union(intervals.into_iter().map(range))
    } else {
        let (bytes, offsets) = texts.all();
        if let Some(hits) = matcher.texts_that_contain(bytes, offsets, texts.is_lower_case()) {
            union(hits.set_slices().map(|(start, end)| code(start)..code(end)))
        } else {
            let mut scratch = String::new();
            let is_hit = |code: &u32| {
                std::str::from_utf8(texts.value(*code)).is_ok_and(|text| matcher.matches(text, &mut scratch))
            };
            union((0..texts.distinct()).filter(is_hit).map(|code| code..code + 1))
        }
    };
    let found = if truth { found } else { complement(&found, texts.distinct()) };
    Codes::new(texts, found)
}

#[allow(clippy::cast_possible_truncation, reason = "there are no more values than rows")]
fn code(position: usize) -> u32 {
    position as u32
}

/// Merges ascending ranges that touch, and drops empty ones.
fn union<T: Copy + PartialOrd>(ranges: impl Iterator<Item = Range<T>>) -> Vec<Range<T>> {
    let mut union: Vec<Range<T>> = Vec::new();
    for range in ranges.filter(|range| range.start < range.end) {
        match union.last_mut() {
            Some(last) if last.end >= range.start => {
                if range.end > last.end {
                    last.end = range.end;
                }
            }
            _ => union.push(range),
        }
    }
    union
}

/// Returns the gaps between ascending ranges, from zero up to `end`.
fn complement<T: Copy + PartialOrd + Default>(ranges: &[Range<T>], end: T) -> Vec<Range<T>> {
    let starts = std::iter::once(T::default()).chain(ranges.iter().map(|range| range.end));
    let ends = ranges.iter().map(|range| range.start).chain(std::iter::once(end));
    union(starts.zip(ends).map(|(start, end)| start..end))
}

/// Returns the ids that the matcher matches, or those it does not.
fn resolve_ids<'i>(ids: &'i Ids, matcher: &TextMatcher, truth: bool) -> Resolved<'i> {
    let Some(intervals) = matcher.intervals(true) else {
        return Resolved::Rows(rows_that_contain(ids, matcher, truth));
    };
    let found = union(intervals.into_iter().map(|interval| positions(ids, interval)));
    Resolved::Ids(ids, if truth { found } else { complement(&found, ids.order().len()) })
}

/// Returns the positions, in the order of ids, of the ids in an interval.
fn positions(ids: &Ids, interval: ByteInterval<'_>) -> Range<usize> {
    let order = ids.order();
    if let ByteInterval::Exactly(wanted) = interval {
        let id = std::str::from_utf8(wanted).ok().filter(|text| text.len() == HEX_WIDTH);
        let id = id.and_then(TraceId::from_hex).filter(|id| id.to_string().as_bytes() == wanted);
        let of_row = |id: &TraceId, row: &u32| ids.bytes(*row as usize).cmp(id.as_bytes());
        let position = id.and_then(|id| order.binary_search_by(|row| of_row(&id, row)).ok());
        return position.map_or(0..0, |position| position..position + 1);
    }
    let mut digits = [0; HEX_WIDTH];
    let mut first = |is_low: &dyn Fn(&[u8]) -> bool| {
        order.partition_point(|row| {
            write_hex(ids.bytes(*row as usize), &mut digits);
            is_low(&digits)
        })
    };
    let start = first(&|text| !interval.starts_at_or_before(text));
    start..first(&|text| !interval.ends_before(text)).max(start)
}

/// Returns the rows whose ids contain the pattern of a `CONTAINS` matcher, or those whose ids do not. Ids are written and
/// searched in the order of rows, many at once and on all threads.
fn rows_that_contain(ids: &Ids, matcher: &TextMatcher, truth: bool) -> RowSet {
    /// So many that the digits stay in the processor's cache.
    const IDS_AT_ONCE: usize = 4_096;
    let rows = ids.order().len();
    let mut words = vec![0_u64; rows.div_ceil(64)];
    words.par_chunks_mut(IDS_AT_ONCE / 64).enumerate().for_each(|(chunk, words)| {
        let first = chunk * IDS_AT_ONCE;
        let count = IDS_AT_ONCE.min(rows - first);
        let mut digits = vec![0; count * HEX_WIDTH];
        for (row, digits) in (first..).zip(digits.chunks_exact_mut(HEX_WIDTH)) {
            write_hex(ids.bytes(row), digits);
        }
        let ends: Vec<u32> = (0..).step_by(HEX_WIDTH).take(count + 1).collect();
        let hits = matcher.texts_that_contain(&digits, &ends, true);
        for row in hits.iter().flat_map(|hits| hits.set_indices()) {
            words[row / 64] |= 1 << (row % 64);
        }
        if !truth {
            let all = (0..count).step_by(64).map(|at| u64::MAX >> (64 - (count - at).min(64)));
            words.iter_mut().zip(all).for_each(|(word, all)| *word ^= all);
        }
    });
    RowSet::of_words(words)
}

/// How many digits an id has.
const HEX_WIDTH: usize = 32;

fn write_hex(bytes: &[u8], digits: &mut [u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
}

fn resolve_intervals<'i>(
    index: &'i Index,
    field: Field,
    intervals: &IntervalSet<i128>,
    (unit, truth): (i128, bool),
) -> Resolved<'i> {
    let wanted = if truth { intervals.clone() } else { intervals.not() };
    let wanted = wanted.in_units(unit, i64::MIN, i64::MAX);
    let numbers = index.numbers(field).expect("numbers and instants have a column");
    if field == Field::StartTime {
        // Rows are sorted newest first, so the last interval holds the first rows.
        let ranges: Vec<_> =
            wanted.iter().map(|interval| Resolved::Range(numbers.rows_between(interval))).collect();
        return Resolved::Any(ranges);
    }
    match numbers.order() {
        Some(order) => {
            let positions = union(wanted.iter().map(|interval| numbers.positions_between(order, interval)));
            Resolved::Ordered { numbers, order, positions, intervals: wanted }
        }
        None => Resolved::Scanned(numbers, wanted),
    }
}
