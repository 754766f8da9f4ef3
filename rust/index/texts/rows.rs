//! Matching rows of a search, as bitmaps.

use fearless_simd::{Level, dispatch};

use super::postings::{Posting, StoredList};

/// The matching rows of a search in some channels, restricted to the wanted rows.
#[derive(Debug)]
pub(super) struct ChannelRows {
    level: Level,
    channels: u8,
    wanted: Vec<u64>,
    /// The matching rows, wanted or not.
    matching: Vec<u64>,
    /// The number of leading words in which no wanted row is missing.
    full_words: usize,
}

impl ChannelRows {
    /// Returns an empty set that is restricted to `wanted`.
    pub(super) fn new(channels: u8, wanted: Vec<u64>) -> Self {
        Self { level: Level::new(), channels, matching: vec![0; wanted.len()], wanted, full_words: 0 }
    }

    /// Adds the wanted rows of a list.
    pub(super) fn add(&mut self, list: StoredList<'_>) {
        dispatch!(self.level, _simd => list.mark_rows(self.channels, &mut self.matching));
    }

    /// Adds the row of a posting if it is in one of the channels.
    pub(super) fn add_posting(&mut self, (row, channels): Posting) {
        self.matching[row as usize / 64] |= u64::from(channels & self.channels != 0) << (row % 64);
    }

    /// Returns `true` if a wanted row from `first` up to `end` (or the last row) is missing.
    pub(super) fn lacks_any(&self, first: u32, end: Option<u32>) -> bool {
        let (begin, rows) = (first as usize / 64, self.wanted.len() * 64);
        let end = end.map_or(rows, |end| rows.min(end as usize));
        let words = self.wanted.iter().zip(&self.matching).enumerate().take(end.div_ceil(64)).skip(begin);
        words.into_iter().any(|(word, (wanted, matching))| {
            let from = if word == begin { u64::MAX << (first % 64) } else { u64::MAX };
            let to = u64::MAX >> (64 - (end - word * 64).min(64));
            wanted & !matching & from & to != 0
        })
    }

    /// Returns `true` if the set has all wanted rows.
    pub(super) fn is_full(&mut self) -> bool {
        let words = self.wanted.iter().zip(&self.matching).skip(self.full_words);
        self.full_words += words.take_while(|(wanted, matching)| *wanted & !*matching == 0).count();
        self.full_words == self.wanted.len()
    }

    /// Returns an empty set that is restricted to the rows of this one.
    pub(super) fn narrowed(self) -> Self {
        Self::new(self.channels, self.into_words())
    }

    /// Returns the rows as a bitmap.
    pub(super) fn into_words(mut self) -> Vec<u64> {
        self.matching.iter_mut().zip(&self.wanted).for_each(|(matching, wanted)| *matching &= wanted);
        self.matching
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_wanted_row_is_lacked_until_it_is_added(
            wanted in prop::collection::vec(prop_oneof![Just(0), any::<u64>(), (0..64_u32).prop_map(|bit| 1_u64 << bit)], 1..4),
            added in prop::collection::vec((0..192_u32, 1..8_u8), 0..60),
            (first, length) in (0..192_u32, 1..200_u32),
            channels in 1..8_u8,
        ) {
            let rows = u32::try_from(wanted.len()).expect("few") * 64;
            let (first, end) = (first % rows, first % rows + length);
            let mut set = ChannelRows::new(channels, wanted.clone());
            let added: Vec<Posting> = added.into_iter().filter(|(row, _)| *row < rows).collect();
            for posting in &added {
                set.add_posting(*posting);
            }
            let is_wanted = |row: u32| wanted[row as usize / 64] >> (row % 64) & 1 == 1;
            let is_added = |row: u32| added.iter().any(|(other, own)| *other == row && own & channels != 0);
            let lacks = |row: u32| is_wanted(row) && !is_added(row);
            prop_assert_eq!(set.lacks_any(first, Some(end)), (first..end.min(rows)).any(lacks));
            prop_assert_eq!(set.lacks_any(first, None), (first..rows).any(lacks));
            prop_assert_eq!(set.is_full(), !(0..rows).any(lacks));
        }
    }
}
