//! Posting lists: the rows of a token, and its channels in each row.
//!
//! A posting is one variable-length number (LEB128): `(row - previous row) << 3 | channels`. A list is
//! strictly ascending by row.

use crate::trace::view::Channel;

/// A row, and the channels of the row that have the token.
pub(super) type Posting = (u32, u8);

/// The number of channels.
pub(super) const CHANNELS: usize = 3;
/// All channels.
pub(super) const ANY: u8 = 0b111;

/// Returns the bits of a channel.
pub(super) fn channel_bits(channel: Channel) -> u8 {
    match channel {
        Channel::Input => 0b001,
        Channel::Output => 0b010,
        Channel::Error => 0b100,
        Channel::Any => ANY,
    }
}

/// Converts a number to an offset in memory. A number that does not fit is outside every file.
pub(super) fn index_of(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Appends a variable-length number.
#[allow(clippy::cast_possible_truncation, reason = "seven bits")]
pub(super) fn push_number(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7F {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a variable-length number from the start of `bytes`, which must have one.
pub(super) fn take_number(bytes: &mut &[u8]) -> u64 {
    if let [number @ ..=0x7F, rest @ ..] = *bytes {
        *bytes = rest;
        return u64::from(*number);
    }
    let (mut number, mut shift) = (0, 0);
    for (index, byte) in bytes.iter().enumerate() {
        number |= u64::from(byte & 0x7F) << shift;
        if *byte <= 0x7F {
            *bytes = &bytes[index + 1..];
            return number;
        }
        shift += 7;
    }
    *bytes = &[];
    number
}

/// A posting list that is being written.
#[derive(Debug, Default)]
pub(super) struct PostingList {
    bytes: Vec<u8>,
    postings: usize,
    last_row: u32,
}

impl PostingList {
    /// Appends a posting. Its row must be greater than the last one.
    pub(super) fn push(&mut self, row: u32, channels: u8) {
        push_number(&mut self.bytes, u64::from(row - self.last_row) << CHANNELS | u64::from(channels));
        self.postings += 1;
        self.last_row = row;
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.postings = 0;
        self.last_row = 0;
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the posting if there is only one.
    pub(super) fn single(&self) -> Option<Posting> {
        if self.postings == 1 { Postings::new(&self.bytes).next() } else { None }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.postings == 0
    }
}

/// A posting list in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StoredList<'a>(&'a [u8]);

/// The highest bit of each of eight bytes. It is set if the number continues in the next byte.
const GOES_ON: u64 = 0x8080_8080_8080_8080;
/// The lowest bit of each of eight bytes.
const LOWEST: u64 = 0x0101_0101_0101_0101;

impl<'a> StoredList<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// Sets the bit of each row that has the token in one of some channels.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "it is compiled once for each kind of processor, inside its caller"
    )]
    pub(super) fn mark_rows(self, channels: u8, words: &mut [u64]) {
        let (mut rest, mut row) = (self.0, 0);
        while !rest.is_empty() {
            let eight = rest.first_chunk().map(|eight| u64::from_le_bytes(*eight));
            if let Some(taken) = eight.and_then(|eight| mark_some(eight, channels, &mut row, words)) {
                rest = &rest[taken..];
            } else {
                let number = take_number(&mut rest);
                row += number >> CHANNELS;
                mark(row, number & u64::from(channels) != 0, words);
            }
        }
    }
}

/// Sets the bits of the postings at the start of eight bytes, as many as are certainly complete.
///
/// No branch depends on the lengths of postings, because such branches are mispredicted. Returns the number
/// of bytes taken; `None` if a posting may have more than four bytes.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled once for each kind of processor, inside its caller")]
fn mark_some(eight: u64, channels: u8, row: &mut u64, words: &mut [u64]) -> Option<usize> {
    let goes_on = eight & GOES_ON;
    let twice = goes_on & goes_on >> 8;
    if goes_on == 0 && mark_near(eight, channels, row, words) {
        Some(8)
    } else if twice == 0 {
        Some(mark_each::<4>(eight, channels, row, words))
    } else if twice & twice >> 16 == 0 {
        Some(mark_each::<2>(eight, channels, row, words))
    } else {
        None
    }
}

/// Sets the bits of eight one-byte postings if their rows are less than 64 apart; otherwise returns `false`.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled once for each kind of processor, inside its caller")]
fn mark_near(eight: u64, channels: u8, row: &mut u64, words: &mut [u64]) -> bool {
    // The sum of each byte and all bytes before it, which is less than 256.
    let sums = (eight >> CHANNELS & (LOWEST * 0xF)).wrapping_mul(LOWEST);
    let all = sums >> 56;
    if all >= 64 {
        return false;
    }
    let in_channels = eight & (LOWEST * u64::from(channels));
    let is_marked = (in_channels | in_channels >> 1 | in_channels >> 2) & LOWEST;
    let bit = |shift: u32| (is_marked >> shift & 1) << (sums >> shift & 63);
    let bits = (0..64).step_by(8).fold(0, |bits, shift| bits | bit(shift));
    let (word, shift) = (index_of(*row / 64), *row % 64);
    words[word] |= bits << shift;
    // Two shifts, because a shift by 64 bits is an overflow.
    let rest = bits >> 1 >> (63 - shift);
    if rest != 0 {
        words[word + 1] |= rest;
    }
    *row += all;
    true
}

/// Sets the bits of the first `COUNT` postings, which end within the eight bytes and have at most four bytes
/// each. Returns the number of bytes taken.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled once for each kind of processor, inside its caller")]
fn mark_each<const COUNT: usize>(eight: u64, channels: u8, row: &mut u64, words: &mut [u64]) -> usize {
    const BITS: u64 = 0x7F;
    let (mut ends, mut start) = (!eight & GOES_ON, 0);
    for _ in 0..COUNT {
        let end = ends.trailing_zeros() + 1;
        ends &= ends - 1;
        let bytes = eight << (64 - end) >> (64 - end + start);
        // If there are four postings, each has at most two bytes.
        let upper = if COUNT == 4 { 0 } else { bytes >> 2 & BITS << 14 | bytes >> 3 & BITS << 21 };
        let number = bytes & BITS | bytes >> 1 & BITS << 7 | upper;
        *row += number >> CHANNELS;
        mark(*row, number & u64::from(channels) != 0, words);
        start = end;
    }
    start as usize / 8
}

/// Sets the bit of a row without a branch.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled once for each kind of processor, inside its caller")]
fn mark(row: u64, is_marked: bool, words: &mut [u64]) {
    words[index_of(row / 64)] |= u64::from(is_marked) << (row % 64);
}

/// Iterates over a list: each row with its channels.
pub(super) struct Postings<'a> {
    bytes: &'a [u8],
    row: u64,
}

impl<'a> Postings<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, row: 0 }
    }
}

impl Iterator for Postings<'_> {
    type Item = Posting;

    #[allow(clippy::cast_possible_truncation, reason = "rows have 32 bits, channels three")]
    fn next(&mut self) -> Option<(u32, u8)> {
        if self.bytes.is_empty() {
            return None;
        }
        let number = take_number(&mut self.bytes);
        self.row += number >> CHANNELS;
        Some((self.row as u32, number as u8 & ANY))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let postings = [(0, 1), (0, 2), (1, 7), (16, 4), (1_000, 3), (u32::MAX, 1)];
        let mut list = PostingList::default();
        list.push(3, 1);
        list.clear();
        for (row, channels) in postings {
            list.push(row, channels);
        }
        assert_eq!(Postings::new(list.bytes()).collect::<Vec<_>>(), postings);
        assert_eq!(list.single(), None);
    }

    proptest! {
        #[test]
        fn the_rows_of_a_list_are_marked(
            steps in prop::collection::vec((prop_oneof![0..4_u32, 0..40_u32, 0..5_000_u32, 0..4_000_000_u32], 1..=ANY), 0..60),
            channels in 1..=ANY,
        ) {
            let (mut list, mut row) = (PostingList::default(), 0);
            for (step, own) in steps {
                row += step;
                list.push(row, own);
            }
            let mut words = vec![0; row as usize / 64 + 1];
            StoredList::new(list.bytes()).mark_rows(channels, &mut words);
            let mut expected = vec![0; words.len()];
            for (row, own) in Postings::new(list.bytes()).filter(|(_, own)| own & channels != 0) {
                expected[row as usize / 64] |= 1_u64 << (row % 64);
                prop_assert!(own != 0);
            }
            prop_assert_eq!(words, expected);
        }
    }
}
