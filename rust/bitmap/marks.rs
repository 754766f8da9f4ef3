//! Evaluates conditions on integers into bitmaps, 64 integers at a time.

use std::ops::Range;

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x64, u16x32, u32x16, u64x8};

/// A set of codes.
#[derive(Debug, Clone)]
pub struct CodeSet {
    /// A byte for each code, 1 if it is in the set. Its length covers every code of the column's width, so
    /// that a lookup needs no bounds check.
    bytes: Vec<u8>,
    /// The number of codes.
    codes: usize,
    /// The codes in the set as ascending closed intervals; `None` if there are more than [`MAX_INTERVALS`].
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

/// The number of one-byte codes and of two-byte codes.
const NARROW: usize = 1 << 8;
const WIDE: usize = 1 << 16;
/// Estimated from instruction counts, not measured: comparing 64 codes with this many intervals takes no
/// longer than 64 lookups.
const MAX_INTERVALS: usize = 8;
/// The empty set of two-byte codes.
static NO_CODES: [u8; WIDE] = [0; WIDE];

impl CodeSet {
    /// Returns `true` if a code is in the set.
    pub fn contains(&self, code: usize) -> bool {
        self.bytes.get(code) == Some(&1)
    }

    /// Keeps only the codes that are also in `other`.
    pub fn intersect(&mut self, other: &Self) {
        self.bytes.iter_mut().zip(&other.bytes).for_each(|(own, other)| *own &= other);
        self.intervals = intervals(&self.bytes[..self.codes]);
    }

    /// Adds the codes of `other`.
    pub fn unite(&mut self, other: &Self) {
        self.bytes.iter_mut().zip(&other.bytes).for_each(|(own, other)| *own |= other);
        self.intervals = intervals(&self.bytes[..self.codes]);
    }

    /// Returns the codes in the set as ascending closed intervals; `None` if there are too many intervals.
    pub(crate) fn intervals(&self) -> Option<&[(i64, i64)]> {
        self.intervals.as_deref()
    }

    /// Returns 1 if a code is in the set, otherwise 0.
    pub(crate) fn byte(&self, code: u64) -> u8 {
        usize::try_from(code).ok().and_then(|code| self.bytes.get(code)).copied().unwrap_or_default()
    }

    /// Returns the lookup table for one-byte codes.
    pub(crate) fn of_bytes(&self) -> &[u8; NARROW] {
        self.bytes.first_chunk().unwrap_or(&[0; NARROW])
    }

    /// Returns the lookup table for two-byte codes.
    pub(crate) fn of_shorts(&self) -> &[u8; WIDE] {
        self.bytes.first_chunk().unwrap_or(&NO_CODES)
    }
}

/// Returns the positions of bytes that are 1 as closed intervals; `None` if there are more than
/// [`MAX_INTERVALS`].
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

/// A range of indices with a selection, and the output bitmap of a condition. Both bitmaps begin with the
/// word of the first index.
#[derive(Debug)]
pub struct SelectionMask<'m> {
    /// The range of indices.
    pub range: Range<usize>,
    /// The selected indices; `None` if all are selected.
    pub selected: Option<&'m [u64]>,
    /// The output bitmap.
    pub words: &'m mut [u64],
}

impl SelectionMask<'_> {
    /// Sets the bit of every selected index whose bit is set in the result of `bits_of`. `bits_of` receives
    /// the 64 values of a word, or all values if there are fewer.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "it is compiled once for each kind of processor, inside its caller"
    )]
    pub(crate) fn set<T: Copy + Default>(self, values: &[T], bits_of: impl Fn(&[T; 64]) -> u64) {
        let Range { start, end } = self.range;
        if start >= end {
            return;
        }
        let first = start / 64;
        for (at, word) in self.words[..end.div_ceil(64) - first].iter_mut().enumerate() {
            let position = (first + at) * 64;
            let selected = self.selected.map_or(u64::MAX, |selected| selected[at])
                & (u64::MAX << start.saturating_sub(position))
                & (u64::MAX >> (position + 64).saturating_sub(end));
            if selected == 0 {
                continue;
            }
            let bits = if let Some(values) = values[position..].first_chunk() {
                bits_of(values)
            } else {
                let (mut padded, rest) = ([T::default(); 64], &values[position..]);
                padded[..rest.len()].copy_from_slice(rest);
                bits_of(&padded)
            };
            *word |= bits & selected;
        }
    }

    /// Sets the bit of every selected index whose value is in one of the closed `intervals`, with the widest
    /// vectors of the processor.
    pub(crate) fn set_within<T: Lanes>(self, values: &[T], intervals: &[(T, T)]) {
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

    /// Sets the bit of every selected index whose code is in a set.
    pub(crate) fn set_codes<T: Copy + Default>(self, codes: &[T], byte_of: impl Fn(T) -> u8) {
        // Lookups one by one: gather instructions are slower.
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

/// Integers that are compared in vectors.
pub(crate) trait Lanes: Copy + Default {
    /// Returns one bit for each of 64 values: whether it is in a closed interval. The first bound is at most
    /// the second.
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
                    // A value below the first bound wraps around to more than the length.
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
