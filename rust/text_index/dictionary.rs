//! Sorted tokens, each with its list of postings, and signatures that tell where a piece of a token can be.
//!
//! Tokens lie between zero bytes, which no token has, so that a piece that begins or ends a token can be looked for
//! with the zero byte. Each [`BLOCK_TOKENS`] of them are a block. The signature of a block has a bit for each trigram of
//! its bytes. Signatures are stored transposed: for each bit, a bitmap of the blocks that have it.

use std::io;
use std::ops::Range;

use arrow_buffer::{Buffer, ScalarBuffer};
use memchr::memmem::Finder;

use super::postings::{push_number, take_number};
use crate::index::layout::{SectionKind, SectionWriter, Sections};
use crate::index::{fill, ones};

/// How many tokens a block has.
const BLOCK_TOKENS: usize = 64;
/// How many bits the signature of a block has. Half of them are set in a block of random ids of 16 characters.
const SIGNATURE_BITS: usize = 1 << SIGNATURE_BITS_LOG;
const SIGNATURE_BITS_LOG: u32 = 11;
/// At most so many trigrams of a piece are looked up: they leave no block by chance.
const MAX_TRIGRAMS: usize = 16;
/// A search asks after so many blocks whether it is cancelled.
const BLOCKS_PER_CHECK: usize = 512;

/// Returns the bit of a trigram.
fn signature_bit(trigram: &[u8]) -> usize {
    let number = trigram.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
    // Fibonacci hashing: the upper bits depend on all bits of the number.
    (number.wrapping_mul(0x9E37_79B1) >> (u32::BITS - SIGNATURE_BITS_LOG)) as usize
}

/// A place in memory: what does not fit is outside of every file.
fn place(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Writes a dictionary. Tokens are pushed in ascending order.
#[derive(Debug)]
pub(super) struct DictionaryWriter {
    tokens: Vec<u8>,
    /// For each block, where the zero byte before its first token is; at last that after all tokens.
    token_starts: Vec<u64>,
    /// For each token, the length of its list and the list.
    lists: Vec<u8>,
    list_starts: Vec<u64>,
    /// For each 64 blocks and each bit of a signature, a word of which of these blocks have the bit.
    signatures: Vec<u64>,
    count: usize,
}

impl DictionaryWriter {
    pub(super) fn new() -> Self {
        Self {
            tokens: vec![0],
            token_starts: Vec::new(),
            lists: Vec::new(),
            list_starts: Vec::new(),
            signatures: Vec::new(),
            count: 0,
        }
    }

    /// Appends a token with its list of postings.
    pub(super) fn push(&mut self, token: &[u8], list: &[u8]) {
        let block = self.count / BLOCK_TOKENS;
        if self.count.is_multiple_of(BLOCK_TOKENS) {
            self.token_starts.push(self.tokens.len() as u64 - 1);
            self.list_starts.push(self.lists.len() as u64);
            if block.is_multiple_of(64) {
                self.signatures.resize(self.signatures.len() + SIGNATURE_BITS, 0);
            }
        }
        self.count += 1;
        let start = self.tokens.len() - 1;
        self.tokens.extend_from_slice(token);
        self.tokens.push(0);
        let words = &mut self.signatures[block / 64 * SIGNATURE_BITS..];
        for trigram in self.tokens[start..].windows(3) {
            words[signature_bit(trigram)] |= 1 << (block % 64);
        }
        push_number(&mut self.lists, list.len() as u64);
        self.lists.extend_from_slice(list);
    }

    /// Writes the dictionary as a column.
    pub(super) fn write(mut self, column: usize, sections: &mut SectionWriter<'_>) -> io::Result<()> {
        self.token_starts.push(self.tokens.len() as u64 - 1);
        self.list_starts.push(self.lists.len() as u64);
        sections.plain(column, SectionKind::Values, self.tokens)?;
        sections.plain(column, SectionKind::Offsets, self.token_starts)?;
        sections.plain(column, SectionKind::Order, self.lists)?;
        sections.plain(column, SectionKind::Starts, self.list_starts)?;
        let mut transposed: Vec<u64> = Vec::with_capacity(self.signatures.len());
        for bit in 0..SIGNATURE_BITS {
            transposed.extend(self.signatures.iter().skip(bit).step_by(SIGNATURE_BITS));
        }
        sections.plain(column, SectionKind::Signatures, transposed)
    }
}

/// A dictionary of an open index.
#[derive(Debug)]
pub(super) struct Dictionary {
    tokens: Buffer,
    token_starts: ScalarBuffer<u64>,
    lists: Buffer,
    list_starts: ScalarBuffer<u64>,
    signatures: ScalarBuffer<u64>,
    blocks: usize,
}

impl Dictionary {
    pub(super) fn open(sections: &Sections, column: usize) -> Option<Self> {
        let token_starts: ScalarBuffer<u64> = sections.plain(column, SectionKind::Offsets)?;
        let dictionary = Self {
            tokens: sections.buffer(column, SectionKind::Values)?,
            lists: sections.buffer(column, SectionKind::Order)?,
            list_starts: sections.plain(column, SectionKind::Starts)?,
            signatures: sections.plain(column, SectionKind::Signatures)?,
            blocks: token_starts.len().checked_sub(1)?,
            token_starts,
        };
        let is_whole = dictionary.list_starts.len() == dictionary.token_starts.len()
            && dictionary.signatures.len() == dictionary.blocks.div_ceil(64) * SIGNATURE_BITS;
        is_whole.then_some(dictionary)
    }

    /// Calls `visit` with the list of each token that contains `piece`, until it returns `false`. A zero byte at an
    /// end of the piece is an end of the token.
    ///
    /// Returns `None` if the search was cancelled.
    pub(super) fn for_each_list(
        &self,
        piece: &[u8],
        is_cancelled: &dyn Fn() -> bool,
        visit: &mut impl FnMut(&[u8]) -> bool,
    ) -> Option<()> {
        let finder = Finder::new(piece);
        let candidates = self.candidates(piece);
        let blocks = candidates.iter().enumerate().flat_map(|(index, word)| ones(index, *word));
        for (looked_at, block) in blocks.enumerate() {
            if looked_at.is_multiple_of(BLOCKS_PER_CHECK) && is_cancelled() {
                return None;
            }
            if !self.search_block(block as usize, &finder, visit) {
                break;
            }
        }
        Some(())
    }

    /// Returns a bitmap of the blocks that can have a token with `piece`.
    fn candidates(&self, piece: &[u8]) -> Vec<u64> {
        let words = self.blocks.div_ceil(64);
        let mut candidates = vec![0; words];
        fill(&mut candidates, self.blocks_that_begin(piece));
        let trigrams = piece.windows(3);
        let step = trigrams.len().div_ceil(MAX_TRIGRAMS).max(1);
        for trigram in trigrams.step_by(step) {
            let bitmap = &self.signatures[signature_bit(trigram) * words..][..words];
            candidates.iter_mut().zip(bitmap).for_each(|(own, other)| *own &= other);
        }
        candidates
    }

    /// Returns the blocks that can have a token that begins as `piece` does: all of them, unless it begins with a zero byte.
    fn blocks_that_begin(&self, piece: &[u8]) -> Range<usize> {
        let Some((0, beginning)) = piece.split_first() else { return 0..self.blocks };
        // The zero byte after a token is less than any byte of a token, so these bytes are in the order of tokens.
        let first = |start: &u64| {
            let token = &self.tokens[place(*start) + 1..];
            &token[..beginning.len().min(token.len())]
        };
        let starts = &self.token_starts[..self.blocks];
        let before = starts.partition_point(|start| first(start) < beginning);
        let end = starts.partition_point(|start| first(start) <= beginning);
        before.saturating_sub(1)..end
    }

    /// Visits the tokens of a block; whether `visit` wants more.
    fn search_block(&self, block: usize, finder: &Finder<'_>, visit: &mut impl FnMut(&[u8]) -> bool) -> bool {
        // The zero byte after the last token belongs to it.
        let tokens = &self.tokens[place(self.token_starts[block])..=place(self.token_starts[block + 1])];
        let mut lists = &self.lists[place(self.list_starts[block])..place(self.list_starts[block + 1])];
        let begins = usize::from(finder.needle().first() == Some(&0));
        let (mut from, mut counted) = (0, 0);
        while let Some(found) = finder.find(&tokens[from..]) {
            // A byte of the token: not the zero byte before it, which ends another one.
            let at = from + found + begins;
            for _ in memchr::memchr_iter(0, &tokens[counted..at]).skip(usize::from(counted == 0)) {
                take_list(&mut lists);
            }
            let token_end = at + memchr::memchr(0, &tokens[at..]).unwrap_or_default();
            if !visit(take_list(&mut lists)) {
                return false;
            }
            (from, counted) = (token_end, token_end + 1);
            if counted == tokens.len() {
                break;
            }
        }
        true
    }
}

/// Takes a list from the beginning of `lists`.
fn take_list<'a>(lists: &mut &'a [u8]) -> &'a [u8] {
    let length = place(take_number(lists));
    let (list, rest) = lists.split_at(length);
    *lists = rest;
    list
}
