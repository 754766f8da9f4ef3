//! A set of places among those of a block, as a bitmap.

use std::ops::Range;

/// Places of spans, of which the block that they belong to has a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceSet {
    places: Range<usize>,
    /// The first word is that of the first place of the block.
    words: Vec<u64>,
}

impl PlaceSet {
    /// Returns the empty set of a block with these places.
    pub fn none(places: Range<usize>) -> Self {
        let words = vec![0; places.end.div_ceil(64) - places.start / 64];
        Self { places, words }
    }

    /// Returns the set of all places of a block.
    pub fn all(places: Range<usize>) -> Self {
        let mut set = Self::none(places.clone());
        set.fill(places);
        set
    }

    /// Returns the set of these words, of which the first is that of the first place.
    pub fn of_words(places: Range<usize>, words: Vec<u64>) -> Self {
        let mut set = Self { places, words };
        set.words.resize(set.places.end.div_ceil(64) - set.places.start / 64, 0);
        set
    }

    /// Returns the places of the block, in the set or not.
    pub fn places(&self) -> Range<usize> {
        self.places.clone()
    }

    /// Returns the bitmap, of which the first word is that of the first place.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns the bitmap, for [`crate::index::PackedInts::mark_between`].
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Adds a place of the block.
    pub fn insert(&mut self, place: usize) {
        self.words[place / 64 - self.places.start / 64] |= 1 << (place % 64);
    }

    /// Adds a range of places of the block.
    pub fn fill(&mut self, places: Range<usize>) {
        let first = self.places.start / 64;
        for (word, mask) in masks(places) {
            self.words[word - first] |= mask;
        }
    }

    /// Whether a place of the block is in the set.
    pub fn contains(&self, place: usize) -> bool {
        self.words[place / 64 - self.places.start / 64] >> (place % 64) & 1 == 1
    }

    /// Whether no place is in the set.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Whether the set has any of a range of places of the block.
    pub fn has_any(&self, places: Range<usize>) -> bool {
        if places.is_empty() {
            return false;
        }
        // Most ranges are those of a trace of a few spans, within one word or two.
        let base = self.places.start / 64;
        let (first, last) = (places.start / 64 - base, (places.end - 1) / 64 - base);
        let (low, high) = (u64::MAX << (places.start % 64), u64::MAX >> (63 - (places.end - 1) % 64));
        if first == last {
            return self.words[first] & low & high != 0;
        }
        (self.words[first] & low) | (self.words[last] & high) != 0
            || self.words[first + 1..last].iter().any(|word| *word != 0)
    }

    /// Returns how many of a range of places of the block are in the set.
    pub fn count(&self, places: Range<usize>) -> u64 {
        self.words_of(places).map(|(_, word)| u64::from(word.count_ones())).sum()
    }

    /// Returns those of a range of places of the block that are in the set, ascending.
    pub fn iter(&self, places: Range<usize>) -> PlacesInSet<'_> {
        let base = self.places.start / 64;
        if places.is_empty() {
            return PlacesInSet { words: &[], word: 0, first: 0, high: u64::MAX };
        }
        let (first, last) = (places.start / 64, (places.end - 1) / 64);
        let high = u64::MAX >> (63 - (places.end - 1) % 64);
        let words = &self.words[first - base + 1..=last - base];
        let low = self.words[first - base] & u64::MAX << (places.start % 64);
        PlacesInSet { words, word: if first == last { low & high } else { low }, first: first * 64, high }
    }

    /// Returns the last of a range of places of the block that is in the set.
    pub fn last(&self, places: Range<usize>) -> Option<usize> {
        let base = self.places.start / 64;
        let (mut end, start) = (places.end, places.start);
        while start < end {
            let word = (end - 1) / 64;
            let left = self.words[word - base] & u64::MAX >> (63 - (end - 1) % 64);
            if left != 0 {
                let place = word * 64 + 63 - left.leading_zeros() as usize;
                return (place >= start).then_some(place);
            }
            end = word * 64;
        }
        None
    }

    /// Keeps the places that are in `other`, a set of the same block, too.
    pub fn intersect(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(own, other)| *own &= other);
    }

    /// Adds the places of `other`, a set of the same block.
    pub fn unite(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(own, other)| *own |= other);
    }

    /// Removes the places of `other`, a set of the same block.
    pub fn subtract(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(own, other)| *own &= !other);
    }

    /// Returns the number of each word of a range, with the bits of that range.
    fn words_of(&self, places: Range<usize>) -> impl Iterator<Item = (usize, u64)> + '_ {
        let first = self.places.start / 64;
        masks(places).map(move |(index, mask)| (index, self.words[index - first] & mask))
    }
}

/// The places of a range that are in a set, ascending.
#[derive(Debug, Clone)]
pub struct PlacesInSet<'s> {
    /// The words after the one at hand.
    words: &'s [u64],
    /// What is left of the word at hand.
    word: u64,
    /// The place of its first bit.
    first: usize,
    /// The bits of the last word that belong to the range.
    high: u64,
}

impl Iterator for PlacesInSet<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.word == 0 {
            let (next, rest) = self.words.split_first()?;
            self.word = if rest.is_empty() { next & self.high } else { *next };
            self.words = rest;
            self.first += 64;
        }
        let place = self.first + self.word.trailing_zeros() as usize;
        self.word &= self.word - 1;
        Some(place)
    }
}

/// Returns the number of each word that has bits of a range, with a mask of them.
fn masks(places: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
    let Range { start, end } = places;
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
            places in range(), fills in prop::collection::vec(range(), 0..4), asked in range(),
        ) {
            let within = |range: &Range<usize>| {
                let clamp = |place: usize| place.clamp(places.start, places.end);
                clamp(range.start)..clamp(range.end)
            };
            let (mut set, mut expected) = (PlaceSet::none(places.clone()), BTreeSet::new());
            for fill in &fills {
                set.fill(within(fill));
                expected.extend(within(fill));
            }
            let asked = within(&asked);
            let found: Vec<usize> = set.iter(asked.clone()).collect();
            let among: Vec<usize> = asked.clone().filter(|place| expected.contains(place)).collect();
            prop_assert_eq!(&found, &among);
            prop_assert_eq!(set.count(asked.clone()), among.len() as u64);
            prop_assert_eq!(set.last(asked.clone()), among.last().copied());
            prop_assert_eq!(set.has_any(asked), !among.is_empty());
            prop_assert_eq!(set.is_empty(), expected.is_empty());
            let mut rest = PlaceSet::all(places.clone());
            rest.subtract(&set);
            prop_assert_eq!(rest.iter(places.clone()).count(), places.len() - expected.len());
            rest.intersect(&set);
            prop_assert!(rest.is_empty());
            rest.unite(&set);
            prop_assert_eq!(rest, set);
        }
    }
}
