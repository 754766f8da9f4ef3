//! Predicate x index -> what is left to ask of its rows.
//!
//! Whatever can be decided on distinct values is decided here: a text becomes the codes that match, a
//! number a range of the order by number, an instant a range of rows. So each leaf knows how many
//! rows it holds before one is looked at. `NOT` is gone: it is asked of the leaves, where it leaves out the
//! rows without a value, as in `evaluate`.

use std::ops::Range;

use super::intervals::IntervalSet;
use super::predicate::Predicate;
use super::text::{ByteInterval, TextMatcher};
use crate::index::{Ids, Index, Numbers, Texts, fill};
use crate::otlp::TraceId;
use crate::schema::Field;

/// Nanoseconds in a microsecond, the unit of instants in an index.
const MICRO: i128 = 1_000;

/// What is left to ask.
#[derive(Debug)]
pub(super) enum Node<'i> {
    /// Every part holds.
    All(Vec<Node<'i>>),
    /// At least one part holds.
    Any(Vec<Node<'i>>),
    /// The row is among these neighbours.
    Range(Range<u32>),
    /// The row's text has one of these codes.
    Texts(&'i Texts, Codes),
    /// The row's number is in the set; its places in the order are known.
    Ordered { numbers: &'i Numbers, order: &'i [u32], places: Vec<Range<usize>>, spans: IntervalSet<i64> },
    /// The row's number is in the set.
    Scanned(&'i Numbers, IntervalSet<i64>),
    /// The row's id is at one of these places in the order of ids.
    Ids(&'i Ids, Vec<Range<usize>>),
}

/// A set of codes.
#[derive(Debug)]
pub(super) struct Codes {
    /// Ascending, none touching another.
    pub(super) ranges: Vec<Range<u32>>,
    /// How many rows have one of them.
    pub(super) rows: usize,
    /// The same as a bitmap, if the ranges are many.
    bits: Option<Vec<u64>>,
}

/// More ranges than this are looked up in a bitmap.
const MANY_RANGES: usize = 4;

impl Codes {
    fn new(texts: &Texts, ranges: Vec<Range<u32>>) -> Self {
        let rows = ranges.iter().map(|range| texts.count(range)).sum();
        let bits = (ranges.len() > MANY_RANGES).then(|| {
            let mut bits = vec![0; texts.distinct() as usize / 64 + 1];
            for range in &ranges {
                fill(&mut bits, range.start as usize..range.end as usize);
            }
            bits
        });
        Self { ranges, rows, bits }
    }

    /// Returns all other codes, that of a missing value too.
    pub(super) fn others(&self, texts: &Texts) -> Vec<Range<u32>> {
        others(&self.ranges, texts.distinct() + 1)
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

/// What is asked, and whether the answer is still wanted.
#[derive(Clone, Copy)]
pub(super) struct Asked<'i, 'w> {
    pub(super) index: &'i Index,
    pub(super) is_cancelled: &'w dyn Fn() -> bool,
}

/// Returns what is left of the question of which rows `predicate` is `truth`; once that is not wanted any
/// more, nothing is. Recursion goes no deeper than the predicate.
pub(super) fn resolve<'i>(predicate: &Predicate, truth: bool, asked: &Asked<'i, '_>) -> Node<'i> {
    let Asked { index, is_cancelled } = *asked;
    match predicate {
        _ if is_cancelled() => Node::Range(0..0),
        Predicate::And(parts) | Predicate::Or(parts) => {
            let nodes = parts.iter().map(|part| resolve(part, truth, asked)).collect();
            let is_and = matches!(predicate, Predicate::And(_));
            if is_and == truth { Node::All(nodes) } else { Node::Any(nodes) }
        }
        Predicate::Not(part) => resolve(part, !truth, asked),
        Predicate::Exists(field) => match index.texts(*field) {
            Some(texts) => {
                let present = texts.distinct();
                let codes = if truth { 0..present } else { present..present + 1 };
                Node::Texts(texts, Codes::new(texts, vec![codes]))
            }
            None => Node::Range(0..if truth { index.rows() } else { 0 }),
        },
        Predicate::Text(field, matcher) => match index.texts(*field) {
            Some(texts) => Node::Texts(texts, codes(texts, matcher, truth)),
            None => Node::Ids(index.ids(), places(index.ids(), matcher, truth)),
        },
        Predicate::Number(field, numbers) => in_spans(index, *field, &numbers.whole, (1, truth)),
        Predicate::Time(field, instants) => in_spans(index, *field, instants, (MICRO, truth)),
    }
}

/// Returns the codes whose texts the matcher matches, or those it does not.
fn codes(texts: &Texts, matcher: &TextMatcher, truth: bool) -> Codes {
    let found = if let Some(spans) = matcher.spans() {
        let range = |span: ByteInterval<'_>| {
            let first = texts.first_code(|text| span.is_reached_by(text));
            match span {
                ByteInterval::Exactly(wanted) => {
                    let is_there = first < texts.distinct() && texts.value(first) == wanted;
                    first..first + u32::from(is_there)
                }
                _ => first..texts.first_code(|text| span.is_passed_by(text)).max(first),
            }
        };
        joined(spans.into_iter().map(range))
    } else {
        let (bytes, offsets) = texts.all();
        if let Some(hits) = matcher.texts_that_contain(bytes, offsets, texts.is_lower_case()) {
            joined(hits.set_slices().map(|(start, end)| code(start)..code(end)))
        } else {
            let mut scratch = String::new();
            let is_hit = |code: &u32| {
                std::str::from_utf8(texts.value(*code)).is_ok_and(|text| matcher.matches(text, &mut scratch))
            };
            joined((0..texts.distinct()).filter(is_hit).map(|code| code..code + 1))
        }
    };
    let found = if truth { found } else { others(&found, texts.distinct()) };
    Codes::new(texts, found)
}

#[allow(clippy::cast_possible_truncation, reason = "there are no more values than rows")]
fn code(place: usize) -> u32 {
    place as u32
}

/// Joins ascending ranges that touch, and leaves out empty ones.
fn joined<T: Copy + PartialOrd>(ranges: impl Iterator<Item = Range<T>>) -> Vec<Range<T>> {
    let mut joined: Vec<Range<T>> = Vec::new();
    for range in ranges.filter(|range| range.start < range.end) {
        match joined.last_mut() {
            Some(last) if last.end >= range.start => {
                if range.end > last.end {
                    last.end = range.end;
                }
            }
            _ => joined.push(range),
        }
    }
    joined
}

/// Returns what lies between ascending ranges, from zero up to `end`.
fn others<T: Copy + PartialOrd + Default>(ranges: &[Range<T>], end: T) -> Vec<Range<T>> {
    let starts = std::iter::once(T::default()).chain(ranges.iter().map(|range| range.end));
    let ends = ranges.iter().map(|range| range.start).chain(std::iter::once(end));
    joined(starts.zip(ends).map(|(start, end)| start..end))
}

/// Returns the places in the order of ids whose ids the matcher matches, or those it does not.
fn places(ids: &Ids, matcher: &TextMatcher, truth: bool) -> Vec<Range<usize>> {
    let order = ids.order();
    let text = |row: u32, written: &mut [u8; 32]| write_hex(ids.bytes(row as usize), written);
    let found = if let Some(spans) = matcher.spans() {
        let range = |span: ByteInterval<'_>| {
            let mut written = [0; 32];
            if let ByteInterval::Exactly(wanted) = span {
                let id = std::str::from_utf8(wanted).ok().filter(|text| text.len() == 32);
                let id = id.and_then(TraceId::from_hex).filter(|id| id.to_string().as_bytes() == wanted);
                let of_row = |id: &TraceId, row: &u32| ids.bytes(*row as usize).cmp(id.as_bytes());
                let place = id.and_then(|id| order.binary_search_by(|row| of_row(&id, row)).ok());
                return place.map_or(0..0, |place| place..place + 1);
            }
            let mut first = |is_low: &dyn Fn(&[u8]) -> bool| {
                order.partition_point(|row| {
                    text(*row, &mut written);
                    is_low(&written)
                })
            };
            let start = first(&|text| !span.is_reached_by(text));
            start..first(&|text| !span.is_passed_by(text)).max(start)
        };
        joined(spans.into_iter().map(range))
    } else {
        let (mut written, mut scratch) = ([0; 32], String::new());
        let is_hit = |row: u32| {
            text(row, &mut written);
            std::str::from_utf8(&written).is_ok_and(|text| matcher.matches(text, &mut scratch))
        };
        let mut is_hit = is_hit;
        joined((0..order.len()).filter(|place| is_hit(order[*place])).map(|place| place..place + 1))
    };
    if truth { found } else { others(&found, order.len()) }
}

fn write_hex(bytes: &[u8], written: &mut [u8; 32]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (pair, byte) in written.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
}

fn in_spans<'i>(
    index: &'i Index,
    field: Field,
    spans: &IntervalSet<i128>,
    (unit, truth): (i128, bool),
) -> Node<'i> {
    let wanted = if truth { spans.clone() } else { spans.not() };
    let wanted = wanted.in_units(unit, i64::MIN, i64::MAX);
    let numbers = index.numbers(field).expect("numbers and instants have a column");
    if field == Field::StartTime {
        // Newest first: the last span holds the first rows.
        let ranges: Vec<_> = wanted.iter().map(|span| Node::Range(numbers.rows_between(span))).collect();
        return Node::Any(ranges);
    }
    match numbers.order() {
        Some(order) => {
            let places = joined(wanted.iter().map(|span| numbers.places_between(order, span)));
            Node::Ordered { numbers, order, places, spans: wanted }
        }
        None => Node::Scanned(numbers, wanted),
    }
}
