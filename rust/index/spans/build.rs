//! Builds the span table of a segment.

use std::collections::HashMap;
use std::io;

use ahash::RandomState;

use super::durations::magnitude;
use super::layout::{FIRST_NUMBER, FIRST_WORD, SPAN_TABLE, SpanTableColumn, fields, identity_of, sorted_by};
use super::words::WordsBuilder;
use crate::error::Result;
use crate::index::{SectionKind, SectionWriter};
use crate::time::NANOS_PER_MICRO;
use crate::trace::view::{SpanColumn, SpanValue, TraceView};

/// The memory of a hash map entry in addition to its key and value, in bytes.
const BYTES_PER_ENTRY: usize = 32;
/// The memory of a row's base and first ordinal, in bytes.
const BYTES_PER_ROW: usize = 12;

/// Collects the spans of a segment, row by row.
#[derive(Debug)]
pub struct SpanTableBuilder {
    words: Vec<WordsBuilder>,
    combinations: HashMap<Box<[u32]>, u32, RandomState>,
    codes: Ints,
    parents: Ints,
    subtrees: Ints,
    starts: Ints,
    ends: Ints,
    numbers: Vec<Ints>,
    firsts: Vec<u32>,
    bases: Vec<i64>,
    unreadable: Vec<u32>,
    /// A bitmap of the rows that have a time with a fraction of a microsecond.
    fractions: Vec<u64>,
    is_too_large: bool,
}

/// The stored form of a span's word combination, tree position and times.
pub(super) struct SpanRow {
    pub(super) code: u32,
    pub(super) parent: u64,
    pub(super) subtree: u64,
    pub(super) start: u64,
    pub(super) end: u64,
}

/// The word codes and numbers of one span.
struct SpanEntry {
    words: Box<[u32]>,
    numbers: Vec<u64>,
}

impl Default for SpanTableBuilder {
    fn default() -> Self {
        Self {
            words: fields(SpanColumn::Word).map(|_| WordsBuilder::new()).collect(),
            combinations: HashMap::default(),
            codes: Ints::default(),
            parents: Ints::default(),
            subtrees: Ints::default(),
            starts: Ints::default(),
            ends: Ints::default(),
            numbers: fields(SpanColumn::Number).map(|_| Ints::default()).collect(),
            firsts: vec![0],
            bases: Vec::new(),
            unreadable: Vec::new(),
            fractions: Vec::new(),
            is_too_large: false,
        }
    }
}

impl SpanTableBuilder {
    /// Returns the approximate memory use in bytes.
    pub fn bytes(&self) -> u64 {
        let columns = [&self.codes, &self.parents, &self.subtrees, &self.starts, &self.ends];
        let columns: usize = columns.into_iter().chain(&self.numbers).map(Ints::bytes).sum();
        let words: usize = self.words.iter().map(WordsBuilder::bytes).sum();
        let combinations = self.combinations.len() * (self.words.len() * size_of::<u32>() + BYTES_PER_ENTRY);
        (columns + words + combinations + self.bases.len() * BYTES_PER_ROW) as u64
    }

    /// Adds the next row; `None` if its document is unreadable.
    pub fn add(&mut self, view: Option<&TraceView<'_>>) {
        let entries = view.map(|view| (view, self.entries(view)));
        if let Some((view, Ok(entries))) = entries {
            self.add_spans(view, entries);
        } else {
            self.push_unreadable();
        }
    }

    fn push_unreadable(&mut self) {
        self.unreadable.push(u32::try_from(self.bases.len()).unwrap_or(u32::MAX));
        self.push_row(self.bases.last().copied().unwrap_or_default(), false);
    }

    fn entries(&mut self, view: &TraceView<'_>) -> Result<Vec<SpanEntry>> {
        (0..view.len()).map(|ordinal| self.entry(view, ordinal)).collect()
    }

    fn entry(&mut self, view: &TraceView<'_>, ordinal: usize) -> Result<SpanEntry> {
        let mut codes = Vec::with_capacity(self.words.len());
        for (position, field) in fields(SpanColumn::Word).enumerate() {
            codes.push(match field.value(view, ordinal)? {
                Some(SpanValue::Text(word)) => self.word(position, Some(&word)),
                _ => WordsBuilder::MISSING,
            });
        }
        let mut numbers = Vec::with_capacity(self.numbers.len());
        for field in fields(SpanColumn::Number) {
            numbers.push(match field.value(view, ordinal)? {
                Some(SpanValue::Whole(number) | SpanValue::Nanodollars(number)) => {
                    number.max(0).cast_unsigned() + 1
                }
                _ => 0,
            });
        }
        Ok(SpanEntry { words: codes.into(), numbers })
    }

    /// Returns the code of a word of a field.
    pub(super) fn word(&mut self, field: usize, word: Option<&str>) -> u32 {
        let Some(word) = word else { return WordsBuilder::MISSING };
        self.words[field].code(word).unwrap_or_else(|| {
            self.is_too_large = true;
            WordsBuilder::MISSING
        })
    }

    fn add_spans(&mut self, view: &TraceView<'_>, entries: Vec<SpanEntry>) {
        let spans = (0..view.len()).map(|ordinal| view.span(ordinal));
        let ends = spans.clone().map(|span| span.end).filter(|end| *end != 0);
        let base = spans.map(|span| span.start).chain(ends).min().unwrap_or_default() / NANOS_PER_MICRO;
        let mut has_fraction = false;
        for (ordinal, entry) in entries.into_iter().enumerate() {
            let (start, end) = (view.span(ordinal).start, view.span(ordinal).end);
            has_fraction |= !start.is_multiple_of(NANOS_PER_MICRO) || !end.is_multiple_of(NANOS_PER_MICRO);
            let span = SpanRow {
                code: self.code(entry.words),
                parent: view.parent(ordinal).map_or(0, |parent| (ordinal - parent) as u64),
                subtree: view.subtree(ordinal).len() as u64 - 1,
                start: start / NANOS_PER_MICRO - base + 1,
                end: if end == 0 { 0 } else { end / NANOS_PER_MICRO - base + 1 },
            };
            self.push_span(&span, entry.numbers.into_iter());
        }
        self.push_row(i64::try_from(base).unwrap_or(i64::MAX), has_fraction);
    }

    /// Returns the code of a combination of words.
    pub(super) fn code(&mut self, words: Box<[u32]>) -> u32 {
        let next = u32::try_from(self.combinations.len()).unwrap_or(u32::MAX);
        *self.combinations.entry(words).or_insert(next)
    }

    /// Adds a span to the current row. `numbers` are the stored values of its numeric fields.
    pub(super) fn push_span(&mut self, span: &SpanRow, numbers: impl Iterator<Item = u64>) {
        self.codes.push(span.code.into());
        self.parents.push(span.parent);
        self.subtrees.push(span.subtree);
        self.starts.push(span.start);
        self.ends.push(span.end);
        self.numbers.iter_mut().zip(numbers).for_each(|(column, number)| column.push(number));
    }

    /// Ends the current row after its last span.
    pub(super) fn push_row(&mut self, base: i64, has_fraction: bool) {
        let row = self.bases.len();
        self.fractions.resize(row / 64 + 1, 0);
        self.fractions[row / 64] |= u64::from(has_fraction) << (row % 64);
        self.bases.push(base);
        self.is_too_large |= u32::try_from(self.codes.len()).is_err();
        self.firsts.push(u32::try_from(self.codes.len()).unwrap_or(u32::MAX));
    }

    /// Appends the rows of another builder, as if they had been added to this one.
    pub fn append(&mut self, later: Self) {
        let of_words: Vec<Vec<u32>> = (0..self.words.len())
            .map(|field| later.words[field].iter().map(|word| self.word(field, Some(word))).collect())
            .collect();
        let code_here = |(field, code): (usize, &u32)| {
            if *code == WordsBuilder::MISSING { *code } else { of_words[field][*code as usize] }
        };
        let combinations = in_order(later.combinations);
        let codes: Vec<u32> = combinations
            .iter()
            .map(|words| self.code(words.iter().enumerate().map(code_here).collect()))
            .collect();
        let mut unreadable = later.unreadable.iter().peekable();
        for (row, base) in later.bases.into_iter().enumerate() {
            for ordinal in later.firsts[row] as usize..later.firsts[row + 1] as usize {
                let combination = usize::try_from(later.codes.get(ordinal)).unwrap_or(usize::MAX);
                let span = SpanRow {
                    code: codes[combination],
                    parent: later.parents.get(ordinal),
                    subtree: later.subtrees.get(ordinal),
                    start: later.starts.get(ordinal),
                    end: later.ends.get(ordinal),
                };
                self.push_span(&span, later.numbers.iter().map(|numbers| numbers.get(ordinal)));
            }
            if unreadable.next_if(|unreadable| **unreadable as usize == row).is_some() {
                self.push_unreadable();
            } else {
                self.push_row(base, later.fractions[row / 64] >> (row % 64) & 1 == 1);
            }
        }
        self.is_too_large |= later.is_too_large;
    }

    /// Writes the table. [`super::SpanTable::open`] expects the same `source`.
    ///
    /// # Errors
    /// An error of `out`, or an error if the table has 4 Gi spans or more, or over 4 GiB of words in one
    /// field.
    pub fn finish(self, source: &str, out: &mut dyn io::Write) -> io::Result<()> {
        let invalid = |message: &str| io::Error::new(io::ErrorKind::InvalidInput, message);
        if self.is_too_large {
            return Err(invalid("expected fewer than 2^32 spans, and at most 4 GiB of words of one field"));
        }
        let rows = u32::try_from(self.bases.len()).map_err(|_| invalid("expected fewer than 2^32 rows"))?;
        let mut writer = SectionWriter::new(SPAN_TABLE, out);
        let (combinations, sorted) = sorted(in_order(self.combinations));
        for (position, words) in self.words.into_iter().enumerate() {
            let codes = combinations.iter().map(|words| words[position]);
            words.write(&mut writer, FIRST_WORD + position, codes)?;
        }
        let times = || self.starts.iter().zip(self.ends.iter());
        let magnitudes =
            times().map(|(start, end)| magnitude(start.cast_unsigned(), end.cast_unsigned()).into());
        writer.packed(SpanTableColumn::Magnitudes as usize, SectionKind::Whole, magnitudes)?;
        let codes = self.codes.iter().map(|code| sorted[usize::try_from(code).unwrap_or_default()]);
        writer.packed(SpanTableColumn::Codes as usize, SectionKind::Whole, codes)?;
        let columns = [
            (SpanTableColumn::Parents, self.parents),
            (SpanTableColumn::Subtrees, self.subtrees),
            (SpanTableColumn::Starts, self.starts),
            (SpanTableColumn::Ends, self.ends),
        ];
        let columns = columns.into_iter().map(|(column, ints)| (column as usize, ints));
        for (column, ints) in columns.chain((FIRST_NUMBER..).zip(self.numbers)) {
            writer.packed(column, SectionKind::Whole, ints.iter())?;
        }
        writer.plain(SpanTableColumn::Firsts as usize, SectionKind::Offsets, self.firsts)?;
        writer.packed(SpanTableColumn::Bases as usize, SectionKind::Whole, self.bases.iter().copied())?;
        writer.plain(SpanTableColumn::Unreadable as usize, SectionKind::Values, self.unreadable)?;
        writer.plain(SpanTableColumn::Fractions as usize, SectionKind::FrequentBits, self.fractions)?;
        writer.finish(&identity_of(source), rows)
    }
}

/// Returns the combinations of words in the order of their codes.
fn in_order(combinations: HashMap<Box<[u32]>, u32, RandomState>) -> Vec<Box<[u32]>> {
    let mut in_order = vec![Box::default(); combinations.len()];
    for (words, code) in combinations {
        in_order[code as usize] = words;
    }
    in_order
}

/// Returns the combinations of words in file order, and the file code of each.
fn sorted(combinations: Vec<Box<[u32]>>) -> (Vec<Box<[u32]>>, Vec<i64>) {
    let positions = sorted_by();
    let mut numbered: Vec<_> = combinations.into_iter().enumerate().collect();
    numbered.sort_by_cached_key(|(_, words)| {
        positions.iter().map(|position| words[*position]).collect::<Vec<_>>()
    });
    let mut codes = vec![0; numbered.len()];
    for (code, (number, _)) in (0..).zip(&numbered) {
        codes[*number] = code;
    }
    (numbered.into_iter().map(|(_, words)| words).collect(), codes)
}

/// Integers in four bytes each until one does not fit. Most columns stay narrow, even with a million traces.
#[derive(Debug)]
pub(super) enum Ints {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Default for Ints {
    fn default() -> Self {
        Self::Narrow(Vec::new())
    }
}

impl Ints {
    pub(super) fn push(&mut self, value: u64) {
        match (&mut *self, u32::try_from(value)) {
            (Self::Narrow(values), Ok(value)) => values.push(value),
            (Self::Narrow(values), Err(_)) => {
                let mut wide: Vec<u64> = values.iter().copied().map(u64::from).collect();
                wide.push(value);
                *self = Self::Wide(wide);
            }
            (Self::Wide(values), _) => values.push(value),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Narrow(values) => values.capacity() * size_of::<u32>(),
            Self::Wide(values) => values.capacity() * size_of::<u64>(),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Narrow(values) => values.len(),
            Self::Wide(values) => values.len(),
        }
    }

    fn get(&self, at: usize) -> u64 {
        match self {
            Self::Narrow(values) => values[at].into(),
            Self::Wide(values) => values[at],
        }
    }

    fn iter(&self) -> impl Iterator<Item = i64> + Clone + '_ {
        (0..self.len()).map(|at| self.get(at).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_of_one_type_and_status_have_neighbouring_codes() {
        let words = fields(SpanColumn::Word).count();
        let position = |key| fields(SpanColumn::Word).position(|field| field.key == key).expect("a word");
        let combination = |name, node_type, status| {
            let mut words: Box<[u32]> = vec![WordsBuilder::MISSING; words].into();
            for (key, word) in [("name", name), ("type", node_type), ("status", status)] {
                words[position(key)] = word;
            }
            words
        };
        let met = [(0, 1, 0), (1, 0, 1), (2, 1, 1), (3, 0, 0), (4, 1, 0), (0, 0, 1)];
        let met = met.map(|(name, node_type, status)| combination(name, node_type, status));
        let (in_file, codes) = sorted(met.to_vec());
        let expected = [(3, 0, 0), (0, 0, 1), (1, 0, 1), (0, 1, 0), (4, 1, 0), (2, 1, 1)];
        assert_eq!(in_file, expected.map(|(name, node_type, status)| combination(name, node_type, status)));
        for (words, code) in met.iter().zip(codes) {
            assert_eq!(in_file[usize::try_from(code).expect("a code")], *words);
        }
    }
}
