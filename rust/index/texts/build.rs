//! Builds a text index.

use std::io;

use super::postings::{CHANNELS, channel_bits};
use super::run::{PackedRun, Run, merge};
use super::seen_texts::SeenTexts;
use super::write::TextIndexWriter;
use crate::text::{fold_all, for_each_searched_word};
use crate::trace::view::Channel;

/// The size at which a run is packed, in bytes: about 10,000 traces of 5 KB.
const RUN_BYTES: usize = 8 << 20;

/// Builds the text index of a segment from the texts of its rows.
///
/// Tokens are kept packed, at about a tenth of the size of the texts. [`Self::finish`] takes as much memory
/// again.
#[derive(Debug)]
pub struct TextIndexBuilder {
    run_bytes: usize,
    row: u32,
    /// For each channel, a bitmap of the rows that have a text.
    present: [Vec<u64>; CHANNELS],
    /// For each channel, the texts of the current row.
    seen: [SeenTexts; CHANNELS],
    run: Run,
    packed: Vec<PackedRun>,
    folded: String,
}

impl TextIndexBuilder {
    /// Returns an empty builder.
    pub fn new() -> Self {
        Self::with_run_bytes(RUN_BYTES)
    }

    /// Returns an empty builder that packs a run as soon as it takes more than `run_bytes` bytes.
    pub fn with_run_bytes(run_bytes: usize) -> Self {
        Self {
            run_bytes,
            row: 0,
            present: Default::default(),
            seen: Default::default(),
            run: Run::default(),
            packed: Vec::new(),
            folded: String::new(),
        }
    }

    /// Returns the approximate memory use in bytes.
    pub fn bytes(&self) -> u64 {
        let seen: usize = self.seen.iter().map(SeenTexts::bytes).sum();
        (self.run.bytes() + self.packed.iter().map(PackedRun::bytes).sum::<usize>() + seen) as u64
    }

    /// Adds a text of a row. [`Channel::Any`] adds it to every channel.
    ///
    /// # Panics
    /// If a text of a later row was added before.
    pub fn add(&mut self, row: u32, channel: Channel, text: &str) {
        assert!(row >= self.row, "row {row} after row {}", self.row);
        if row > self.row {
            self.seen.iter_mut().for_each(SeenTexts::clear);
            self.row = row;
            // Packed only between rows, so that no list has a row twice.
            if self.run.bytes() > self.run_bytes {
                self.packed.push(std::mem::take(&mut self.run).pack());
            }
        }
        let bits = channel_bits(channel);
        for index in (0..CHANNELS).filter(|index| bits >> index & 1 == 1) {
            self.add_to(index, text);
        }
    }

    fn add_to(&mut self, channel: usize, text: &str) {
        let (row, present) = (self.row, &mut self.present[channel]);
        present.resize(row as usize / 64 + 1, 0);
        present[row as usize / 64] |= 1 << (row % 64);
        let known = self.seen[channel].add(text);
        if known == text.len() {
            return;
        }
        let (run, folded) = (&mut self.run, &mut self.folded);
        for_each_searched_word(&text[known..], |part| {
            fold_all(part, folded);
            run.add(row, 1 << channel, folded);
        });
    }

    /// Packs the current run. No more texts of its last row may be added.
    pub fn pack(&mut self) {
        self.packed.push(std::mem::take(&mut self.run).pack());
    }

    /// Appends the rows of another builder.
    ///
    /// # Panics
    /// If a row of `later` is not after all rows of this builder.
    pub fn append(&mut self, mut later: Self) {
        self.pack();
        let first = later.present.iter().filter_map(|present| first_row(present)).min();
        assert!(first.is_none_or(|first| first > self.row || self.present.iter().all(Vec::is_empty)));
        for (own, later) in self.present.iter_mut().zip(&later.present) {
            own.resize(own.len().max(later.len()), 0);
            own.iter_mut().zip(later).for_each(|(own, later)| *own |= later);
        }
        self.packed.append(&mut later.packed);
        self.row = self.row.max(later.row);
        self.seen = later.seen;
        self.run = later.run;
    }

    /// Writes the index of a segment with `rows` rows, for `identity`.
    ///
    /// # Errors
    /// An error of `out`, or an error if a text was added to a row beyond `rows`.
    pub fn finish(mut self, identity: &str, rows: u32, out: &mut dyn io::Write) -> io::Result<()> {
        let words = (rows as usize).div_ceil(64);
        let is_any = self.present.iter().any(|present| !present.is_empty());
        if is_any && self.row >= rows {
            let message = format!("row {} of a segment of {rows} rows", self.row);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        self.pack();
        let mut writer = TextIndexWriter::default();
        merge(&self.packed, &mut writer);
        drop(self.packed);
        self.present.iter_mut().for_each(|present| present.resize(words, 0));
        writer.finish(self.present.concat(), (identity, rows), out)
    }
}

impl Default for TextIndexBuilder {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the first row in a bitmap.
fn first_row(present: &[u64]) -> Option<u32> {
    let (at, word) = present.iter().enumerate().find(|(_, word)| **word != 0)?;
    Some(u32::try_from(at * 64).ok()? + word.trailing_zeros())
}
