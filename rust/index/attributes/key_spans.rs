//! The span ordinals that have a key, dense (a bitmap) or sparse (a list).

use std::ops::Range;

use arrow_buffer::{ArrowNativeType as _, Buffer, ScalarBuffer};

use crate::bitmap::ones;

/// Dense if at least one span in this many has the key; a list would be as large.
const SPANS_PER_ENTRY: usize = 32;
/// The number of bitmap words per stored rank.
const WORDS_PER_RANK: usize = 64;

/// The span ordinals of one key.
#[derive(Debug)]
pub(super) enum KeySpans {
    /// Dense: a bit for each span, and the number of set bits before each run of words.
    Bits { words: ScalarBuffer<u64>, ranks: ScalarBuffer<u32> },
    /// Sparse: the ordinals, ascending.
    List(ScalarBuffer<u32>),
}

/// Writes `entries`, ascending ordinals out of `spans` spans.
pub(super) fn write(entries: impl ExactSizeIterator<Item = u32>, spans: usize, out: &mut Vec<u8>) {
    if !are_bits(entries.len(), spans) {
        entries.for_each(|ordinal| out.extend_from_slice(&ordinal.to_le_bytes()));
        return;
    }
    let mut words = vec![0_u64; spans.div_ceil(64)];
    entries.for_each(|ordinal| words[ordinal as usize / 64] |= 1 << (ordinal % 64));
    out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    let mut before = 0_u32;
    for run in words.chunks(WORDS_PER_RANK) {
        out.extend_from_slice(&before.to_le_bytes());
        before += run.iter().map(|word| word.count_ones()).sum::<u32>();
    }
}

fn are_bits(entries: usize, spans: usize) -> bool {
    entries * SPANS_PER_ENTRY >= spans
}

impl KeySpans {
    /// Opens the output of [`write`], which may be followed by other bytes; `None` if it is truncated.
    pub(super) fn open(content: &Buffer, entries: usize, spans: usize) -> Option<Self> {
        let part = |start: usize, bytes: usize| {
            (start + bytes <= content.len()).then(|| content.slice_with_length(start, bytes))
        };
        if !are_bits(entries, spans) {
            return Some(Self::List(part(0, entries * size_of::<u32>())?.into()));
        }
        let words = spans.div_ceil(64);
        let bits = words * size_of::<u64>();
        let ranks = words.div_ceil(WORDS_PER_RANK) * size_of::<u32>();
        Some(Self::Bits { words: part(0, bits)?.into(), ranks: part(bits, ranks)?.into() })
    }

    /// Returns the ordinals, ascending.
    pub(super) fn iter(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        match self {
            Self::List(list) => Box::new(list.iter().copied()),
            Self::Bits { words, .. } => {
                Box::new(words.iter().enumerate().flat_map(|(index, word)| ones(index, *word)))
            }
        }
    }

    /// Returns the bits of a range of ordinals and the number of entries before it. The first word has the
    /// bit of the range's start.
    pub(super) fn bits(&self, range: Range<usize>) -> (Vec<u64>, usize) {
        let first = range.start / 64;
        let mut bits = vec![0; range.end.div_ceil(64) - first];
        match self {
            Self::List(list) => {
                let before = list.partition_point(|ordinal| ordinal.as_usize() < range.start);
                let own = list[before..].iter().map(|ordinal| ordinal.as_usize());
                own.take_while(|ordinal| *ordinal < range.end)
                    .for_each(|ordinal| bits[ordinal / 64 - first] |= 1 << (ordinal % 64));
                (bits, before)
            }
            Self::Bits { words, ranks } => {
                let last = first + bits.len();
                bits.copy_from_slice(&words[first..last]);
                let run = first / WORDS_PER_RANK;
                let mut before = ranks.get(run).map_or(0, |rank| rank.as_usize());
                before += words[run * WORDS_PER_RANK..first].iter().copied().map(count).sum::<usize>();
                if let Some(word) = bits.first_mut() {
                    let below = (1 << (range.start % 64)) - 1;
                    before += count(*word & below);
                    *word &= !below;
                }
                if let Some(word) = bits.last_mut().filter(|_| !range.end.is_multiple_of(64)) {
                    *word &= (1 << (range.end % 64)) - 1;
                }
                (bits, before)
            }
        }
    }
}

fn count(word: u64) -> usize {
    word.count_ones() as usize
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ordinals_are_read_as_they_were_written(
            spans in 1..20_000_u32, seeds in prop::collection::vec(any::<u32>(), 0..900), repeats in 1..40_u32,
            range in any::<[u32; 2]>(), padding in prop::collection::vec(any::<u8>(), 0..9),
        ) {
            let near = seeds.iter().flat_map(|seed| (0..repeats).map(move |at| seed.wrapping_add(at)));
            let entries: BTreeSet<u32> = near.map(|ordinal| ordinal % spans).collect();
            let mut out = Vec::new();
            write(entries.iter().copied(), spans as usize, &mut out);
            let open = |content: &[u8]| {
                // As in a file, the content is aligned to eight bytes.
                let aligned = Buffer::from_vec(vec![0_u64; content.len() / 8 + 1]).into_mutable().map(|mut buffer| {
                    buffer.as_slice_mut()[..content.len()].copy_from_slice(content);
                    buffer.into()
                });
                let buffer: Buffer = aligned.expect("its only owner");
                KeySpans::open(&buffer.slice_with_length(0, content.len()), entries.len(), spans as usize)
            };
            if let Some((_, shorter)) = out.split_last() {
                prop_assert!(open(shorter).is_none());
            }
            out.extend_from_slice(&padding);
            let is_dense = are_bits(entries.len(), spans as usize);
            let ordinals = open(&out).expect("whole");
            prop_assert_eq!(matches!(ordinals, KeySpans::Bits { .. }), is_dense);
            let [one, other] = range.map(|ordinal| (ordinal % (spans + 1)) as usize);
            let range = one.min(other)..one.max(other);
            let (bits, before) = ordinals.bits(range.clone());
            let within = |ordinal: &&u32| range.contains(&(**ordinal as usize));
            let mut expected = vec![0_u64; range.end.div_ceil(64) - range.start / 64];
            for ordinal in entries.iter().filter(within) {
                expected[*ordinal as usize / 64 - range.start / 64] |= 1 << (ordinal % 64);
            }
            prop_assert_eq!(bits, expected);
            prop_assert_eq!(before, entries.iter().filter(|ordinal| (**ordinal as usize) < range.start).count());
        }
    }
}
