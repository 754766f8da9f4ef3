//! Writes a text index.

use std::io;

use super::dictionary::DictionaryWriter;
use super::layout::{FREQUENT_COLUMN, PRESENT_COLUMN, RARE_COLUMN, TEXT, UUID_COLUMN};
use super::postings::PostingList;
use super::rare_tokens::RareTokensWriter;
use super::uuids::{UuidsWriter, parse};
use crate::index::layout::{SectionKind, SectionWriter};

#[derive(Debug, Default)]
pub(super) struct TextIndexWriter {
    frequent: DictionaryWriter,
    rare: RareTokensWriter,
    uuids: UuidsWriter,
}

impl TextIndexWriter {
    /// Appends a token with its postings. Tokens must ascend.
    pub(super) fn push(&mut self, token: &[u8], list: &PostingList) {
        match (list.single(), parse(token)) {
            (None, _) => self.frequent.push(token, list.bytes()),
            (Some(posting), None) => self.rare.push(token, posting),
            (Some(posting), Some(uuid)) => self.uuids.push(uuid, posting),
        }
    }

    /// Writes the index. `present` has a bitmap for each channel of the rows that have a text.
    pub(super) fn finish(
        self,
        present: Vec<u64>,
        (identity, rows): (&str, u32),
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
        let mut sections = SectionWriter::new(TEXT, out);
        self.frequent.write(FREQUENT_COLUMN, &mut sections)?;
        self.rare.write(RARE_COLUMN, &mut sections)?;
        self.uuids.write(UUID_COLUMN, &mut sections)?;
        sections.plain(PRESENT_COLUMN, SectionKind::FrequentBits, present)?;
        sections.finish(identity, rows)
    }
}
