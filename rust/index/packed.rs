//! Integers packed into as few bytes as their range allows.

use arrow_buffer::{Buffer, ScalarBuffer};

use super::bits::ones;
use super::marks::{CodeSet, MarkedRange};
use super::row_blocks::RowBlock;

/// A section of numbers of one width, read in place.
pub(super) type FixedWidth<T> = ScalarBuffer<T>;

/// Values that are compared before those that match are visited.
const MARKED_AT_ONCE: usize = 1_024;

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

    /// Returns integers that are not negative, packed as in a file.
    #[cfg(test)]
    pub(crate) fn of(values: &[u64]) -> Self {
        let base = values.iter().min().copied().unwrap_or_default();
        let (bytes, width) = pack(values.iter().map(|value| value - base));
        let width = u8::try_from(width).expect("a width");
        Self::new(Buffer::from_vec(bytes), width, base.cast_signed()).expect("a width of integers")
    }

    /// Returns the integer at `index`, which must be in bounds.
    #[inline]
    #[allow(clippy::useless_conversion, reason = "no-op for the widest only")]
    pub fn signed(&self, index: usize) -> i64 {
        let offsets = match_width!(&self.offsets, values => u64::from(values[index]));
        self.base.wrapping_add(offsets.cast_signed())
    }

    /// Returns the integer at `index`, which must be in bounds and not negative.
    #[inline]
    pub fn get(&self, index: usize) -> u64 {
        self.signed(index).cast_unsigned()
    }

    /// Returns the code at `index`, which must be in bounds and fit into 32 bits.
    #[inline]
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
                let mut words = [0_u64; MARKED_AT_ONCE / 64];
                for (first, values) in range.clone().step_by(MARKED_AT_ONCE).zip(values.chunks(MARKED_AT_ONCE)) {
                    words.fill(0);
                    let marked = MarkedRange { range: 0..values.len(), asked: None, words: &mut words };
                    marked.set_between(values, low as _, high as _);
                    for at in words.iter().enumerate().flat_map(|(index, word)| ones(index, *word)) {
                        visit(first + at, base.wrapping_add(u64::from(values[at as usize]).cast_signed()));
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

    /// Sets the bit of every index that is asked and whose integer lies in a closed interval.
    pub fn mark_between(&self, interval: (i64, i64), marks: MarkedRange<'_>) {
        let Some((low, high)) = self.offsets_between(interval) else { return };
        #[allow(clippy::cast_possible_truncation, reason = "both fit into the width")]
        match &self.offsets {
            Offsets::U8(values) => marks.set_between(values, low as u8, high as u8),
            Offsets::U16(values) => marks.set_between(values, low as u16, high as u16),
            Offsets::U32(values) => marks.set_between(values, low as u32, high as u32),
            Offsets::U64(values) => marks.set_between(values, low, high),
        }
    }

    /// Sets the bit of every index that is asked and whose code is in a set.
    pub fn mark_codes(&self, set: &CodeSet, marks: MarkedRange<'_>) {
        match &self.offsets {
            Offsets::U8(codes) => {
                let bytes = set.of_bytes();
                marks.set_codes(codes, |code| bytes[usize::from(code)]);
            }
            Offsets::U16(codes) => {
                let bytes = set.of_shorts();
                marks.set_codes(codes, |code| bytes[usize::from(code)]);
            }
            Offsets::U32(codes) => marks.set_codes(codes, |code| set.byte(u64::from(code))),
            Offsets::U64(codes) => marks.set_codes(codes, |code| set.byte(code)),
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

/// Returns offsets in as few bytes each as the greatest needs, little endian, and that number of bytes.
pub(super) fn pack(offsets: impl Iterator<Item = u64> + Clone) -> (Vec<u8>, usize) {
    let range = offsets.clone().max().unwrap_or_default();
    let width = [1, 2, 4].into_iter().find(|width| range >> (8 * width) == 0).unwrap_or(8);
    let mut bytes = Vec::new();
    offsets.for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()[..width]));
    (bytes, width)
}

/// Returns the greatest unsigned integer of this width.
fn largest<T>(_values: &ScalarBuffer<T>) -> u64
where
    T: arrow_buffer::ArrowNativeType,
{
    u64::MAX >> (64 - 8 * size_of::<T>())
}
