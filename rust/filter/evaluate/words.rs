//! Sets of rows as words of 64 bits, the first row in the lowest bit.

use arrow_array::{Array, OffsetSizeTrait};
use arrow_buffer::BooleanBuffer;
use fearless_simd::{Level, dispatch};

/// Words of a block of rows.
pub(super) const BLOCK_WORDS: usize = 256;

/// A set of rows, or of values of a dictionary.
pub(super) type Words = Vec<u64>;

/// Returns the bits of `buffer` as words.
pub(super) fn words_of(buffer: &BooleanBuffer) -> Words {
    buffer.bit_chunks().iter_padded().take(buffer.len().div_ceil(64)).collect()
}

/// Returns the rows that are not null; `None` if no row is.
pub(super) fn nulls(array: &dyn Array) -> Option<Words> {
    let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0)?;
    Some(words_of(nulls.inner()))
}

/// Whether a row is in the set.
pub(super) fn has_any(words: &[u64]) -> bool {
    words.iter().any(|word| *word != 0)
}

/// Whether at least one row in eight is in the set, so that testing all rows at once costs less than one by one.
pub(super) fn is_dense(words: &[u64]) -> bool {
    let rows: u32 = words.iter().map(|word| word.count_ones()).sum();
    rows as usize * 8 >= words.len() * 64
}

/// Sets the bits of the first `rows` rows, and no others.
pub(super) fn first_rows(rows: usize, words: &mut [u64]) {
    for (index, word) in words.iter_mut().enumerate() {
        let left = rows.saturating_sub(index * 64);
        *word = if left >= 64 { u64::MAX } else { (1 << left) - 1 };
    }
}

/// Sets `found` to the rows of `open` of which `test` is true.
pub(super) fn each_open(open: &[u64], found: &mut [u64], mut test: impl FnMut(usize) -> bool) {
    for (index, (open, found)) in open.iter().zip(found).enumerate() {
        let (mut left, mut hits) = (*open, 0);
        while left != 0 {
            let bit = left.trailing_zeros() as usize;
            left &= left - 1;
            hits |= u64::from(test(index * 64 + bit)) << bit;
        }
        *found = hits;
    }
}

/// Sets `found` to the values of which `test` is true, with the widest vectors that the processor has.
pub(super) fn each_value<T: Copy>(values: &[T], found: &mut [u64], test: impl Fn(T) -> bool) {
    dispatch!(Level::new(), _simd => each_value_of(values, found, test));
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled once for each kind of processor, inside its caller")]
fn each_value_of<T: Copy>(values: &[T], found: &mut [u64], test: impl Fn(T) -> bool) {
    let (whole, rest) = values.as_chunks::<64>();
    for (values, found) in whole.iter().zip(found.iter_mut()) {
        let mut hits = 0;
        for (bit, value) in values.iter().enumerate() {
            hits |= u64::from(test(*value)) << bit;
        }
        *found = hits;
    }
    if let Some(found) = found.get_mut(whole.len()) {
        *found = 0;
        for (bit, value) in rest.iter().enumerate() {
            *found |= u64::from(test(*value)) << bit;
        }
    }
}

/// Sets `found` to the texts whose length is `length`; each is from one of `offsets` to the next.
pub(super) fn each_length<O: OffsetSizeTrait>(offsets: &[O], length: O, found: &mut [u64]) {
    dispatch!(Level::new(), _simd => each_length_of(offsets, length, found));
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled once for each kind of processor, inside its caller")]
fn each_length_of<O: OffsetSizeTrait>(offsets: &[O], length: O, found: &mut [u64]) {
    let ends = offsets.get(1..).unwrap_or_default();
    let (starts, _) = offsets[..ends.len()].as_chunks::<64>();
    let (whole, rest) = ends.as_chunks::<64>();
    for ((starts, ends), found) in starts.iter().zip(whole).zip(found.iter_mut()) {
        let mut hits = 0;
        for bit in 0..64 {
            hits |= u64::from(ends[bit] - starts[bit] == length) << bit;
        }
        *found = hits;
    }
    if let Some(found) = found.get_mut(whole.len()) {
        *found = 0;
        let starts = &offsets[whole.len() * 64..];
        for (bit, (start, end)) in starts.iter().zip(rest).enumerate() {
            *found |= u64::from(*end - *start == length) << bit;
        }
    }
}
