//! Rows that are found, as bitmaps.

use crate::index::{Bits, RowSet, ones};

/// A set with fewer rows than one in so many is a list.
const ROWS_PER_LISTED_ROW: u64 = 64;

/// Those of some rows that have something in one of some channels.
#[derive(Debug)]
pub(super) struct ChannelRows {
    channels: u8,
    /// The rows that are asked for and not found yet.
    missing: Vec<u64>,
    count_missing: u64,
    found: Vec<u64>,
}

impl ChannelRows {
    /// Returns an empty set, to which only rows of `wanted` are added.
    pub(super) fn new(channels: u8, wanted: Vec<u64>) -> Self {
        Self { channels, count_missing: count(&wanted), found: vec![0; wanted.len()], missing: wanted }
    }

    /// Adds a row that has something in `channels`, if it is wanted.
    pub(super) fn add(&mut self, row: u32, channels: u8) {
        // Without branches, which nobody could predict.
        let (word, bit) = (row as usize / 64, row % 64);
        let is_new = u64::from(channels & self.channels != 0) & (self.missing[word] >> bit);
        self.missing[word] ^= is_new << bit;
        self.found[word] |= is_new << bit;
        self.count_missing -= is_new;
    }

    /// Whether the set has all wanted rows.
    pub(super) fn is_full(&self) -> bool {
        self.count_missing == 0
    }

    /// Returns an empty set, to which only rows of this one are added.
    pub(super) fn narrowed(self) -> Self {
        Self::new(self.channels, self.found)
    }

    /// Returns the rows as a bitmap.
    pub(super) fn words(&self) -> &[u64] {
        &self.found
    }
}

fn count(words: &[u64]) -> u64 {
    words.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// Returns the union of bitmaps of `words` words.
pub(super) fn union<'a>(bitmaps: impl Iterator<Item = &'a [u64]>, words: usize) -> Vec<u64> {
    let mut all = vec![0; words];
    for bitmap in bitmaps {
        all.iter_mut().zip(bitmap).for_each(|(own, other)| *own |= other);
    }
    all
}

/// Returns the rows whose bits are set.
pub(super) fn row_set(words: Vec<u64>) -> RowSet {
    if count(&words) * ROWS_PER_LISTED_ROW > words.len() as u64 * 64 {
        return RowSet::Bits(Bits::new(words));
    }
    let rows: Vec<u32> = words.iter().enumerate().flat_map(|(index, word)| ones(index, *word)).collect();
    RowSet::List(rows.into())
}
