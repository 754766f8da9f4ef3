//! A set of span ordinals of one block, as a bitmap.

use std::ops::{Range, RangeInclusive};

use fearless_simd::{Level, dispatch};

use super::marks::SelectionMask;

/// A set of span ordinals. A block covers a range of ordinals; the set has one bit for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bitmap {
    ordinals: Range<usize>,
    /// The first word has the bit of the block's first ordinal.
    words: Vec<u64>,
}

impl Bitmap {
    /// Returns the empty set for a block with these ordinals.
    pub fn none(ordinals: Range<usize>) -> Self {
        let words = vec![0; ordinals.end.div_ceil(64) - ordinals.start / 64];
        Self { ordinals, words }
    }

    /// Returns the set of all ordinals of a block.
    pub fn all(ordinals: Range<usize>) -> Self {
        let mut set = Self::none(ordinals.clone());
        set.fill(ordinals);
        set
    }

    /// Returns the set with these words. The first word has the bit of the first ordinal.
    pub fn of_words(ordinals: Range<usize>, words: Vec<u64>) -> Self {
        let mut set = Self { ordinals, words };
        set.words.resize(set.ordinals.end.div_ceil(64) - set.ordinals.start / 64, 0);
        set
    }

    /// Returns the range of ordinals that the block covers, whether they are in the set or not.
    pub fn ordinals(&self) -> Range<usize> {
        self.ordinals.clone()
    }

    /// Returns the words of the bitmap. The first word has the bit of the block's first ordinal.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns the words of the bitmap, as [`Self::words`].
    pub fn into_words(self) -> Vec<u64> {
        self.words
    }

    /// Returns the subset of ordinals that `mark` marks.
    pub(crate) fn marked(&self, mark: impl FnOnce(SelectionMask<'_>)) -> Self {
        let mut found = Self::none(self.ordinals());
        mark(SelectionMask { range: self.ordinals(), selected: Some(&self.words), words: &mut found.words });
        found
    }

    /// Adds an ordinal of the block.
    #[inline]
    pub fn insert(&mut self, ordinal: usize) {
        self.words[ordinal / 64 - self.ordinals.start / 64] |= 1 << (ordinal % 64);
    }

    /// Adds the ordinals of the bits that are set in `words`. The lowest bit is that for `ordinal`; all
    /// ordinals belong to the block.
    pub fn insert_words(&mut self, ordinal: usize, words: &[u64]) {
        (ordinal..).step_by(64).zip(words).for_each(|(ordinal, word)| self.insert_word(ordinal, *word));
    }

    fn insert_word(&mut self, ordinal: usize, bits: u64) {
        let (word, shift) = (ordinal / 64 - self.ordinals.start / 64, ordinal % 64);
        self.words[word] |= bits << shift;
        // Two shifts, because a shift by 64 bits is an overflow.
        let rest = bits >> 1 >> (63 - shift);
        if rest != 0 {
            self.words[word + 1] |= rest;
        }
    }

    /// Removes an ordinal of the block.
    pub fn remove(&mut self, ordinal: usize) {
        self.words[ordinal / 64 - self.ordinals.start / 64] &= !(1 << (ordinal % 64));
    }

    /// Adds a range of ordinals of the block.
    pub fn fill(&mut self, ordinals: Range<usize>) {
        let first = self.ordinals.start / 64;
        for (word, mask) in masks(ordinals) {
            self.words[word - first] |= mask;
        }
    }

    /// Returns `true` if an ordinal of the block is in the set.
    #[inline]
    pub fn contains(&self, ordinal: usize) -> bool {
        self.words[ordinal / 64 - self.ordinals.start / 64] >> (ordinal % 64) & 1 == 1
    }

    /// Returns `true` if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Returns `true` if the set has an ordinal in a range of the block.
    #[inline]
    pub fn has_any(&self, ordinals: Range<usize>) -> bool {
        self.bits(&ordinals)
            .map_or_else(|| self.words_of(ordinals).any(|(_, word)| word != 0), |bits| bits != 0)
    }

    /// Returns the bits of a range of at most 64 ordinals of the block, the first one lowest. `None` if the
    /// range is longer.
    ///
    /// Most ranges belong to a trace with a few spans.
    #[inline]
    fn bits(&self, ordinals: &Range<usize>) -> Option<u64> {
        let (word, shift) = (ordinals.start / 64 - self.ordinals.start / 64, ordinals.start % 64);
        let unused = 64_usize.checked_sub(ordinals.len())?;
        if ordinals.is_empty() {
            return Some(0);
        }
        // Two shifts, because a shift by 64 bits is an overflow.
        let next = self.words.get(word + 1).map_or(0, |next| next << 1 << (63 - shift));
        Some((self.words[word] >> shift | next) << unused >> unused)
    }

    /// Returns the number of ordinals of a range that are in the set.
    pub fn count(&self, ordinals: Range<usize>) -> u64 {
        let of_words = |ordinals| self.words_of(ordinals).map(|(_, word)| u64::from(word.count_ones())).sum();
        self.bits(&ordinals).map_or_else(|| of_words(ordinals), |bits| u64::from(bits.count_ones()))
    }

    /// Returns one bit for each range between adjacent bounds: whether the number of its ordinals in the set
    /// is within `counts`.
    pub(crate) fn neighbours_with_counts(&self, bounds: &[u32], counts: &RangeInclusive<u64>) -> Vec<u64> {
        let narrow = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let counts = (narrow(*counts.start()), narrow(*counts.end()));
        dispatch!(Level::new(), _simd => self.mark_neighbours(bounds, counts))
    }

    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "it is compiled once for each kind of processor, inside its caller"
    )]
    #[allow(clippy::needless_bitwise_bool, reason = "branchless")]
    fn mark_neighbours(&self, bounds: &[u32], (least, most): (u32, u32)) -> Vec<u64> {
        let Some((first, bounds)) = bounds.split_first() else { return Vec::new() };
        // The number of bits before each word makes every count the difference of two ranks.
        let (mut before, mut sum) = (Vec::with_capacity(self.words.len() + 1), 0);
        for word in &self.words {
            before.push((sum, *word));
            sum += word.count_ones();
        }
        before.push((sum, 0));
        let start = self.ordinals.start / 64 * 64;
        let rank = |ordinal: u32| {
            let ordinal = ordinal as usize - start;
            let (before, word) = before[ordinal / 64];
            before + (word & ((1 << (ordinal % 64)) - 1)).count_ones()
        };
        let mut passed = rank(*first);
        let mut words = vec![0; bounds.len().div_ceil(64)];
        // Loops instead of iterator adapters: the closure of an adapter is compiled without the instructions
        // of this processor and counts bits one by one.
        for (word, bounds) in words.iter_mut().zip(bounds.chunks(64)) {
            for (bit, bound) in bounds.iter().enumerate() {
                let next = rank(*bound);
                let count = next - std::mem::replace(&mut passed, next);
                *word |= u64::from((least <= count) & (count <= most)) << bit;
            }
        }
        words
    }

    /// Returns the ordinals of a range that are in the set, ascending.
    #[inline]
    pub fn iter(&self, ordinals: Range<usize>) -> BitmapOrdinals<'_> {
        let base = self.ordinals.start / 64;
        if ordinals.is_empty() {
            return BitmapOrdinals { words: &[], word: 0, first: 0, high: u64::MAX };
        }
        let (first, last) = (ordinals.start / 64, (ordinals.end - 1) / 64);
        let high = u64::MAX >> (63 - (ordinals.end - 1) % 64);
        let words = &self.words[first - base + 1..=last - base];
        let low = self.words[first - base] & u64::MAX << (ordinals.start % 64);
        BitmapOrdinals { words, word: if first == last { low & high } else { low }, first: first * 64, high }
    }

    /// Returns the last ordinal of a range that is in the set.
    pub fn last(&self, ordinals: Range<usize>) -> Option<usize> {
        let base = self.ordinals.start / 64;
        let (mut end, start) = (ordinals.end, ordinals.start);
        while start < end {
            let word = (end - 1) / 64;
            let left = self.words[word - base] & u64::MAX >> (63 - (end - 1) % 64);
            if left != 0 {
                let ordinal = word * 64 + 63 - left.leading_zeros() as usize;
                return (ordinal >= start).then_some(ordinal);
            }
            end = word * 64;
        }
        None
    }

    /// Keeps only the ordinals that are also in `other`, a set of the same block.
    pub fn intersect(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(own, other)| *own &= other);
    }

    /// Adds the ordinals of `other`, a set of the same block.
    pub fn unite(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(own, other)| *own |= other);
    }

    /// Removes the ordinals of `other`, a set of the same block.
    pub fn subtract(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(own, other)| *own &= !other);
    }

    /// Returns the ordinals of the block that are not in the set.
    #[must_use]
    pub fn complement(&self) -> Self {
        Self::all(self.ordinals()).without(self)
    }

    /// Returns the ordinals that are not in `other`, a set of the same block.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let mut rest = self.clone();
        rest.subtract(other);
        rest
    }

    /// Returns the index of each word of a range, with only the bits of that range.
    fn words_of(&self, ordinals: Range<usize>) -> impl Iterator<Item = (usize, u64)> + '_ {
        let first = self.ordinals.start / 64;
        masks(ordinals).map(move |(index, mask)| (index, self.words[index - first] & mask))
    }
}

/// Iterates over the ordinals of a range that are in a set, ascending.
#[derive(Debug, Clone)]
pub struct BitmapOrdinals<'s> {
    /// The words after the current one.
    words: &'s [u64],
    /// The bits of the current word that are still to come.
    word: u64,
    /// The ordinal of the current word's first bit.
    first: usize,
    /// A mask of the bits of the last word that belong to the range.
    high: u64,
}

impl Iterator for BitmapOrdinals<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.word == 0 {
            let (next, rest) = self.words.split_first()?;
            self.word = if rest.is_empty() { next & self.high } else { *next };
            self.words = rest;
            self.first += 64;
        }
        let ordinal = self.first + self.word.trailing_zeros() as usize;
        self.word &= self.word - 1;
        Some(ordinal)
    }
}

/// Returns the index of each word that has bits of a range, with a mask of those bits.
fn masks(ordinals: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
    let Range { start, end } = ordinals;
    let words = if start < end { start / 64..end.div_ceil(64) } else { 0..0 };
    words.map(move |word| {
        let low = start.saturating_sub(word * 64);
        let high = (end - word * 64).min(64);
        (word, u64::MAX << low & u64::MAX >> (64 - high))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn range() -> impl Strategy<Value = Range<usize>> {
        (0..300_usize, 0..300_usize).prop_map(|(one, other)| one.min(other)..one.max(other))
    }

    proptest! {
        #[test]
        fn a_place_set_is_a_set(
            ordinals in range(), fills in prop::collection::vec(range(), 0..4), selected in range(),
            bounds in prop::collection::vec(0..300_usize, 0..200), counts in (0..5_u64).prop_flat_map(|least| least..=5).prop_flat_map(|most| (0..=most).prop_map(move |least| least..=most)),
        ) {
            let within = |range: &Range<usize>| {
                let clamp = |ordinal: usize| ordinal.clamp(ordinals.start, ordinals.end);
                clamp(range.start)..clamp(range.end)
            };
            let (mut set, mut expected) = (Bitmap::none(ordinals.clone()), BTreeSet::new());
            for fill in &fills {
                set.fill(within(fill));
                expected.extend(within(fill));
            }
            let selected = within(&selected);
            let found: Vec<usize> = set.iter(selected.clone()).collect();
            let among: Vec<usize> = selected.clone().filter(|ordinal| expected.contains(ordinal)).collect();
            prop_assert_eq!(&found, &among);
            prop_assert_eq!(set.count(selected.clone()), among.len() as u64);
            prop_assert_eq!(set.last(selected.clone()), among.last().copied());
            prop_assert_eq!(set.has_any(selected.clone()), !among.is_empty());
            prop_assert_eq!(set.is_empty(), expected.is_empty());
            if let Some(first) = selected.clone().next() {
                let bits = selected.clone().take(64).fold(0, |bits, ordinal| {
                    bits | u64::from(set.contains(ordinal)) << (ordinal - first)
                });
                let mut inserted = Bitmap::none(ordinals.clone());
                inserted.insert_words(first, &[bits]);
                prop_assert_eq!(inserted.iter(ordinals.clone()).collect::<Vec<_>>(), among.iter().copied()
                    .filter(|ordinal| *ordinal < first + 64).collect::<Vec<_>>());
            }
            let mut rest = Bitmap::all(ordinals.clone());
            rest.subtract(&set);
            prop_assert_eq!(rest.iter(ordinals.clone()).count(), ordinals.len() - expected.len());
            rest.intersect(&set);
            prop_assert!(rest.is_empty());
            rest.unite(&set);
            prop_assert_eq!(&rest, &set);
            let mut bounds: Vec<u32> = bounds.iter().map(|bound| (*bound).clamp(ordinals.start, ordinals.end)).map(|bound| u32::try_from(bound).expect("small")).collect();
            bounds.sort_unstable();
            let ranges: Vec<_> = bounds.windows(2).map(|pair| pair[0] as usize..pair[1] as usize).collect();
            let words = set.neighbours_with_counts(&bounds, &counts);
            prop_assert_eq!(words.len(), ranges.len().div_ceil(64));
            for (number, range) in ranges.into_iter().enumerate() {
                prop_assert_eq!(words[number / 64] >> (number % 64) & 1 == 1, counts.contains(&set.count(range)));
            }
        }
    }
}
