//! The text index of a segment: finds the rows with a text that contains a pattern.
//!
//! An index is one byte buffer, mapped from a cache file or held in memory, with the layout of
//! [`crate::index`]. [`TextIndexBuilder`] derives it from the texts of a segment; it is rebuilt if it is
//! missing or damaged.
//!
//! The index stores tokens, each with its rows and [channels](Channel), but not the texts. The result is
//! exact for a pattern within one token. For any other pattern it is a superset: the rows that have all of
//! its tokens in one channel. See `docs/reference/indexes.md#text-index`.

mod build;
mod dictionary;
mod layout;
mod merge;
mod pieces;
mod postings;
mod rare_tokens;
mod rows;
mod run;
mod seen_texts;
mod token_blocks;
mod tokens;
mod uuids;
mod write;

use arrow_buffer::{Buffer, ScalarBuffer};

pub use build::TextIndexBuilder;

use crate::bitmap::RowSet;
use crate::index::layout::{SectionKind, Sections};
use crate::trace::view::Channel;
use dictionary::TokenDictionary;
use layout::{FREQUENT_COLUMN, PRESENT_COLUMN, RARE_COLUMN, TEXT, UUID_COLUMN};
use pieces::Pieces;
use postings::{CHANNELS, channel_bits};
use rare_tokens::RareTokens;
use rows::{ChannelRows, union};
use uuids::Uuids;

/// The result of a search for a pattern.
#[derive(Debug, Clone)]
pub struct PatternRows {
    /// Rows that certainly have a text with the pattern.
    pub certain: RowSet,
    /// A superset of the matching rows: the certain ones, and those that need a document check.
    pub possible: RowSet,
}

/// An open text index. Before [`TextIndex::is_sound`] has returned `true`, only [`TextIndex::rows`] and
/// [`TextIndex::bytes`] may be called.
#[derive(Debug)]
pub struct TextIndex {
    sections: Sections,
    frequent: TokenDictionary,
    rare: RareTokens,
    uuids: Uuids,
    /// For each channel, a bitmap of the rows that have a text.
    present: ScalarBuffer<u64>,
}

impl TextIndex {
    /// Opens the index that was built for `identity`. Reads only its section table.
    ///
    /// Returns `None` if the index is incomplete, of another format or built for another identity.
    pub fn open(content: Buffer, identity: &str) -> Option<Self> {
        let sections = Sections::open(TEXT, content, identity)?;
        let present: ScalarBuffer<u64> = sections.plain(PRESENT_COLUMN, SectionKind::FrequentBits)?;
        let is_whole = present.len() == (sections.rows() as usize).div_ceil(64) * CHANNELS;
        is_whole.then_some(Self {
            frequent: TokenDictionary::open(&sections, FREQUENT_COLUMN)?,
            rare: RareTokens::open(&sections, RARE_COLUMN)?,
            uuids: Uuids::open(&sections, UUID_COLUMN)?,
            present,
            sections,
        })
    }

    /// Returns `true` if a file that ends with `end` can probably be opened for `identity`. Only the end is
    /// checked.
    pub fn may_end_with(end: &[u8], identity: &str) -> bool {
        Sections::may_end_with(TEXT, end, identity)
    }

    /// Returns `true` if the index matches its checksums. Reads the whole index.
    pub fn is_sound(&self) -> bool {
        let columns = [FREQUENT_COLUMN, RARE_COLUMN, UUID_COLUMN, PRESENT_COLUMN];
        self.sections.are_sound(columns.into_iter().fold(0, |all, column| all | 1 << column))
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u32 {
        self.sections.rows()
    }

    /// Returns the size of the index in bytes.
    pub fn bytes(&self) -> u64 {
        self.sections.bytes()
    }

    /// Returns the bytes of the index file.
    pub fn content(&self) -> &[u8] {
        self.sections.content()
    }

    /// Returns the rows that have a text in a channel.
    pub fn present(&self, channel: Channel) -> RowSet {
        RowSet::of_words(self.present_in(channel_bits(channel)))
    }

    /// Returns the rows that contain a pattern in one text of a channel. `None` if the search was cancelled.
    pub fn find(
        &self,
        pattern: &str,
        channel: Channel,
        ignore_case: bool,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Option<PatternRows> {
        let Pieces { pieces, is_exact } = Pieces::of(pattern, ignore_case);
        if pieces.is_empty() {
            return Some(PatternRows { certain: RowSet::NONE, possible: self.present(channel) });
        }
        // Several pieces must be in one text, and therefore in one channel.
        let bits = channel_bits(channel);
        let each = (0..CHANNELS).map(|index| 1 << index).filter(|bit| bits & bit != 0);
        let channels = if pieces.len() == 1 { vec![bits] } else { each.collect() };
        let mut sets: Vec<ChannelRows> =
            channels.into_iter().map(|bits| ChannelRows::new(bits, self.present_in(bits))).collect();
        for (index, piece) in pieces.iter().enumerate() {
            if index > 0 {
                sets = sets.into_iter().map(ChannelRows::narrowed).collect();
            }
            self.add_rows(piece, &mut sets, is_cancelled)?;
        }
        let sets: Vec<Vec<u64>> = sets.into_iter().map(ChannelRows::into_words).collect();
        let possible = RowSet::of_words(union(sets.iter().map(Vec::as_slice), self.words()));
        let certain = if is_exact { possible.clone() } else { RowSet::NONE };
        Some(PatternRows { certain, possible })
    }

    /// Adds the rows that have a token with `piece` to `sets`. `None` if the search was cancelled.
    fn add_rows(
        &self,
        piece: &[u8],
        sets: &mut [ChannelRows],
        is_cancelled: &dyn Fn() -> bool,
    ) -> Option<()> {
        self.frequent.for_each_list(piece, is_cancelled, &mut |list| {
            for set in &mut *sets {
                set.add(list);
            }
            !sets.iter_mut().all(ChannelRows::is_full)
        })?;
        self.rare.add_rows(piece, sets, is_cancelled)?;
        self.uuids.add_rows(piece, sets, is_cancelled)
    }

    /// Returns a bitmap of the rows that have a text in some channels.
    fn present_in(&self, channels: u8) -> Vec<u64> {
        let words = self.words();
        let each = self.present.chunks_exact(words.max(1)).enumerate();
        union(each.filter(|(index, _)| channels >> index & 1 == 1).map(|(_, bitmap)| bitmap), words)
    }

    /// Returns the number of words of a bitmap of the rows.
    fn words(&self) -> usize {
        (self.rows() as usize).div_ceil(64)
    }
}
