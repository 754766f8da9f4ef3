//! Builds a text index.

use std::collections::VecDeque;
use std::io;

use super::postings::{CHANNELS, channel_bits};
use super::run::{PackedRun, Run, merge};
use super::tokens::for_each_token;
use super::write::TextIndexWriter;
use crate::text::{find_in_searched, fold_all};
use crate::trace::view::Channel;

/// A run is packed when it takes more bytes: about 10,000 traces of 5 KB.
const RUN_BYTES: usize = 8 << 20;
/// A text is compared with so many texts before it in its row and channel.
const RECENT_TEXTS: usize = 4;

/// Builds the text index of a segment from the texts of its rows.
///
/// What is added is kept packed, in about a tenth of its size, until the index is finished, which takes as much again.
#[derive(Debug)]
pub struct TextIndexBuilder {
    run_bytes: usize,
    row: u32,
    /// For each channel, the rows that have a text.
    present: [Vec<u64>; CHANNELS],
    /// For each channel, the last texts of the row.
    recent: [VecDeque<String>; CHANNELS],
    run: Run,
    packed: Vec<PackedRun>,
    folded: String,
}

impl TextIndexBuilder {
    /// Returns a builder without texts.
    pub fn new() -> Self {
        Self::with_run_bytes(RUN_BYTES)
    }

    /// Returns a builder that packs what it has whenever that takes more than `run_bytes` bytes.
    pub fn with_run_bytes(run_bytes: usize) -> Self {
        Self {
            run_bytes,
            row: 0,
            present: Default::default(),
            recent: Default::default(),
            run: Run::default(),
            packed: Vec::new(),
            folded: String::new(),
        }
    }

    /// Returns about how many bytes of memory it takes.
    pub fn bytes(&self) -> u64 {
        let recent: usize = self.recent.iter().flatten().map(String::capacity).sum();
        (self.run.bytes() + self.packed.iter().map(PackedRun::bytes).sum::<usize>() + recent) as u64
    }

    /// Adds a text of a row. [`Channel::Any`] stands for a text of every channel.
    ///
    /// # Panics
    /// If texts of a later row were added before.
    pub fn add(&mut self, row: u32, channel: Channel, text: &str) {
        assert!(row >= self.row, "row {row} after row {}", self.row);
        if row > self.row {
            self.recent.iter_mut().for_each(VecDeque::clear);
            self.row = row;
            // Between rows, so that no list has a row twice.
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
        let recent = &mut self.recent[channel];
        let known = recent.iter().map(|before| shared_length(before, text)).max().unwrap_or_default();
        if known == text.len() {
            return;
        }
        let (run, folded) = (&mut self.run, &mut self.folded);
        let _nothing_ends_it: Option<()> = find_in_searched(&text[known..], |part| {
            fold_all(part, folded);
            for_each_token(folded, |token| run.add(row, 1 << channel, &folded.as_bytes()[token.range]));
            None
        });
        let mut own =
            if recent.len() == RECENT_TEXTS { recent.pop_front() } else { None }.unwrap_or_default();
        own.clear();
        own.push_str(text);
        recent.push_back(own);
    }

    /// Packs what was added. Nothing more is to be added of its last row.
    pub fn pack(&mut self) {
        self.packed.push(std::mem::take(&mut self.run).pack());
    }

    /// Appends what was added to another builder.
    ///
    /// # Panics
    /// If a row of it is not after all rows here.
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
        self.recent = later.recent;
        self.run = later.run;
    }

    /// Writes the index of a segment of `rows` rows, for `identity`.
    ///
    /// # Errors
    /// If `out` fails, or a text was added to a row that is not less than `rows`.
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

/// Returns how much of the beginning of `text` need not be searched, for `before` begins alike: all of it, or up to a
/// byte that belongs to no token, no escape and no run of data, so that what is searched on either side is the same as
/// in the whole.
fn shared_length(before: &str, text: &str) -> usize {
    const CHUNK: usize = 64;
    if before == text {
        return text.len();
    }
    let (one, other) = (before.as_bytes(), text.as_bytes());
    let equal_chunks = one.chunks(CHUNK).zip(other.chunks(CHUNK)).take_while(|(one, other)| one == other);
    let start = (equal_chunks.count() * CHUNK).min(one.len()).min(other.len());
    let equal = one[start..].iter().zip(&other[start..]).take_while(|(one, other)| one == other).count();
    let is_apart =
        |byte: &u8| byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"_-+/=\"\\".contains(byte);
    other[..start + equal].iter().rposition(is_apart).map_or(0, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::shared_length;

    #[test]
    fn a_shared_beginning_ends_where_nothing_goes_on() {
        for (before, text, expected) in [
            ("", "", 0),
            ("a b", "a b", 3),
            ("a b", "a bc", 2),
            ("a (b", "a (c", 3),
            (r"a \n", r"a \nx", 2),
            ("a/b=c", "a/b=d", 0),
            ("née.", "née.x", 5),
            ("中é", "中è", 0),
        ] {
            assert_eq!(shared_length(before, text), expected, "{before} and {text}");
        }
        let (long, longer) = (format!("{} x", "a".repeat(200)), format!("{} y", "a".repeat(200)));
        assert_eq!(shared_length(&long, &longer), 201);
    }
}
