//! Sorted tokens, each with its list of postings, and signatures that tell where a piece of a token can be.
//!
//! Tokens lie between zero bytes, which no token has, so that a piece that begins or ends a token can be looked for
//! with the zero byte. Each [`BLOCK_TOKENS`] of them are a block. The signature of a block has a bit for each trigram of
//! its bytes. Signatures are stored transposed: for each bit, a bitmap of the blocks that have it.

use std::io;
use std::ops::Range;

use arrow_buffer::{Buffer, ScalarBuffer};
use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch};
use memchr::memchr;
use memchr::memmem::Finder;

use super::postings::{StoredList, place, push_number, take_number};
use crate::index::layout::{SectionKind, SectionWriter, Sections};
use crate::index::{fill, ones};
use crate::text::chunk_at;

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

impl Default for DictionaryWriter {
    fn default() -> Self {
        Self {
            tokens: vec![0],
            token_starts: Vec::new(),
            lists: Vec::new(),
            list_starts: Vec::new(),
            signatures: Vec::new(),
            count: 0,
        }
    }
}

impl DictionaryWriter {
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
        visit: &mut impl FnMut(StoredList<'_>) -> bool,
    ) -> Option<()> {
        let (level, finder) = (Level::new(), Finder::new(piece));
        let candidates = self.candidates(piece);
        let blocks = candidates.iter().enumerate().flat_map(|(index, word)| ones(index, *word));
        for (looked_at, block) in blocks.enumerate() {
            if looked_at.is_multiple_of(BLOCKS_PER_CHECK) && is_cancelled() {
                return None;
            }
            let tokens = self.tokens_with(&finder, block as usize, level);
            if !self.visit_lists(block as usize, tokens, visit) {
                break;
            }
        }
        Some(())
    }

    /// Returns the tokens in ascending order, each with its list.
    pub(super) fn lists(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        // After the zero byte before the first one.
        let (mut tokens, mut lists) = (self.tokens.get(1..).unwrap_or_default(), self.lists.as_slice());
        std::iter::from_fn(move || {
            let length = memchr(0, tokens)?;
            let token = &tokens[..length];
            tokens = &tokens[length + 1..];
            Some((token, take_list(&mut lists).bytes()))
        })
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

    /// Returns a bit for each token of a block: whether it contains the piece.
    fn tokens_with(&self, finder: &Finder<'_>, block: usize, level: Level) -> u64 {
        let tokens = &self.tokens[place(self.token_starts[block])..];
        // The zero byte after the last token belongs to it.
        let length = place(self.token_starts[block + 1] - self.token_starts[block]) + 1;
        // Blocks without the piece are passed over soonest.
        if finder.find(&tokens[..length]).is_none() {
            return 0;
        }
        dispatch!(level, simd => tokens_with(simd, finder.needle(), (tokens, length)))
    }

    /// Visits the lists of some tokens of a block; whether `visit` wants more.
    fn visit_lists(&self, block: usize, tokens: u64, visit: &mut impl FnMut(StoredList<'_>) -> bool) -> bool {
        let mut lists = &self.lists[place(self.list_starts[block])..];
        let (mut left, mut passed) = (tokens, 0);
        while left != 0 {
            let token = left.trailing_zeros();
            for _ in passed..token {
                take_list(&mut lists);
            }
            if !visit(take_list(&mut lists)) {
                return false;
            }
            passed = token + 1;
            left &= left - 1;
        }
        true
    }
}

/// Returns a bit for each of the tokens in the first `length` bytes that contains `piece`. They begin with the zero byte before
/// the first token, and end with that after the last one.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled once for each kind of processor, inside its caller")]
fn tokens_with<S: Simd>(simd: S, piece: &[u8], (tokens, length): (&[u8], usize)) -> u64 {
    let (Some(first), Some(last)) = (piece.first(), piece.last()) else { return 0 };
    let Some(last_start) = length.checked_sub(piece.len()) else { return 0 };
    let begins = u32::from(*first == 0);
    let (mut found, mut zeros) = (0, 0);
    for chunk in (0..=last_start).step_by(CHUNK) {
        let bytes = chunk_at(simd, tokens, chunk);
        let is_zero = bytes.simd_eq(0).to_bitmask();
        let mut starts = bytes.simd_eq(*first).to_bitmask()
            & chunk_at(simd, tokens, chunk + piece.len() - 1).simd_eq(*last).to_bitmask()
            & u64::MAX >> (CHUNK - 1 - (last_start - chunk).min(CHUNK - 1));
        while starts != 0 {
            let start = starts.trailing_zeros();
            starts &= starts - 1;
            if piece.len() <= 2 || tokens[chunk + start as usize..].starts_with(piece) {
                // Every token is after a zero byte, which the piece itself may begin with.
                let before = zeros + (is_zero & ((1 << start) - 1)).count_ones();
                found |= 1 << (before + begins - 1);
            }
        }
        zeros += is_zero.count_ones();
    }
    found
}

/// Bytes that are compared at once.
const CHUNK: usize = 64;

/// Takes a list from the beginning of `lists`.
fn take_list<'a>(lists: &mut &'a [u8]) -> StoredList<'a> {
    let length = place(take_number(lists));
    let (list, rest) = lists.split_at(length);
    *lists = rest;
    StoredList::new(list)
}
