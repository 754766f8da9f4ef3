//! Bitmaps of the integers that satisfy a condition, a word of 64 at a time.

use std::ops::Range;

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x64, u16x32, u32x16, u64x8};

/// A set of codes.
#[derive(Debug, Clone)]
pub struct CodeSet {
    /// A byte for each code, 1 if it is in the set. There are as many bytes as codes of its width can be, so that a lookup
    /// needs no check.
    bytes: Vec<u8>,
    /// How many codes there are.
    codes: usize,
    /// The codes in the set as closed intervals, which ascend; `None` if there are more than [`MAX_INTERVALS`].
    intervals: Option<Vec<(i64, i64)>>,
}

impl FromIterator<bool> for CodeSet {
    fn from_iter<I: IntoIterator<Item = bool>>(codes: I) -> Self {
        let mut bytes: Vec<u8> = codes.into_iter().map(u8::from).collect();
        let (codes, intervals) = (bytes.len(), intervals(&bytes));
        let widths = [NARROW, WIDE].into_iter();
        let length = widths.filter(|width| *width >= codes).min().unwrap_or(codes);
        bytes.resize(length, 0);
        Self { bytes, codes, intervals }
    }
}

/// How many codes of one byte there are, and of two bytes.
const NARROW: usize = 1 << 8;
const WIDE: usize = 1 << 16;
/// Reckoned by instructions, not measured: to compare 64 codes with the bounds of so many intervals takes no longer than to look
/// them up one by one.
const MAX_INTERVALS: usize = 8;
/// The empty set of codes of two bytes.
static NO_CODES: [u8; WIDE] = [0; WIDE];

impl CodeSet {
    /// Whether a code is in the set.
    pub fn contains(&self, code: usize) -> bool {
        self.bytes.get(code) == Some(&1)
    }

    /// Keeps the codes that are in `other`, too.
    pub fn intersect(&mut self, other: &Self) {
        self.bytes.iter_mut().zip(&other.bytes).for_each(|(own, other)| *own &= other);
        self.intervals = intervals(&self.bytes[..self.codes]);
    }

    /// Adds the codes of `other`.
    pub fn unite(&mut self, other: &Self) {
        self.bytes.iter_mut().zip(&other.bytes).for_each(|(own, other)| *own |= other);
        self.intervals = intervals(&self.bytes[..self.codes]);
    }

    /// Returns the codes in the set as closed intervals, which ascend, if there are few of them.
    pub(super) fn intervals(&self) -> Option<&[(i64, i64)]> {
        self.intervals.as_deref()
    }

    /// Returns 1 for a code that is in the set.
    pub(super) fn byte(&self, code: u64) -> u8 {
        usize::try_from(code).ok().and_then(|code| self.bytes.get(code)).copied().unwrap_or_default()
    }

    /// Returns the bytes of the codes that have one byte.
    pub(super) fn of_bytes(&self) -> &[u8; NARROW] {
        self.bytes.first_chunk().unwrap_or(&[0; NARROW])
    }

    /// Returns the bytes of the codes that have two bytes.
    pub(super) fn of_shorts(&self) -> &[u8; WIDE] {
        self.bytes.first_chunk().unwrap_or(&NO_CODES)
    }
}

/// Returns the places of the bytes that are 1 as closed intervals; `None` if there are more than [`MAX_INTERVALS`].
fn intervals(bytes: &[u8]) -> Option<Vec<(i64, i64)>> {
    let mut intervals = Vec::new();
    let mut first = 0;
    for same in bytes.chunk_by(PartialEq::eq) {
        let end = first + i64::try_from(same.len()).ok()?;
        if same[0] == 1 {
            if intervals.len() == MAX_INTERVALS {
                return None;
            }
            intervals.push((first, end - 1));
        }
        first = end;
    }
    Some(intervals)
}

/// A range of indices, of which those with some value are marked. Its bitmaps begin with the word of the first index.
#[derive(Debug)]
pub struct SelectionMask<'m> {
    /// The indices.
    pub range: Range<usize>,
    /// Those that are asked; `None` if all of them are.
    pub asked: Option<&'m [u64]>,
    /// Those that are marked.
    pub words: &'m mut [u64],
}

impl SelectionMask<'_> {
    /// Sets the bit of every index that is asked and whose value has `bit` set in what `bits_of` returns of the 64 values of
    /// its word, or of all that there are.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "it is compiled once for each kind of processor, inside its caller"
    )]
    pub(super) fn set<T: Copy + Default>(self, values: &[T], bits_of: impl Fn(&[T; 64]) -> u64) {
        let Range { start, end } = self.range;
        if start >= end {
            return;
        }
        let first = start / 64;
        for (at, word) in self.words[..end.div_ceil(64) - first].iter_mut().enumerate() {
            let place = (first + at) * 64;
            let asked = self.asked.map_or(u64::MAX, |asked| asked[at])
                & (u64::MAX << start.saturating_sub(place))
                & (u64::MAX >> (place + 64).saturating_sub(end));
            if asked == 0 {
                continue;
            }
            let bits = if let Some(values) = values[place..].first_chunk() {
                bits_of(values)
            } else {
                let (mut padded, rest) = ([T::default(); 64], &values[place..]);
                padded[..rest.len()].copy_from_slice(rest);
                bits_of(&padded)
            };
            *word |= bits & asked;
        }
    }

    /// Sets the bit of every index that is asked and whose value lies in one of these closed intervals, with the widest vectors
    /// that the processor has.
    pub(super) fn set_within<T: Lanes>(self, values: &[T], intervals: &[(T, T)]) {
        match intervals {
            [] => {}
            // Without a loop.
            [interval] => {
                dispatch!(Level::new(), simd => self.set(values, |values| T::within(simd, values, *interval)));
            }
            _ => dispatch!(Level::new(), simd => self.set(values, |values| {
                let mut bits = 0;
                for interval in intervals {
                    bits |= T::within(simd, values, *interval);
                }
                bits
            })),
        }
    }

    /// Sets the bit of every index that is asked and whose code is in a set.
    pub(super) fn set_codes<T: Copy + Default>(self, codes: &[T], byte_of: impl Fn(T) -> u8) {
        // Lookups one by one: instructions that gather several are slower.
        self.set(codes, |codes| {
            let (eights, _) = codes.as_chunks::<8>();
            let bits = |eight: &[T; 8]| {
                (0..).zip(eight).fold(0_u32, |bits, (bit, code)| bits | u32::from(byte_of(*code)) << bit)
            };
            (0..)
                .step_by(8)
                .zip(eights)
                .fold(0, |word, (shift, eight)| word | u64::from(bits(eight)) << shift)
        });
    }
}

/// Integers that are compared several at once.
pub(super) trait Lanes: Copy + Default {
    /// Returns one bit for each of 64 values: whether it lies in a closed interval, of which the first bound is not the greater.
    fn within<S: Simd>(simd: S, values: &[Self; 64], interval: (Self, Self)) -> u64;
}

macro_rules! lanes {
    ($($integer:ty: $vector:ident;)*) => {$(
        impl Lanes for $integer {
            #[inline(always)]
            fn within<S: Simd>(simd: S, values: &[Self; 64], (low, high): (Self, Self)) -> u64 {
                const LANES: usize = 64 / size_of::<$integer>();
                let (low, length) = ($vector::splat(simd, low), $vector::splat(simd, high - low));
                let mut bits = 0;
                for (at, lanes) in values.as_chunks::<LANES>().0.iter().enumerate() {
                    // What is less than the first bound wraps round to more than the length.
                    let is_within = ($vector::from_slice(simd, lanes) - low).simd_le(length);
                    bits |= is_within.to_bitmask() << (at * LANES);
                }
                bits
            }
        }
    )*};
}

lanes! {
    u8: u8x64;
    u16: u16x32;
    u32: u32x16;
    u64: u64x8;
}
