//! Merges the span tables of segments without reading documents.

use std::io;

use super::build::{SpanRow, SpanTableBuilder};
use super::table::SpanTable;
use super::words::Words;
use crate::index::{MergedOrdinals, MergedRows};
use crate::priority;

impl SpanTable {
    /// Writes the table of merged rows, byte for byte as their documents would give it. Returns `false` and
    /// writes nothing if an input has an unreadable document.
    ///
    /// # Errors
    /// As [`SpanTableBuilder::finish`].
    pub fn merge(
        tables: &[&Self],
        rows: &MergedRows<'_>,
        source: &str,
        out: &mut dyn io::Write,
    ) -> io::Result<bool> {
        if tables.iter().any(|table| !table.unreadable.is_empty()) {
            return Ok(false);
        }
        let mut merged = SpanTableBuilder::default();
        let combinations = |table: &&Self| vec![None; table.words.first().map_or(0, Words::combinations)];
        let mut codes: Vec<Vec<Option<u32>>> = tables.iter().map(combinations).collect();
        for (input, row) in rows.sources() {
            merged.copy(tables[input], row, &mut codes[input]);
            priority::yield_cpu();
        }
        merged.finish(source, out)?;
        Ok(true)
    }

    /// Returns the mapping of span ordinals from `tables` to the merged table; `None` if it has too many
    /// spans.
    pub fn merged_ordinals<'a>(tables: &[&'a Self], rows: &'a MergedRows<'a>) -> Option<MergedOrdinals<'a>> {
        MergedOrdinals::new(tables.iter().map(|table| table.firsts.as_ref()).collect(), rows)
    }
}

impl SpanTableBuilder {
    /// Adds a row of `table` as the next one. `codes` caches the new code of each combination of words of
    /// that table.
    fn copy(&mut self, table: &SpanTable, row: usize, codes: &mut [Option<u32>]) {
        for ordinal in table.firsts[row] as usize..table.firsts[row + 1] as usize {
            let combination = table.codes.code(ordinal) as usize;
            let code = codes[combination].unwrap_or_else(|| self.code_of(table, combination));
            codes[combination] = Some(code);
            let span = SpanRow {
                code,
                parent: table.parents.get(ordinal),
                subtree: table.subtrees.get(ordinal),
                start: table.starts.get(ordinal),
                end: table.ends.get(ordinal),
            };
            self.push_span(&span, table.numbers.iter().map(|numbers| numbers.get(ordinal)));
        }
        self.push_row(table.bases.signed(row), table.fractions[row / 64] >> (row % 64) & 1 == 1);
    }

    fn code_of(&mut self, table: &SpanTable, combination: usize) -> u32 {
        let word = |(field, words): (usize, &Words)| self.word(field, words.of_combination(combination));
        let words = table.words.iter().enumerate().map(word).collect();
        self.code(words)
    }
}
