//! The text index of a segment: which rows have texts that contain a pattern.
//!
//! An index is one run of bytes, laid out as [`crate::index`] is, mapped from a cache file or held in memory. It is
//! derived data: [`TextIndexBuilder`] writes it from the texts of a segment, and again if it is missing or damaged. Texts
//! themselves are not in it, but their tokens, each with its rows and [channels](Channel). A pattern that lies within one
//! token is answered exactly; any other one by the rows that have all of its tokens in one channel, of which some do not
//! contain it. See `docs/reference/indexes.md#text-index`.

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

use crate::index::RowSet;
use crate::index::layout::{SectionKind, Sections};
use crate::trace::view::Channel;
use dictionary::TokenDictionary;
use layout::{FREQUENT_COLUMN, PRESENT_COLUMN, RARE_COLUMN, TEXT, UUID_COLUMN};
use pieces::Pieces;
use postings::{CHANNELS, channel_bits};
use rare_tokens::RareTokens;
use rows::{ChannelRows, union};
use uuids::Uuids;

/// The rows that a search for a pattern leaves.
#[derive(Debug, Clone)]
pub struct PatternRows {
    /// Rows that have a text with the pattern.
    pub certain: RowSet,
    /// All rows that can have one: the certain ones, and those whose documents must be looked at.
    pub possible: RowSet,
}

/// An open text index. Only [`TextIndex::rows`] and [`TextIndex::bytes`] may be asked before [`TextIndex::is_sound`] has
/// returned `true`.
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
    /// Opens the index that was built for `identity`; `None` if it is incomplete, has another format, or was built for
    /// something else. Only its section table is read.
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

    /// Whether a file that ends with `end` can be opened for `identity`, as far as its end says.
    pub fn may_end_with(end: &[u8], identity: &str) -> bool {
        Sections::may_end_with(TEXT, end, identity)
    }

    /// Whether the index matches its checksums. All of it is read once.
    pub fn is_sound(&self) -> bool {
        let columns = [FREQUENT_COLUMN, RARE_COLUMN, UUID_COLUMN, PRESENT_COLUMN];
        self.sections.are_sound(columns.into_iter().fold(0, |all, column| all | 1 << column))
    }

    /// Returns how many rows there are.
    pub fn rows(&self) -> u32 {
        self.sections.rows()
    }

    /// Returns the size of the index in bytes.
    pub fn bytes(&self) -> u64 {
        self.sections.bytes()
    }

    /// Returns the index as it was built.
    pub fn content(&self) -> &[u8] {
        self.sections.content()
    }

    /// Returns the rows that have a text in a channel.
    pub fn present(&self, channel: Channel) -> RowSet {
        RowSet::of_words(self.present_in(channel_bits(channel)))
    }

    /// Returns the rows that contain a pattern in one text of a channel, as far as the index knows. `None` if the search
    /// was cancelled.
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
        // Several pieces must be in one text, so in one channel.
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

    /// Returns the length of a bitmap of the rows.
    fn words(&self) -> usize {
        (self.rows() as usize).div_ceil(64)
    }
}
