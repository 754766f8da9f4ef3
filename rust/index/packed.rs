//! Integers packed into as few bytes as their range allows.

use std::ops::Range;

use arrow_buffer::{Buffer, ScalarBuffer};

use super::row_blocks::RowBlock;

/// A section of numbers of one width, read in place.
pub(super) type FixedWidth<T> = ScalarBuffer<T>;

/// Integers stored as 1, 2, 4 or 8 byte offsets from a base.
#[derive(Debug, Clone)]
pub struct PackedInts {
    base: i64,
    offsets: Offsets,
}

/// The offset of each integer from the base.
#[derive(Debug, Clone)]
enum Offsets {
    U8(ScalarBuffer<u8>),
    U16(ScalarBuffer<u16>),
    U32(ScalarBuffer<u32>),
    U64(ScalarBuffer<u64>),
}

/// Evaluates `$body` for the values of any width.
macro_rules! match_width {
    ($offsets:expr, $values:ident => $body:expr) => {
        match $offsets {
            Offsets::U8($values) => $body,
            Offsets::U16($values) => $body,
            Offsets::U32($values) => $body,
            Offsets::U64($values) => $body,
        }
    };
}

impl PackedInts {
    pub(crate) fn new(buffer: Buffer, width: u8, base: i64) -> Option<Self> {
        let offsets = match width {
            1 => Offsets::U8(buffer.into()),
            2 => Offsets::U16(buffer.into()),
            4 => Offsets::U32(buffer.into()),
            8 => Offsets::U64(buffer.into()),
            _ => return None,
        };
        Some(Self { base, offsets })
    }

    /// Returns the integer at `index`, which must be in bounds.
    #[allow(clippy::useless_conversion, reason = "no-op for the widest only")]
    pub fn signed(&self, index: usize) -> i64 {
        let offsets = match_width!(&self.offsets, values => u64::from(values[index]));
        self.base.wrapping_add(offsets.cast_signed())
    }

    /// Returns the integer at `index`, which must be in bounds and not negative.
    pub fn get(&self, index: usize) -> u64 {
        self.signed(index).cast_unsigned()
    }

    /// Returns the code at `index`, which must be in bounds and fit into 32 bits.
    #[allow(clippy::cast_possible_truncation, reason = "codes have 32 bits")]
    pub fn code(&self, index: usize) -> u32 {
        match &self.offsets {
            Offsets::U8(values) => u32::from(values[index]),
            Offsets::U16(values) => u32::from(values[index]),
            Offsets::U32(values) => values[index],
            Offsets::U64(values) => values[index] as u32,
        }
    }

    /// Calls `visit` with the integer of each of `rows`, which must be in bounds.
    #[allow(clippy::useless_conversion, reason = "no-op for the widest only")]
    pub fn for_each(&self, rows: &RowBlock<'_>, mut visit: impl FnMut(i64)) {
        let base = self.base;
        match_width!(&self.offsets, values => match rows {
            RowBlock::Range(range) => {
                let values = &values[range.start as usize..range.end as usize];
                for offset in values {
                    visit(base.wrapping_add(u64::from(*offset).cast_signed()));
                }
            }
            RowBlock::List(rows) => {
                for row in *rows {
                    visit(base.wrapping_add(u64::from(values[*row as usize]).cast_signed()));
                }
            }
        });
    }

    /// Calls `visit` with each of `rows` whose integer lies in a closed interval, and with the integer.
    #[allow(clippy::cast_possible_truncation, clippy::useless_conversion, reason = "both fit into the width")]
    pub fn for_each_between(
        &self,
        interval: (i64, i64),
        rows: &RowBlock<'_>,
        mut visit: impl FnMut(u32, i64),
    ) {
        let Some((low, high)) = self.offsets_between(interval) else { return };
        let base = self.base;
        match_width!(&self.offsets, values => match rows {
            RowBlock::Range(range) => {
                let values = &values[range.start as usize..range.end as usize];
                for (first, values) in range.clone().step_by(64).zip(values.chunks(64)) {
                    let mut matches = between(values, low as _, high as _);
                    while matches != 0 {
                        let at = matches.trailing_zeros();
                        visit(first + at, base.wrapping_add(u64::from(values[at as usize]).cast_signed()));
                        matches &= matches - 1;
                    }
                }
            }
            RowBlock::List(rows) => for row in *rows {
                let offset = u64::from(values[*row as usize]);
                if low <= offset && offset <= high {
                    visit(*row, base.wrapping_add(offset.cast_signed()));
                }
            },
        });
    }

    /// Appends the codes at `rows`, which must be in bounds and fit into 32 bits.
    #[allow(clippy::cast_possible_truncation, clippy::useless_conversion, reason = "codes have 32 bits")]
    pub fn decode_codes(&self, rows: &RowBlock<'_>, out: &mut Vec<u32>) {
        match_width!(&self.offsets, values => match rows {
            RowBlock::Range(range) => {
                let values = &values[range.start as usize..range.end as usize];
                out.extend(values.iter().map(|code| u64::from(*code) as u32));
            }
            RowBlock::List(rows) => {
                out.extend(rows.iter().map(|row| u64::from(values[*row as usize]) as u32));
            }
        });
    }

    /// Calls `visit` with the code of each of `rows`, which must be in bounds and have codes of 32 bits.
    #[allow(clippy::cast_possible_truncation, reason = "codes have 32 bits")]
    pub fn for_each_code(&self, rows: &[u32], mut visit: impl FnMut(u32)) {
        match &self.offsets {
            Offsets::U8(codes) => rows.iter().for_each(|row| visit(u32::from(codes[*row as usize]))),
            Offsets::U16(codes) => rows.iter().for_each(|row| visit(u32::from(codes[*row as usize]))),
            Offsets::U32(codes) => rows.iter().for_each(|row| visit(codes[*row as usize])),
            Offsets::U64(codes) => rows.iter().for_each(|row| visit(codes[*row as usize] as u32)),
        }
    }

    /// Sets the bit of every index in `range` whose integer lies in a closed interval; `words` begins with the word of the
    /// first index.
    pub fn mark_between(&self, interval: (i64, i64), range: Range<usize>, words: &mut [u64]) {
        let Some((low, high)) = self.offsets_between(interval) else { return };
        #[allow(clippy::cast_possible_truncation, reason = "both fit into the width")]
        match &self.offsets {
            Offsets::U8(values) => mark(values, (low as u8, high as u8), range, words),
            Offsets::U16(values) => mark(values, (low as u16, high as u16), range, words),
            Offsets::U32(values) => mark(values, (low as u32, high as u32), range, words),
            Offsets::U64(values) => mark(values, (low, high), range, words),
        }
    }

    /// Returns the offsets of a closed interval, as far as this width has them; `None` if it has none.
    fn offsets_between(&self, (first, last): (i64, i64)) -> Option<(u64, u64)> {
        let max = match_width!(&self.offsets, values => largest(values));
        let top = self.base.saturating_add_unsigned(max);
        let low = first.max(self.base).wrapping_sub(self.base).cast_unsigned();
        let high = last.min(top).wrapping_sub(self.base).cast_unsigned();
        (first <= last && last >= self.base && first <= top).then_some((low, high))
    }
}

/// Returns the greatest unsigned integer of this width.
fn largest<T>(_values: &ScalarBuffer<T>) -> u64
where
    T: arrow_buffer::ArrowNativeType,
{
    u64::MAX >> (64 - 8 * size_of::<T>())
}

fn mark<T: Copy + PartialOrd>(values: &[T], (low, high): (T, T), range: Range<usize>, words: &mut [u64]) {
    let (mut index, first) = (range.start, range.start / 64);
    while index < range.end {
        let end = (index / 64 * 64 + 64).min(range.end);
        words[index / 64 - first] |= between(&values[index..end], low, high) << (index % 64);
        index = end;
    }
}

/// Returns one bit for each of at most 64 values: whether it lies between `low` and `high`, inclusive. The
/// comparisons vectorize, and one multiplication gathers eight results into eight bits.
#[allow(clippy::needless_bitwise_bool, reason = "branchless")]
fn between<T: Copy + PartialOrd>(values: &[T], low: T, high: T) -> u64 {
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut matches = [0_u8; 64];
    for (is_match, value) in matches.iter_mut().zip(values) {
        *is_match = u8::from((low <= *value) & (*value <= high));
    }
    let (eights, _) = matches.as_chunks::<8>();
    let bytes = eights.iter().map(|eight| u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56);
    bytes.zip((0..).step_by(8)).fold(0, |bits, (byte, shift)| bits | byte << shift)
}
