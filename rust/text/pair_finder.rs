//! Finds possible starts of a pattern in bytes, exactly or in any ASCII case. No lower-case copy of the bytes
//! is needed.

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x64};
use memchr::arch::all::packedpair::Pair;

/// The number of bytes that are compared at once.
const CHUNK: usize = 64;

/// Finds a pattern by two of its bytes that are rare in texts.
#[derive(Debug, Clone)]
pub(crate) struct PairFinder {
    level: Level,
    length: usize,
    pair: [PairByte; 2],
}

/// A test of the byte at a distance from the start of the pattern: `byte | ignored == wanted`.
#[derive(Debug, Clone, Copy)]
struct PairByte {
    distance: usize,
    ignored: u8,
    wanted: u8,
}

impl PairByte {
    fn of(pattern: &[u8], distance: usize) -> Self {
        let wanted = pattern.get(distance).copied().unwrap_or_default();
        Self { distance, ignored: 0, wanted }
    }

    fn in_any_case(pattern: &[u8], distance: usize) -> Self {
        /// The bits in which `-` and `_` differ.
        const DASHES: u8 = b'-' ^ b'_';
        const CASE: u8 = b'a' ^ b'A';
        let byte = pattern.get(distance).copied().unwrap_or_default();
        let ignored = match byte {
            b'-' | b'_' => DASHES,
            byte if byte.is_ascii_alphabetic() => CASE,
            _ => 0,
        };
        Self { distance, ignored, wanted: byte | ignored }
    }
}

impl PairFinder {
    /// Returns a finder for the exact pattern, which is not empty.
    pub(crate) fn of(pattern: &[u8]) -> Self {
        let pair = pair_of(pattern).map(|distance| PairByte::of(pattern, distance));
        Self { level: Level::new(), length: pattern.len(), pair }
    }

    /// Returns a finder that ignores the case of letters and matches `-` and `_` with either. The pattern is
    /// not empty.
    pub(crate) fn in_any_case(pattern: &[u8]) -> Self {
        let pair = pair_of(&pattern.to_ascii_lowercase());
        let pair = pair.map(|distance| PairByte::in_any_case(pattern, distance));
        Self { level: Level::new(), length: pattern.len(), pair }
    }

    /// Sets one bit in `marks` for each of `bytes` at which the pattern can start. The marks are a superset
    /// of the matches unless [`Self::is_exact`].
    pub(crate) fn mark(&self, bytes: &[u8], marks: &mut Vec<u64>) {
        marks.clear();
        marks.resize(bytes.len().div_ceil(CHUNK), 0);
        dispatch!(self.level, simd => self.mark_by(simd, bytes, marks));
    }

    /// Returns `true` if the marks are exactly the matches of the pattern in this case.
    pub(crate) fn is_exact(&self) -> bool {
        self.length <= self.pair.len() && self.pair.iter().all(|test| test.ignored == 0)
    }

    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "it is compiled once for each kind of processor, inside its caller"
    )]
    fn mark_by<S: Simd>(&self, simd: S, bytes: &[u8], marks: &mut [u64]) {
        for (chunk, marks) in marks.iter_mut().enumerate() {
            *marks = self.starts(simd, bytes, chunk * CHUNK);
        }
    }

    /// Returns `true` if `is_there` is true for a possible start in `bytes`. The possible starts are a
    /// superset of the matches.
    pub(crate) fn any(&self, bytes: &[u8], mut is_there: impl FnMut(usize) -> bool) -> bool {
        dispatch!(self.level, simd => self.any_of(simd, bytes, &mut is_there))
    }

    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "it is compiled once for each kind of processor, inside its caller"
    )]
    fn any_of<S: Simd>(&self, simd: S, bytes: &[u8], is_there: &mut impl FnMut(usize) -> bool) -> bool {
        let Some(last) = bytes.len().checked_sub(self.length) else { return false };
        for chunk in (0..=last).step_by(CHUNK) {
            let mut starts = self.starts(simd, bytes, chunk);
            if starts == 0 {
                continue;
            }
            starts &= u64::MAX >> (CHUNK - 1 - (last - chunk).min(CHUNK - 1));
            while starts != 0 {
                if is_there(chunk + starts.trailing_zeros() as usize) {
                    return true;
                }
                starts &= starts - 1;
            }
        }
        false
    }

    /// Returns a bit for each byte from `chunk` on: whether the pattern can start there.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "it is compiled once for each kind of processor, inside its caller"
    )]
    fn starts<S: Simd>(&self, simd: S, bytes: &[u8], chunk: usize) -> u64 {
        let [one, other] = self.pair;
        // Not a closure: a closure would be compiled without the instructions of this processor.
        let (own, further) =
            (chunk_at(simd, bytes, chunk + one.distance), chunk_at(simd, bytes, chunk + other.distance));
        let is_one = (own | u8x64::splat(simd, one.ignored)).simd_eq(u8x64::splat(simd, one.wanted));
        let is_other =
            (further | u8x64::splat(simd, other.ignored)).simd_eq(u8x64::splat(simd, other.wanted));
        (is_one & is_other).to_bitmask()
    }
}

/// Returns the distances of two bytes that are rare in texts from the start of the pattern. Both are 0 if it
/// has only one byte.
fn pair_of(pattern: &[u8]) -> [usize; 2] {
    Pair::new(pattern).map_or([0; 2], |pair| [pair.index1(), pair.index2()].map(usize::from))
}

/// Returns the bytes from `start` on, padded with a byte that is never in a text.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled once for each kind of processor, inside its caller")]
pub(crate) fn chunk_at<S: Simd>(simd: S, bytes: &[u8], start: usize) -> u8x64<S> {
    match bytes.get(start..start + CHUNK) {
        Some(chunk) => u8x64::from_slice(simd, chunk),
        None => u8x64::from_slice(simd, &last_chunk(bytes, start)),
    }
}

/// A function of its own, because the compiler otherwise copies every chunk, not only the last.
#[cold]
#[inline(never)]
fn last_chunk(bytes: &[u8], start: usize) -> [u8; CHUNK] {
    const NO_TEXT: u8 = 0xFF;
    let rest = bytes.get(start..).unwrap_or_default();
    let mut chunk = [NO_TEXT; CHUNK];
    chunk[..rest.len()].copy_from_slice(rest);
    chunk
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_position_of_a_pattern_is_tested(
            bytes in prop::collection::vec(prop_oneof![Just(b'a'), Just(b'A'), Just(b'-'), Just(b'_'), any::<u8>()], 0..300),
            start in 0..300_usize,
            length in 1..80_usize,
        ) {
            let start = start.min(bytes.len());
            let pattern = &bytes[start..bytes.len().min(start + length)];
            let same = |byte: u8| if byte == b'-' { b'_' } else { byte.to_ascii_lowercase() };
            let is_at = |window: &[u8]| window.iter().zip(pattern).all(|(one, other)| same(*one) == same(*other));
            prop_assume!(!pattern.is_empty());
            let expected: Vec<usize> = bytes.windows(pattern.len()).enumerate()
                .filter_map(|(at, window)| is_at(window).then_some(at)).collect();
            let mut tested = Vec::new();
            let is_found = PairFinder::in_any_case(pattern).any(&bytes, |at| { tested.push(at); false });
            prop_assert!(!is_found && tested.is_sorted());
            prop_assert!(expected.iter().all(|at| tested.contains(at)), "{:?} of {:?}", tested, expected);
            prop_assert!(tested.iter().all(|at| at + pattern.len() <= bytes.len()));
        }
    }
}
