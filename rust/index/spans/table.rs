//! The open span table of a segment.

use std::ops::Range;

use arrow_buffer::{Buffer, ScalarBuffer};

use super::layout::{FIRST_NUMBER, FIRST_WORD, SPAN_TABLE, SpanTableColumn, fields, identity_of};
use super::words::Words;
use crate::index::{PackedInts, SectionKind, Sections};
use crate::trace::view::{SpanColumn, SpanField};

/// The open span table of a segment.
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
    /// Opens the table that [`super::SpanTableBuilder::finish`] wrote for `source`, and verifies its
    /// checksums.
    ///
    /// Returns `None` if the table is damaged, incomplete, of another format or built from another source.
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

    /// Returns `true` if a file that ends with `end` can probably be opened for `source`. Only the end is
    /// checked.
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

    /// Returns the bytes of the table file.
    pub fn content(&self) -> &[u8] {
        self.sections.content()
    }

    /// Returns `true` if the document of a row is unreadable, so that its spans are unknown.
    pub fn is_unreadable(&self, row: u32) -> bool {
        self.unreadable.binary_search(&row).is_ok()
    }

    /// Returns `true` if a row of a range has an unreadable document.
    pub fn has_unreadable(&self, rows: Range<u32>) -> bool {
        let before = |row: u32| self.unreadable.partition_point(|own| *own < row);
        before(rows.start) < before(rows.end)
    }

    /// Returns `true` if no time has a fraction of a microsecond. The table does not store fractions.
    pub fn has_whole_times(&self) -> bool {
        self.has_whole_times
    }

    /// Returns the result of `decide` for each combination of words, from the value of a [`SpanColumn::Word`]
    /// field. Empty for another kind of field.
    pub fn of_combinations<T: Copy>(&self, field: &SpanField, decide: impl Fn(Option<&str>) -> T) -> Vec<T> {
        let position = fields(SpanColumn::Word).position(|own| own.key == field.key);
        position.map(|position| self.words[position].of_combinations(decide)).unwrap_or_default()
    }

    /// Returns the word code of each combination for a [`SpanColumn::Word`] field; `None` for a missing word.
    /// Empty for another kind of field.
    pub fn words_of_combinations(&self, field: &SpanField) -> Vec<Option<u32>> {
        let position = fields(SpanColumn::Word).position(|own| own.key == field.key);
        position.map(|position| self.words[position].codes()).unwrap_or_default()
    }

    /// Returns the position of a [`SpanColumn::Number`] field among the columns of numbers.
    pub fn number_column(field: &SpanField) -> Option<usize> {
        fields(SpanColumn::Number).position(|own| own.key == field.key)
    }
}
