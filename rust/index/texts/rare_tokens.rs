//! Tokens with one posting that are not UUIDs, in row order.
//!
//! This column is searched late, and only for rows without a match so far. For a word that nearly every row
//! has, that leaves the tokens of a few rows.

use std::io;

use arrow_buffer::{Buffer, ScalarBuffer};
use fearless_simd::Level;
use memchr::memmem::Finder;

use super::dictionary::BLOCKS_PER_CHECK;
use super::postings::{ANY, CHANNELS, Posting, index_of, push_number, take_number};
use super::rows::ChannelRows;
use super::token_blocks::{TokenBlocks, TokenBlocksWriter, until_zero};
use crate::bitmap::ones;
use crate::index::layout::{SectionKind, SectionWriter, Sections};

/// Writes tokens with one posting, which are pushed in ascending order.
#[derive(Debug, Default)]
pub(super) struct RareTokensWriter {
    /// The tokens, each followed by a zero byte.
    tokens: Vec<u8>,
    /// The start and the posting of each token.
    entries: Vec<(u64, Posting)>,
}

impl RareTokensWriter {
    pub(super) fn push(&mut self, token: &[u8], posting: Posting) {
        self.entries.push((self.tokens.len() as u64, posting));
        self.tokens.extend_from_slice(token);
        self.tokens.push(0);
    }

    /// Writes the tokens as a column, sorted by row and then by token.
    pub(super) fn write(mut self, column: usize, sections: &mut SectionWriter<'_>) -> io::Result<()> {
        self.entries.sort_unstable_by_key(|(start, (row, _))| (*row, *start));
        let (mut blocks, mut first_rows) = (TokenBlocksWriter::default(), Vec::new());
        let (mut postings, mut starts, mut first) = (Vec::new(), Vec::new(), 0);
        for (start, (row, channels)) in self.entries {
            if blocks.push(until_zero(&self.tokens[index_of(start)..])) {
                first = row;
                first_rows.push(first);
                starts.push(postings.len() as u64);
            }
            push_number(&mut postings, u64::from(row - first) << CHANNELS | u64::from(channels));
        }
        drop(self.tokens);
        starts.push(postings.len() as u64);
        blocks.write(column, sections)?;
        sections.plain(column, SectionKind::Zones, first_rows)?;
        sections.plain(column, SectionKind::Order, postings)?;
        sections.plain(column, SectionKind::Starts, starts)
    }
}

/// The tokens with one posting of an open index.
#[derive(Debug)]
pub(super) struct RareTokens {
    tokens: TokenBlocks,
    /// The row of the first token of each block.
    first_rows: ScalarBuffer<u32>,
    postings: Buffer,
    starts: ScalarBuffer<u64>,
}

impl RareTokens {
    pub(super) fn open(sections: &Sections, column: usize) -> Option<Self> {
        let rare = Self {
            tokens: TokenBlocks::open(sections, column)?,
            first_rows: sections.plain(column, SectionKind::Zones)?,
            postings: sections.buffer(column, SectionKind::Order)?,
            starts: sections.plain(column, SectionKind::Starts)?,
        };
        let blocks = rare.tokens.count();
        (rare.first_rows.len() == blocks && rare.starts.len() == blocks + 1).then_some(rare)
    }

    /// Adds the rows with a token that contains `piece` to sets that lack them. A zero byte at the start or
    /// the end of the piece matches the same end of the token. Returns `None` if the search was cancelled.
    pub(super) fn add_rows(
        &self,
        piece: &[u8],
        sets: &mut [ChannelRows],
        is_cancelled: &dyn Fn() -> bool,
    ) -> Option<()> {
        if sets.iter_mut().all(ChannelRows::is_full) {
            return Some(());
        }
        let (level, finder) = (Level::new(), Finder::new(piece));
        let candidates = self.tokens.candidates(piece, 0..self.tokens.count());
        let blocks = candidates.iter().enumerate().flat_map(|(index, word)| ones(index, *word));
        for (looked_at, block) in blocks.map(|block| block as usize).enumerate() {
            if looked_at.is_multiple_of(BLOCKS_PER_CHECK) && is_cancelled() {
                return None;
            }
            let first = self.first_rows[block];
            let end = self.first_rows.get(block + 1).map(|next| next.saturating_add(1));
            if sets.iter().all(|set| !set.lacks_any(first, end)) {
                continue;
            }
            let found = self.tokens.tokens_with(&finder, block, level);
            if found == 0 {
                continue;
            }
            let wanted = (0..).zip(self.postings_of(block)).filter(|(token, _)| found >> token & 1 == 1);
            for (_, posting) in wanted {
                for set in &mut *sets {
                    set.add_posting(posting);
                }
            }
        }
        Some(())
    }

    /// Returns the tokens in ascending order, each with its posting.
    pub(super) fn sorted(&self) -> impl Iterator<Item = (&[u8], Posting)> {
        let postings = (0..self.tokens.count()).flat_map(|block| self.postings_of(block));
        let with_starts = self.tokens.tokens().map(|(start, token)| (beginning(token), start));
        let mut sorted: Vec<(u64, usize, Posting)> = with_starts
            .zip(postings)
            .map(|((beginning, start), posting)| (beginning, start, posting))
            .collect();
        // Most tokens differ in their first bytes, which are compared without reading the file.
        let rest = |start| self.tokens.token_at(start);
        sorted.sort_unstable_by(|(one, at, _), (other, other_at, _)| {
            one.cmp(other).then_with(|| rest(*at).cmp(rest(*other_at)))
        });
        sorted.into_iter().map(move |(_, start, posting)| (rest(start), posting))
    }

    /// Returns the postings of the tokens of a block.
    #[allow(clippy::cast_possible_truncation, reason = "rows have 32 bits, channels three")]
    fn postings_of(&self, block: usize) -> impl Iterator<Item = Posting> {
        let mut rest = &self.postings[index_of(self.starts[block])..index_of(self.starts[block + 1])];
        let first = self.first_rows[block];
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let number = take_number(&mut rest);
            Some((first + (number >> CHANNELS) as u32, number as u8 & ANY))
        })
    }
}

/// Returns the first eight bytes of a token, padded with zeros, as a number with the same order.
fn beginning(token: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = token.len().min(bytes.len());
    bytes[..length].copy_from_slice(&token[..length]);
    u64::from_be_bytes(bytes)
}
