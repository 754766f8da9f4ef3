//! Rows that are found, as bitmaps.

use fearless_simd::{Level, dispatch};

use super::postings::StoredList;

/// Those of some rows that have something in one of some channels.
#[derive(Debug)]
pub(super) struct ChannelRows {
    level: Level,
    channels: u8,
    wanted: Vec<u64>,
    /// The rows that were found, wanted or not.
    found: Vec<u64>,
    /// How many words, from the first on, lack no wanted row.
    full_words: usize,
}

impl ChannelRows {
    /// Returns an empty set of some rows.
    pub(super) fn new(channels: u8, wanted: Vec<u64>) -> Self {
        Self { level: Level::new(), channels, found: vec![0; wanted.len()], wanted, full_words: 0 }
    }

    /// Adds the rows of a list, as far as they are wanted.
    pub(super) fn add(&mut self, list: StoredList<'_>) {
        dispatch!(self.level, _simd => list.mark_rows(self.channels, &mut self.found));
    }

    /// Whether the set has all wanted rows.
    pub(super) fn is_full(&mut self) -> bool {
        let words = self.wanted.iter().zip(&self.found).skip(self.full_words);
        self.full_words += words.take_while(|(wanted, found)| *wanted & !*found == 0).count();
        self.full_words == self.wanted.len()
    }

    /// Returns an empty set, to which only rows of this one are added.
    pub(super) fn narrowed(self) -> Self {
        Self::new(self.channels, self.into_words())
    }

    /// Returns the rows as a bitmap.
    pub(super) fn into_words(mut self) -> Vec<u64> {
        self.found.iter_mut().zip(&self.wanted).for_each(|(found, wanted)| *found &= wanted);
        self.found
    }
}

/// Returns the union of bitmaps of `words` words.
pub(super) fn union<'a>(bitmaps: impl Iterator<Item = &'a [u64]>, words: usize) -> Vec<u64> {
    let mut all = vec![0; words];
    for bitmap in bitmaps {
        all.iter_mut().zip(bitmap).for_each(|(own, other)| *own |= other);
    }
    all
}
