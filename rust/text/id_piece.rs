//! Finds 16-byte ids by a substring of their hexadecimal form.

use fearless_simd::prelude::*;
use fearless_simd::{mask8x64, u8x64};

use super::chunk_at;

pub(crate) const ID_BYTES: usize = size_of::<u128>();
/// The number of hexadecimal digits of an id.
pub(crate) const ID_DIGITS: usize = 2 * ID_BYTES;
/// The number of ids that are compared at once.
const IDS_A_CHUNK: usize = 64 / ID_BYTES;

/// Returns the value of a lower-case hexadecimal digit.
pub(crate) fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

/// A substring of the digits of an id.
#[derive(Debug)]
pub(crate) struct IdPiece {
    /// A mask and the masked digits for each position where the piece can start.
    tests: Vec<(u128, u128)>,
    /// Tests of the first two bytes if the piece starts with the first digit of a byte.
    aligned: [ByteTest; 2],
    /// The same tests if it starts with the second digit of a byte.
    shifted: [ByteTest; 2],
    /// The bytes of four ids in which the piece can start, with the first digit and with the second.
    positions: [u64; 2],
    /// True if two bytes cover the whole piece.
    is_short: bool,
}

impl IdPiece {
    /// Returns the piece with these digits (at least one). `starts` are the digits of an id at which it can
    /// start; `None` if there are no starts.
    pub(crate) fn of(digits: &[u8], starts: impl Iterator<Item = usize>) -> Option<Self> {
        let number = digits.iter().fold(0, |number, digit| number << 4 | u128::from(*digit));
        let mask = digits.iter().fold(0, |mask, _| mask << 4 | 0xF);
        let (mut tests, mut positions) = (Vec::new(), [0; 2]);
        for start in starts {
            let shift = 4 * (ID_DIGITS - digits.len() - start);
            tests.push((mask << shift, number << shift));
            positions[start % 2] |= 0x0001_0001_0001_0001 << (start / 2);
        }
        let at = |position: usize| digits.get(position).copied();
        (!tests.is_empty()).then(|| Self {
            tests,
            aligned: [ByteTest::of(at(0), at(1)), ByteTest::of(at(2), at(3))],
            shifted: [ByteTest::of(None, at(0)), ByteTest::of(at(1), at(2))],
            positions,
            is_short: digits.len() <= 3,
        })
    }

    /// Returns the piece as a mask and digits if it can only be a prefix of an id.
    pub(crate) fn prefix(&self) -> Option<(u128, u128)> {
        match *self.tests {
            [(mask, digits)] if mask.leading_ones() == mask.count_ones() => Some((mask, digits)),
            _ => None,
        }
    }

    /// Calls `found` with the index of each id that has the piece, ascending. `bytes` are all ids, one after
    /// another.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "it is compiled once for each kind of processor, inside its caller"
    )]
    pub(crate) fn find<S: Simd>(
        &self,
        simd: S,
        bytes: &[u8],
        (first, end): (usize, usize),
        mut found: impl FnMut(usize),
    ) {
        for chunk in (first..end).step_by(IDS_A_CHUNK) {
            let mut left = self.begins(simd, bytes, chunk * ID_BYTES);
            while left != 0 {
                let position = left.trailing_zeros() as usize / ID_BYTES;
                left &= !(0xFFFF << (position * ID_BYTES));
                let id = chunk + position;
                if id < end && (self.is_short || self.is_in(id_at(bytes, id))) {
                    found(id);
                }
            }
        }
    }

    /// Returns a bit for each byte of the four ids from `position` on: whether the piece can start there.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "it is compiled once for each kind of processor, inside its caller"
    )]
    fn begins<S: Simd>(&self, simd: S, bytes: &[u8], position: usize) -> u64 {
        let (own, next) = (chunk_at(simd, bytes, position), chunk_at(simd, bytes, position + 1));
        let pass = |[one, other]: [ByteTest; 2]| (one.are(simd, own) & other.are(simd, next)).to_bitmask();
        let mut begins = pass(self.aligned) & self.positions[0];
        if self.positions[1] != 0 {
            begins |= pass(self.shifted) & self.positions[1];
        }
        begins
    }

    fn is_in(&self, id: u128) -> bool {
        self.tests.iter().any(|(mask, digits)| id & mask == *digits)
    }
}

/// Returns the id at an index of `bytes`.
pub(crate) fn id_at(bytes: &[u8], number: usize) -> u128 {
    let bytes = bytes[number * ID_BYTES..].first_chunk();
    bytes.map_or(0, |bytes| u128::from_be_bytes(*bytes))
}

/// A test of one byte: `byte | ignored == wanted`.
#[derive(Debug, Clone, Copy)]
struct ByteTest {
    ignored: u8,
    wanted: u8,
}

impl ByteTest {
    /// Returns the test of a byte whose digits are given. `None` matches any digit.
    fn of(first: Option<u8>, second: Option<u8>) -> Self {
        let ignored = first.map_or(0xF0, |_| 0) | second.map_or(0x0F, |_| 0);
        let digits = first.unwrap_or_default() << 4 | second.unwrap_or_default();
        Self { ignored, wanted: digits | ignored }
    }

    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "it is compiled once for each kind of processor, inside its caller"
    )]
    fn are<S: Simd>(self, simd: S, bytes: u8x64<S>) -> mask8x64<S> {
        (bytes | u8x64::splat(simd, self.ignored)).simd_eq(u8x64::splat(simd, self.wanted))
    }
}

#[cfg(test)]
mod tests {
    use fearless_simd::{Level, dispatch};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_ids_that_contain_a_piece_are_found(
            ids in prop::collection::vec("[01af]{32}", 1..40), (first, count) in (0..40_usize, 0..40_usize),
            (chosen, start, length) in (any::<prop::sample::Index>(), 0..32_usize, 1..=32_usize),
            other in prop::option::of("[01af]{1,4}"),
        ) {
            let (first, end) = (first.min(ids.len()), (first + count).min(ids.len()));
            let own = chosen.get(&ids)[start..(start + length).min(ID_DIGITS)].to_owned();
            let written = other.unwrap_or(own);
            let digits: Vec<u8> = written.bytes().filter_map(digit).collect();
            let piece = IdPiece::of(&digits, 0..=ID_DIGITS - digits.len()).expect("a position");
            let bytes = ids.iter().flat_map(|id| u128::from_str_radix(id, 16).expect("digits").to_be_bytes());
            let bytes: Vec<u8> = bytes.collect();
            let mut found = Vec::new();
            dispatch!(Level::new(), simd => piece.find(simd, &bytes, (first, end), |id| found.push(id)));
            let expected: Vec<usize> = (first..end).filter(|id| ids[*id].contains(&written)).collect();
            prop_assert_eq!(found, expected, "{}", written);
        }
    }
}
