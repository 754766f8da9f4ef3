//! Writes a text index.

use std::io;

use super::dictionary::DictionaryWriter;
use super::layout::{FREQUENT_COLUMN, PRESENT_COLUMN, RARE_COLUMN, TEXT};
use super::postings::PostingList;
use crate::index::layout::{SectionKind, SectionWriter};

/// Writes an index.
#[derive(Debug, Default)]
pub(super) struct TextIndexWriter {
    frequent: DictionaryWriter,
    rare: DictionaryWriter,
}

impl TextIndexWriter {
    /// Appends a token, in ascending order, with its postings.
    pub(super) fn push(&mut self, token: &[u8], list: &PostingList) {
        let dictionary = if list.postings() > 1 { &mut self.frequent } else { &mut self.rare };
        dictionary.push(token, list.bytes());
    }

    /// Writes the index, with a bitmap for each channel of the rows that have a text.
    pub(super) fn finish(
        self,
        present: Vec<u64>,
        (identity, rows): (&str, u32),
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
        let mut sections = SectionWriter::new(TEXT, out);
        self.frequent.write(FREQUENT_COLUMN, &mut sections)?;
        self.rare.write(RARE_COLUMN, &mut sections)?;
        sections.plain(PRESENT_COLUMN, SectionKind::FrequentBits, present)?;
        sections.finish(identity, rows)
    }
}
