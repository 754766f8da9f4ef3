//! Bitmaps of the integers that satisfy a condition, a word of 64 at a time.

use std::ops::Range;

use fearless_simd::{Level, dispatch};

/// A set of codes: a byte for each code, 1 if it is in the set.
///
/// It has as many bytes as codes of its width can be, so that a lookup needs no check.
#[derive(Debug, Clone)]
pub struct CodeSet(Vec<u8>);

impl FromIterator<bool> for CodeSet {
    fn from_iter<I: IntoIterator<Item = bool>>(codes: I) -> Self {
        let mut bytes: Vec<u8> = codes.into_iter().map(u8::from).collect();
        let widths = [NARROW, WIDE].into_iter();
        let length = widths.filter(|width| *width >= bytes.len()).min().unwrap_or(bytes.len());
        bytes.resize(length, 0);
        Self(bytes)
    }
}

/// How many codes of one byte there are, and of two bytes.
const NARROW: usize = 1 << 8;
const WIDE: usize = 1 << 16;
/// The empty set of codes of two bytes.
static NO_CODES: [u8; WIDE] = [0; WIDE];

impl CodeSet {
    /// Whether a code is in the set.
    pub fn contains(&self, code: usize) -> bool {
        self.0.get(code) == Some(&1)
    }

    /// Keeps the codes that are in `other`, too.
    pub fn intersect(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own &= other);
    }

    /// Adds the codes of `other`.
    pub fn unite(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own |= other);
    }

    /// Returns 1 for a code that is in the set.
    pub(super) fn byte(&self, code: u64) -> u8 {
        usize::try_from(code).ok().and_then(|code| self.0.get(code)).copied().unwrap_or_default()
    }

    /// Returns the bytes of the codes that have one byte.
    pub(super) fn of_bytes(&self) -> &[u8; NARROW] {
        self.0.first_chunk().unwrap_or(&[0; NARROW])
    }

    /// Returns the bytes of the codes that have two bytes.
    pub(super) fn of_shorts(&self) -> &[u8; WIDE] {
        self.0.first_chunk().unwrap_or(&NO_CODES)
    }
}

/// A range of indices, of which those with some value are marked. Its bitmaps begin with the word of the first index.
#[derive(Debug)]
pub struct MarkedRange<'m> {
    /// The indices.
    pub range: Range<usize>,
    /// Those that are asked; `None` if all of them are.
    pub asked: Option<&'m [u64]>,
    /// Those that are marked.
    pub words: &'m mut [u64],
}

impl MarkedRange<'_> {
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

    /// Sets the bit of every index that is asked and whose value lies between `low` and `high`, inclusive, with the widest
    /// vectors that the processor has.
    pub(super) fn set_between<T: Copy + Default + PartialOrd>(self, values: &[T], low: T, high: T) {
        dispatch!(Level::new(), _simd => self.set(values, |values| between(values, low, high)));
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

/// Returns one bit for each of 64 values: whether it lies between `low` and `high`, inclusive. It vectorizes.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled once for each kind of processor, inside its caller")]
#[allow(clippy::needless_bitwise_bool, reason = "branchless")]
pub(crate) fn between<T: Copy + PartialOrd>(values: &[T; 64], low: T, high: T) -> u64 {
    let is_between = |value: T| (low <= value) & (value <= high);
    (0..).zip(values).fold(0, |bits, (bit, value)| bits | u64::from(is_between(*value)) << bit)
}
