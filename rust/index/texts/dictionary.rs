//! Sorted tokens, each with its posting list.

use std::io;
use std::ops::Range;

use arrow_buffer::{Buffer, ScalarBuffer};
use fearless_simd::Level;
use memchr::memmem::Finder;

use super::postings::{StoredList, index_of, push_number, take_number};
use super::token_blocks::{BLOCK_TOKENS, TokenBlocks, TokenBlocksWriter};
use crate::bitmap::ones;
use crate::index::layout::{SectionKind, SectionWriter, Sections};

/// The number of blocks between two cancellation checks of a search.
pub(super) const BLOCKS_PER_CHECK: usize = 512;

/// Writes a dictionary. Tokens are pushed in ascending order.
#[derive(Debug, Default)]
pub(super) struct DictionaryWriter {
    tokens: TokenBlocksWriter,
    /// For each block: the number of lists, their lengths, and the lists. The lengths let a search skip lists
    /// without reading them.
    lists: Vec<u8>,
    list_starts: Vec<u64>,
    /// The last block, which is not in `lists` yet.
    last_count: u8,
    last_lengths: Vec<u8>,
    last_lists: Vec<u8>,
}

impl DictionaryWriter {
    /// Appends a token with its posting list.
    pub(super) fn push(&mut self, token: &[u8], list: &[u8]) {
        if self.tokens.push(token) {
            self.end_block();
            self.list_starts.push(self.lists.len() as u64);
        }
        self.last_count += 1;
        push_number(&mut self.last_lengths, list.len() as u64);
        self.last_lists.extend_from_slice(list);
    }

    fn end_block(&mut self) {
        if self.last_count > 0 {
            self.lists.push(std::mem::take(&mut self.last_count));
        }
        self.lists.append(&mut self.last_lengths);
        self.lists.append(&mut self.last_lists);
    }

    /// Writes the dictionary as a column.
    pub(super) fn write(mut self, column: usize, sections: &mut SectionWriter<'_>) -> io::Result<()> {
        self.end_block();
        self.list_starts.push(self.lists.len() as u64);
        self.tokens.write(column, sections)?;
        sections.plain(column, SectionKind::Order, self.lists)?;
        sections.plain(column, SectionKind::Starts, self.list_starts)
    }
}

/// A dictionary of an open index.
#[derive(Debug)]
pub(super) struct TokenDictionary {
    tokens: TokenBlocks,
    lists: Buffer,
    list_starts: ScalarBuffer<u64>,
}

impl TokenDictionary {
    pub(super) fn open(sections: &Sections, column: usize) -> Option<Self> {
        let dictionary = Self {
            tokens: TokenBlocks::open(sections, column)?,
            lists: sections.buffer(column, SectionKind::Order)?,
            list_starts: sections.plain(column, SectionKind::Starts)?,
        };
        (dictionary.list_starts.len() == dictionary.tokens.count() + 1).then_some(dictionary)
    }

    /// Calls `visit` with the list of each token that contains `piece`, until it returns `false`. A zero byte
    /// at the start or the end of the piece matches the same end of the token.
    ///
    /// Returns `None` if the search was cancelled.
    pub(super) fn for_each_list(
        &self,
        piece: &[u8],
        is_cancelled: &dyn Fn() -> bool,
        visit: &mut impl FnMut(StoredList<'_>) -> bool,
    ) -> Option<()> {
        let (level, finder) = (Level::new(), Finder::new(piece));
        let candidates = self.tokens.candidates(piece, self.blocks_that_begin(piece));
        let blocks = candidates.iter().enumerate().flat_map(|(index, word)| ones(index, *word));
        for (looked_at, block) in blocks.enumerate() {
            if looked_at.is_multiple_of(BLOCKS_PER_CHECK) && is_cancelled() {
                return None;
            }
            let tokens = self.tokens.tokens_with(&finder, block as usize, level);
            if !self.visit_lists(block as usize, tokens, visit) {
                break;
            }
        }
        Some(())
    }

    /// Returns the tokens in ascending order, each with its list.
    pub(super) fn lists(&self) -> impl Iterator<Item = (&[u8], StoredList<'_>)> {
        let lists = (0..self.tokens.count()).flat_map(|block| self.lists_of(block));
        self.tokens.tokens().map(|(_, token)| token).zip(lists)
    }

    /// Returns the blocks that can have a token with the prefix in `piece`. These are all blocks unless the
    /// piece begins with a zero byte.
    fn blocks_that_begin(&self, piece: &[u8]) -> Range<usize> {
        let Some((0, beginning)) = piece.split_first() else { return 0..self.tokens.count() };
        // The zero byte after a token is less than any byte of a token, so these bytes have the order of
        // tokens.
        let first = |token: &[u8]| token[..beginning.len().min(token.len())].cmp(beginning);
        let before = self.tokens.partition_point(|token| first(token).is_lt());
        let end = self.tokens.partition_point(|token| first(token).is_le());
        before.saturating_sub(1)..end
    }

    /// Visits the lists of some tokens of a block. Returns `false` if `visit` ended the search.
    fn visit_lists(&self, block: usize, tokens: u64, visit: &mut impl FnMut(StoredList<'_>) -> bool) -> bool {
        let lists = (tokens != 0).then(|| self.lists_of(block)).into_iter().flatten();
        lists.zip(0..).filter(|(_, token)| tokens >> token & 1 == 1).all(|(list, _)| visit(list))
    }

    /// Returns the lists of the tokens of a block.
    fn lists_of(&self, block: usize) -> impl Iterator<Item = StoredList<'_>> {
        let bytes = &self.lists[index_of(self.list_starts[block])..index_of(self.list_starts[block + 1])];
        let (count, mut rest) = bytes.split_first().map_or((0, bytes), |(count, rest)| (*count, rest));
        let mut lengths = [0; BLOCK_TOKENS];
        let count = BLOCK_TOKENS.min(usize::from(count));
        lengths[..count].fill_with(|| index_of(take_number(&mut rest)));
        lengths.into_iter().take(count).map(move |length| {
            let (list, after) = rest.split_at(length);
            rest = after;
            StoredList::new(list)
        })
    }
}
