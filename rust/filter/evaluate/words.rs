//! Sets of rows as words of 64 bits, the first row in the lowest bit.

use arrow_array::Array;
use arrow_buffer::BooleanBuffer;
use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x64};

/// The number of words in a block of rows.
pub(super) const BLOCK_WORDS: usize = 256;

/// A set of rows, or of dictionary values.
pub(super) type BlockWords = Vec<u64>;

/// Returns the bits of `buffer` as words.
pub(super) fn words_of(buffer: &BooleanBuffer) -> BlockWords {
    buffer.bit_chunks().iter_padded().take(buffer.len().div_ceil(64)).collect()
}

/// Returns a byte for each bit: one or zero.
pub(super) fn flags_of(words: &[u64]) -> Vec<u8> {
    let mut flags = vec![0; words.len() * 64];
    for (flags, word) in flags.as_chunks_mut::<64>().0.iter_mut().zip(words) {
        flags.iter_mut().enumerate().for_each(|(bit, flag)| *flag = u8::from(word >> bit & 1 != 0));
    }
    flags
}

/// Returns the rows that are not NULL; `None` if no row is NULL.
pub(super) fn nulls(array: &dyn Array) -> Option<BooleanBuffer> {
    let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0)?;
    Some(nulls.into_inner())
}

/// Returns `true` if a row is in the set.
pub(super) fn has_any(words: &[u64]) -> bool {
    words.iter().any(|word| *word != 0)
}

/// Returns `true` if at least one row in eight is in the set. Testing all rows at once then costs less than
/// testing them one by one.
pub(super) fn is_dense(words: &[u64]) -> bool {
    let rows: u32 = words.iter().map(|word| word.count_ones()).sum();
    rows as usize * 8 >= words.len() * 64
}

/// Sets the bits of exactly the first `rows` rows.
pub(super) fn first_rows(rows: usize, words: &mut [u64]) {
    for (index, word) in words.iter_mut().enumerate() {
        let left = rows.saturating_sub(index * 64);
        *word = if left >= 64 { u64::MAX } else { (1 << left) - 1 };
    }
}

/// Sets `matching` to the rows of `open` for which `test` is true.
pub(super) fn each_open(open: &[u64], matching: &mut [u64], test: impl FnMut(usize) -> bool) {
    matching.copy_from_slice(open);
    keep(matching, test);
}

/// Keeps the rows of `matching` for which `test` is true.
pub(super) fn keep(matching: &mut [u64], mut test: impl FnMut(usize) -> bool) {
    for (index, matching) in matching.iter_mut().enumerate() {
        let (mut left, mut hits) = (*matching, 0);
        while left != 0 {
            let bit = left.trailing_zeros() as usize;
            left &= left - 1;
            hits |= u64::from(test(index * 64 + bit)) << bit;
        }
        *matching = hits;
    }
}

/// Sets `matching` to the values for which `test` is true, with the widest vectors of the processor.
pub(super) fn each_value<T: Copy>(values: &[T], matching: &mut [u64], test: impl Fn(T) -> bool) {
    dispatch!(Level::new(), simd => each_value_of(simd, values, matching, test));
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled once for each kind of processor, inside its caller")]
fn each_value_of<S: Simd, T: Copy>(simd: S, values: &[T], matching: &mut [u64], test: impl Fn(T) -> bool) {
    let (whole, rest) = values.as_chunks::<64>();
    for (values, matching) in whole.iter().zip(matching.iter_mut()) {
        let mut flags = [0; 64];
        flags.iter_mut().zip(values).for_each(|(flag, value)| *flag = u8::from(test(*value)));
        *matching = bits_of(simd, &flags, 1);
    }
    if let Some(matching) = matching.get_mut(whole.len()) {
        let mut flags = [0; 64];
        flags.iter_mut().zip(rest).for_each(|(flag, value)| *flag = u8::from(test(*value)));
        *matching = bits_of(simd, &flags, 1);
    }
}

/// The result of probing some bytes of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Verdict {
    No,
    /// The whole value must be compared.
    Maybe,
    Yes,
}

impl Verdict {
    /// Returns `Maybe` or `No`.
    #[inline]
    pub(super) fn may_be(is_possible: bool) -> Self {
        if is_possible { Self::Maybe } else { Self::No }
    }
}

/// Sets `matching` to the values for which `test` is true, and `possible` to the values that must be compared as
/// a whole.
pub(super) fn each_verdict<T: Copy>(
    values: &[T],
    (matching, possible): (&mut [u64], &mut [u64]),
    test: impl Fn(T) -> Verdict,
) {
    dispatch!(Level::new(), simd => each_verdict_of(simd, values, (matching, possible), test));
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled once for each kind of processor, inside its caller")]
fn each_verdict_of<S: Simd, T: Copy>(
    simd: S,
    values: &[T],
    (matching, possible): (&mut [u64], &mut [u64]),
    test: impl Fn(T) -> Verdict,
) {
    for ((values, matching), possible) in values.chunks(64).zip(matching).zip(possible) {
        let mut verdicts = [0; 64];
        verdicts.iter_mut().zip(values).for_each(|(verdict, value)| *verdict = test(*value) as u8);
        *matching = bits_of(simd, &verdicts, Verdict::Yes as u8);
        *possible = bits_of(simd, &verdicts, Verdict::Maybe as u8);
    }
}

/// Returns the bytes that equal `wanted`, one bit for each.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled once for each kind of processor, inside its caller")]
pub(super) fn bits_of<S: Simd>(simd: S, bytes: &[u8; 64], wanted: u8) -> u64 {
    u8x64::from_slice(simd, bytes).simd_eq(u8x64::splat(simd, wanted)).to_bitmask()
}
