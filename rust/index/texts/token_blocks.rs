//! Tokens in blocks, with signatures that tell which blocks can have a token with a piece.
//!
//! Tokens are separated by zero bytes, which no token has. A zero byte in a piece therefore matches the start
//! or the end of a token. [`BLOCK_TOKENS`] tokens are a block. The signature of a block has a bit for each
//! trigram of its bytes. Signatures are stored transposed: for each bit, a bitmap of the blocks that have it.

use std::io;
use std::ops::Range;

use arrow_buffer::{Buffer, ScalarBuffer};
use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch};
use memchr::memchr;
use memchr::memmem::Finder;

use super::postings::index_of;
use crate::bitmap::fill;
use crate::index::layout::{SectionKind, SectionWriter, Sections};
use crate::text::chunk_at;

/// The number of tokens of a block.
pub(super) const BLOCK_TOKENS: usize = 64;
/// The number of bits of a signature. A block of random ids of 16 characters sets half of them.
const SIGNATURE_BITS: usize = 1 << SIGNATURE_BITS_LOG;
const SIGNATURE_BITS_LOG: u32 = 11;
/// The maximum number of trigrams of a piece that are looked up. More would hardly exclude further blocks.
const MAX_TRIGRAMS: usize = 16;

/// Returns the bit of a trigram.
fn signature_bit(trigram: &[u8]) -> usize {
    let number = trigram.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
    // Fibonacci hashing: the upper bits depend on all bits of the number.
    (number.wrapping_mul(0x9E37_79B1) >> (u32::BITS - SIGNATURE_BITS_LOG)) as usize
}

/// Returns the token at the start of `bytes`, which ends at the first zero byte.
pub(super) fn until_zero(bytes: &[u8]) -> &[u8] {
    &bytes[..memchr(0, bytes).unwrap_or(bytes.len())]
}

#[derive(Debug)]
pub(super) struct TokenBlocksWriter {
    tokens: Vec<u8>,
    /// The offset of the zero byte before each block's first token, and of the zero byte after the last
    /// token.
    starts: Vec<u64>,
    /// For each 64 blocks and each bit of a signature, a word that tells which of these blocks have the bit.
    signatures: Vec<u64>,
    count: usize,
}

impl Default for TokenBlocksWriter {
    fn default() -> Self {
        Self { tokens: vec![0], starts: Vec::new(), signatures: Vec::new(), count: 0 }
    }
}

impl TokenBlocksWriter {
    /// Appends a token. Returns `true` if it begins a block.
    pub(super) fn push(&mut self, token: &[u8]) -> bool {
        let (block, begins) = (self.count / BLOCK_TOKENS, self.count.is_multiple_of(BLOCK_TOKENS));
        if begins {
            self.starts.push(self.tokens.len() as u64 - 1);
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
        begins
    }

    /// Writes the tokens as sections of a column.
    pub(super) fn write(mut self, column: usize, sections: &mut SectionWriter<'_>) -> io::Result<()> {
        self.starts.push(self.tokens.len() as u64 - 1);
        sections.plain(column, SectionKind::Values, self.tokens)?;
        sections.plain(column, SectionKind::Offsets, self.starts)?;
        let mut transposed: Vec<u64> = Vec::with_capacity(self.signatures.len());
        for bit in 0..SIGNATURE_BITS {
            transposed.extend(self.signatures.iter().skip(bit).step_by(SIGNATURE_BITS));
        }
        sections.plain(column, SectionKind::Signatures, transposed)
    }
}

/// The tokens of a column of an open index.
#[derive(Debug)]
pub(super) struct TokenBlocks {
    tokens: Buffer,
    starts: ScalarBuffer<u64>,
    signatures: ScalarBuffer<u64>,
    count: usize,
}

impl TokenBlocks {
    pub(super) fn open(sections: &Sections, column: usize) -> Option<Self> {
        let starts: ScalarBuffer<u64> = sections.plain(column, SectionKind::Offsets)?;
        let blocks = Self {
            tokens: sections.buffer(column, SectionKind::Values)?,
            signatures: sections.plain(column, SectionKind::Signatures)?,
            count: starts.len().checked_sub(1)?,
            starts,
        };
        (blocks.signatures.len() == blocks.count.div_ceil(64) * SIGNATURE_BITS).then_some(blocks)
    }

    /// Returns the number of blocks.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the tokens in their order, each with its offset.
    pub(super) fn tokens(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let end = self.tokens.len();
        // After the zero byte before the first token.
        let mut at = 1;
        std::iter::from_fn(move || {
            let token = (at < end).then(|| (at, self.token_at(at)))?;
            at += token.1.len() + 1;
            Some(token)
        })
    }

    /// Returns the token at an offset.
    pub(super) fn token_at(&self, offset: usize) -> &[u8] {
        until_zero(&self.tokens[offset..])
    }

    /// Returns the first block for which `is_before` is false. The predicate is monotonic and receives the
    /// bytes from the first token of a block on.
    pub(super) fn partition_point(&self, is_before: impl Fn(&[u8]) -> bool) -> usize {
        self.starts[..self.count].partition_point(|start| is_before(&self.tokens[index_of(*start) + 1..]))
    }

    /// Returns a bitmap of the blocks in a range that can have a token with `piece`. A zero byte at the start
    /// or the end of the piece matches the same end of the token.
    pub(super) fn candidates(&self, piece: &[u8], within: Range<usize>) -> Vec<u64> {
        let words = self.count.div_ceil(64);
        let mut candidates = vec![0; words];
        fill(&mut candidates, within);
        let trigrams = piece.windows(3);
        let step = trigrams.len().div_ceil(MAX_TRIGRAMS).max(1);
        for trigram in trigrams.step_by(step) {
            let bitmap = &self.signatures[signature_bit(trigram) * words..][..words];
            candidates.iter_mut().zip(bitmap).for_each(|(own, other)| *own &= other);
        }
        candidates
    }

    /// Returns a bit for each token of a block: whether it contains the piece.
    pub(super) fn tokens_with(&self, finder: &Finder<'_>, block: usize, level: Level) -> u64 {
        let tokens = &self.tokens[index_of(self.starts[block])..];
        // The zero byte after the last token belongs to it.
        let length = index_of(self.starts[block + 1] - self.starts[block]) + 1;
        // The substring search rejects blocks without the piece fastest.
        if finder.find(&tokens[..length]).is_none() {
            return 0;
        }
        dispatch!(level, simd => tokens_with(simd, finder.needle(), (tokens, length)))
    }
}

/// Returns a bit for each token in the first `length` bytes: whether it contains `piece`. The bytes begin
/// with the zero byte before the first token and end with the zero byte after the last one.
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
                // Every token follows a zero byte, which the piece may include.
                let before = zeros + (is_zero & ((1 << start) - 1)).count_ones();
                found |= 1 << (before + begins - 1);
            }
        }
        zeros += is_zero.count_ones();
    }
    found
}

/// The number of bytes that are compared at once.
const CHUNK: usize = 64;
