//! Bitmaps of rows.

use std::ops::Range;

use arrow_buffer::BooleanBuffer;

/// Bitmap words per block of the rank directory.
const BLOCK_WORDS: usize = 64;

/// A bitmap of rows with a rank directory.
#[derive(Debug, Clone)]
pub struct Bits {
    pub(super) words: Vec<u64>,
    /// The number of rows before each block, and finally the total.
    before: Vec<u32>,
}

impl Bits {
    /// Returns the rows whose bits are set.
    pub fn new(words: Vec<u64>) -> Self {
        let mut before = Vec::with_capacity(words.len() / BLOCK_WORDS + 2);
        let mut sum = 0;
        before.push(0);
        for block in words.chunks(BLOCK_WORDS) {
            sum += block.iter().map(|word| word.count_ones()).sum::<u32>();
            before.push(sum);
        }
        Self { words, before }
    }

    /// Returns the rows that are set in a mask.
    pub fn of_mask(mask: &BooleanBuffer) -> Self {
        Self::new(mask.bit_chunks().iter_padded().take(mask.len().div_ceil(64)).collect())
    }

    /// Returns the bitmap, 64 rows per word.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    pub(super) fn count(&self) -> usize {
        self.before.last().copied().unwrap_or_default() as usize
    }

    pub(super) fn contains(&self, row: u32) -> bool {
        self.words.get(row as usize / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    pub(super) fn rank(&self, row: u32) -> usize {
        let word = (row as usize / 64).min(self.words.len());
        let block = word / BLOCK_WORDS;
        let whole = self.words[block * BLOCK_WORDS..word].iter().map(|word| word.count_ones()).sum::<u32>();
        let rest = self.words.get(word).map_or(0, |bits| (bits & ((1 << (row % 64)) - 1)).count_ones());
        (self.before[block] + whole + rest) as usize
    }

    #[allow(clippy::cast_possible_truncation, reason = "row numbers have 32 bits")]
    pub(super) fn select(&self, rank: usize) -> Option<u32> {
        let block = self.before.partition_point(|before| *before as usize <= rank).checked_sub(1)?;
        let mut left = rank - self.before[block] as usize;
        for (index, word) in self.words.iter().enumerate().skip(block * BLOCK_WORDS) {
            let ones = word.count_ones() as usize;
            if left < ones {
                let cleared = (0..left).fold(*word, |word, _| word & (word - 1));
                return Some((index * 64) as u32 + cleared.trailing_zeros());
            }
            left -= ones;
        }
        None
    }

    pub(super) fn from(&self, row: u32) -> impl Iterator<Item = u32> {
        let first = row as usize / 64;
        let words = (first..).zip(self.words.iter().skip(first).copied());
        words.flat_map(move |(index, word)| {
            let kept = if index == first { word & (u64::MAX << (row % 64)) } else { word };
            ones(index, kept)
        })
    }
}

/// Returns the rows whose bits are set in the word at index `index`.
#[allow(clippy::cast_possible_truncation, reason = "row numbers have 32 bits")]
pub fn ones(index: usize, word: u64) -> impl Iterator<Item = u32> {
    let rest = std::iter::successors(Some(word), |word| Some(word & word.wrapping_sub(1)));
    rest.take_while(|word| *word != 0).map(move |word| (index * 64) as u32 + word.trailing_zeros())
}

/// Sets the bits of a range.
pub fn fill(words: &mut [u64], range: Range<usize>) {
    let mut index = range.start;
    while index < range.end {
        let end = (index / 64 * 64 + 64).min(range.end);
        let ones = u64::MAX >> (64 - (end - index));
        words[index / 64] |= ones << (index % 64);
        index = end;
    }
}

/// Sets the bits of ascending rows. The bits of one word are combined first, because an immediate second
/// write to a word in memory waits for the first one.
pub(super) fn set_all(words: &mut [u64], rows: &[u32]) {
    for rows in rows.chunk_by(|one, other| one / 64 == other / 64) {
        words[rows[0] as usize / 64] |= rows.iter().fold(0, |word, row| word | 1 << (row % 64));
    }
}

/// Returns `true` if the bit at `index` is set.
pub fn is_set(words: &[u64], index: usize) -> bool {
    words[index / 64] >> (index % 64) & 1 == 1
}

/// Sets the bit at `index`. Returns `true` if it was clear before.
pub fn set(words: &mut [u64], index: usize) -> bool {
    let is_new = !is_set(words, index);
    words[index / 64] |= 1 << (index % 64);
    is_new
}

/// Returns the number of rows that two bitmaps have in common.
pub fn count_common(one: &[u64], other: &[u64]) -> u32 {
    one.iter().zip(other).map(|(one, other)| (one & other).count_ones()).sum()
}
