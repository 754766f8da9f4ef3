//! The open table of a segment's spans.

use std::ops::Range;

use arrow_buffer::{Buffer, ScalarBuffer};

use super::layout::{FIRST_NUMBER, FIRST_WORD, SPAN_TABLE, SpanTableColumn, fields, identity_of};
use super::words::Words;
use crate::index::{PackedInts, SectionKind, Sections};
use crate::trace::view::{SpanColumn, SpanField};

/// The open table of the spans of a segment.
#[derive(Debug)]
pub struct SpanTable {
    sections: Sections,
    pub(super) words: Vec<Words>,
    pub(super) codes: PackedInts,
    pub(super) parents: PackedInts,
    pub(super) subtrees: PackedInts,
    pub(super) starts: PackedInts,
    pub(super) ends: PackedInts,
    pub(super) magnitudes: PackedInts,
    pub(super) numbers: Vec<PackedInts>,
    pub(super) firsts: ScalarBuffer<u32>,
    pub(super) bases: PackedInts,
    pub(super) unreadable: ScalarBuffer<u32>,
    pub(super) fractions: ScalarBuffer<u64>,
    has_whole_times: bool,
}

impl SpanTable {
    /// Opens the table that [`super::SpanTableBuilder::finish`] wrote for `source`, and verifies its checksums; `None` if it is
    /// damaged, incomplete, of another format, or was built from something else.
    pub fn open(content: Buffer, source: &str) -> Option<Self> {
        let sections = Sections::open(SPAN_TABLE, content, &identity_of(source))?;
        if !sections.are_sound(u32::MAX) {
            return None;
        }
        let rows = sections.rows() as usize;
        let firsts: ScalarBuffer<u32> =
            sections.plain(SpanTableColumn::Firsts as usize, SectionKind::Offsets)?;
        let spans = *firsts.last().filter(|_| firsts.len() == rows + 1)? as usize;
        let packed = |column: usize, count| sections.packed(column, SectionKind::Whole, count);
        let words = (FIRST_WORD..).zip(fields(SpanColumn::Word));
        let numbers = (FIRST_NUMBER..).zip(fields(SpanColumn::Number));
        let fractions = sections.plain(SpanTableColumn::Fractions as usize, SectionKind::FrequentBits)?;
        let fractions: ScalarBuffer<u64> =
            Some(fractions).filter(|words: &ScalarBuffer<u64>| words.len() == rows.div_ceil(64))?;
        Some(Self {
            words: words.map(|(column, _)| Words::open(&sections, column)).collect::<Option<_>>()?,
            codes: packed(SpanTableColumn::Codes as usize, spans)?,
            parents: packed(SpanTableColumn::Parents as usize, spans)?,
            subtrees: packed(SpanTableColumn::Subtrees as usize, spans)?,
            starts: packed(SpanTableColumn::Starts as usize, spans)?,
            ends: packed(SpanTableColumn::Ends as usize, spans)?,
            magnitudes: packed(SpanTableColumn::Magnitudes as usize, spans)?,
            numbers: numbers.map(|(column, _)| packed(column, spans)).collect::<Option<_>>()?,
            bases: packed(SpanTableColumn::Bases as usize, rows)?,
            unreadable: sections.plain(SpanTableColumn::Unreadable as usize, SectionKind::Values)?,
            has_whole_times: fractions.iter().all(|word| *word == 0),
            fractions,
            firsts,
            sections,
        })
    }

    /// Whether a file that ends with `end` can be opened for `source`, as far as its end says.
    pub fn may_end_with(end: &[u8], source: &str) -> bool {
        Sections::may_end_with(SPAN_TABLE, end, &identity_of(source))
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u32 {
        self.sections.rows()
    }

    /// Returns the number of spans.
    pub fn spans(&self) -> usize {
        self.firsts.last().map_or(0, |spans| *spans as usize)
    }

    /// Returns the size of the table in bytes.
    pub fn bytes(&self) -> u64 {
        self.sections.bytes()
    }

    /// Returns the table as it was built.
    pub fn content(&self) -> &[u8] {
        self.sections.content()
    }

    /// Whether the spans of a row are unknown, because its document could not be read.
    pub fn is_unreadable(&self, row: u32) -> bool {
        self.unreadable.binary_search(&row).is_ok()
    }

    /// Whether the spans of any of these rows are unknown.
    pub fn has_unreadable(&self, rows: Range<u32>) -> bool {
        let before = |row: u32| self.unreadable.partition_point(|own| *own < row);
        before(rows.start) < before(rows.end)
    }

    /// Whether no time has a fraction of a microsecond, which the table does not have.
    pub fn has_whole_times(&self) -> bool {
        self.has_whole_times
    }

    /// Returns what `decide` says of the value of a field that is a [`SpanColumn::Word`], for each combination of words.
    /// Empty for another field.
    pub fn of_combinations<T: Copy>(&self, field: &SpanField, decide: impl Fn(Option<&str>) -> T) -> Vec<T> {
        let position = fields(SpanColumn::Word).position(|own| own.key == field.key);
        position.map(|position| self.words[position].of_combinations(decide)).unwrap_or_default()
    }

    /// Returns the code of the word that each combination has of a field that is a [`SpanColumn::Word`]; `None` if it has none.
    /// Empty for another field.
    pub fn words_of_combinations(&self, field: &SpanField) -> Vec<Option<u32>> {
        let position = fields(SpanColumn::Word).position(|own| own.key == field.key);
        position.map(|position| self.words[position].codes()).unwrap_or_default()
    }

    /// Returns the place of the column of a field that is a [`SpanColumn::Number`].
    pub fn number_column(field: &SpanField) -> Option<usize> {
        fields(SpanColumn::Number).position(|own| own.key == field.key)
    }
}
