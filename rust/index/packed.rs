//! Whole numbers in as few bytes as their values allow.

use std::ops::Range;

use arrow_buffer::{Buffer, ScalarBuffer};

/// A section of fixed-width numbers, read in place.
pub(super) type Words<T> = ScalarBuffer<T>;

/// Numbers in one, two, four or eight bytes each, counted from a base.
#[derive(Debug, Clone)]
pub struct Ints {
    base: i64,
    above: Above,
}

/// What each number is above the base.
#[derive(Debug, Clone)]
enum Above {
    U8(ScalarBuffer<u8>),
    U16(ScalarBuffer<u16>),
    U32(ScalarBuffer<u32>),
    U64(ScalarBuffer<u64>),
}

/// Does the same with the numbers of every width.
macro_rules! of_any_width {
    ($above:expr, $values:ident => $body:expr) => {
        match $above {
            Above::U8($values) => $body,
            Above::U16($values) => $body,
            Above::U32($values) => $body,
            Above::U64($values) => $body,
        }
    };
}

impl Ints {
    pub(super) fn new(buffer: Buffer, width: u8, base: i64) -> Option<Self> {
        let above = match width {
            1 => Above::U8(buffer.into()),
            2 => Above::U16(buffer.into()),
            4 => Above::U32(buffer.into()),
            8 => Above::U64(buffer.into()),
            _ => return None,
        };
        Some(Self { base, above })
    }

    /// Returns the number at `place`, which must be there.
    #[allow(clippy::useless_conversion, reason = "of the widest only")]
    pub fn signed(&self, place: usize) -> i64 {
        let above = of_any_width!(&self.above, values => u64::from(values[place]));
        self.base.wrapping_add(above.cast_signed())
    }

    /// Returns the number at `place`, which must be there and not negative.
    pub fn get(&self, place: usize) -> u64 {
        self.signed(place).cast_unsigned()
    }

    /// Returns the code at `place`, which must be there and be one.
    #[allow(clippy::cast_possible_truncation, reason = "codes have 32 bits")]
    pub fn code(&self, place: usize) -> u32 {
        match &self.above {
            Above::U8(values) => u32::from(values[place]),
            Above::U16(values) => u32::from(values[place]),
            Above::U32(values) => values[place],
            Above::U64(values) => values[place] as u32,
        }
    }

    /// Sets the bit of every place in `places` whose number lies between two, both included.
    pub fn mark_between(&self, (first, last): (i64, i64), places: Range<usize>, words: &mut [u64]) {
        let most = of_any_width!(&self.above, values => largest(values));
        let top = self.base.saturating_add_unsigned(most);
        if first > last || last < self.base || first > top {
            return;
        }
        let low = first.max(self.base).wrapping_sub(self.base).cast_unsigned();
        let high = last.min(top).wrapping_sub(self.base).cast_unsigned();
        #[allow(clippy::cast_possible_truncation, reason = "both lie in what the width can hold")]
        match &self.above {
            Above::U8(values) => mark(values, (low as u8, high as u8), places, words),
            Above::U16(values) => mark(values, (low as u16, high as u16), places, words),
            Above::U32(values) => mark(values, (low as u32, high as u32), places, words),
            Above::U64(values) => mark(values, (low, high), places, words),
        }
    }
}

/// Returns the greatest number of this width.
fn largest<T>(_values: &ScalarBuffer<T>) -> u64
where
    T: arrow_buffer::ArrowNativeType,
{
    u64::MAX >> (64 - 8 * size_of::<T>())
}

fn mark<T: Copy + PartialOrd>(values: &[T], (low, high): (T, T), places: Range<usize>, words: &mut [u64]) {
    let mut place = places.start;
    while place < places.end {
        let end = (place / 64 * 64 + 64).min(places.end);
        words[place / 64] |= between(&values[place..end], low, high) << (place % 64);
        place = end;
    }
}

/// Returns a bit for each of at most 64 values: whether it lies between two. The comparisons are
/// done many at a time, and eight answers become eight bits by one multiplication.
#[allow(clippy::needless_bitwise_bool, reason = "without a branch to guess wrong")]
fn between<T: Copy + PartialOrd>(values: &[T], low: T, high: T) -> u64 {
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut answers = [0_u8; 64];
    for (answer, value) in answers.iter_mut().zip(values) {
        *answer = u8::from((low <= *value) & (*value <= high));
    }
    let (eights, _) = answers.as_chunks::<8>();
    let bytes = eights.iter().map(|eight| u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56);
    bytes.zip((0..).step_by(8)).fold(0, |bits, (byte, shift)| bits | byte << shift)
}
