//! Integers packed into as few bytes as their range allows.

use arrow_buffer::{Buffer, ScalarBuffer};

use crate::bitmap::{CodeSet, RowBlock, SelectionMask, ones};

/// A section of numbers of one width, read in place.
pub(super) type FixedWidth<T> = ScalarBuffer<T>;

/// The number of values that are compared before the matching ones are visited.
const MARKED_AT_ONCE: usize = 1_024;

/// Integers stored as 1, 2, 4 or 8 byte offsets from a base.
#[derive(Debug, Clone)]
pub struct PackedInts {
    base: i64,
    offsets: Offsets,
}

#[derive(Debug, Clone)]
enum Offsets {
    U8(ScalarBuffer<u8>),
    U16(ScalarBuffer<u16>),
    U32(ScalarBuffer<u32>),
    U64(ScalarBuffer<u64>),
}

/// Evaluates `$body` for offsets of any width.
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

    /// Packs integers that are not negative, as in a file.
    #[cfg(test)]
    pub(crate) fn of(values: &[u64]) -> Self {
        let base = values.iter().min().copied().unwrap_or_default();
        let (bytes, width) = pack(values.iter().map(|value| value - base));
        let width = u8::try_from(width).expect("a width");
        Self::new(Buffer::from_vec(bytes), width, base.cast_signed()).expect("a width of integers")
    }

    /// Returns a lower bound of the integers.
    pub(super) fn base(&self) -> i64 {
        self.base
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

    /// Calls `visit` with the row and the integer of each of `rows` whose integer is in a closed interval.
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
                    let marked = SelectionMask { range: 0..values.len(), selected: None, words: &mut words };
                    marked.set_within(values, &[(low as _, high as _)]);
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

    /// Calls `visit` with the code of each of `rows`, which must be in bounds. The codes must fit into 32
    /// bits.
    #[allow(clippy::cast_possible_truncation, reason = "codes have 32 bits")]
    pub fn for_each_code(&self, rows: &[u32], mut visit: impl FnMut(u32)) {
        match &self.offsets {
            Offsets::U8(codes) => rows.iter().for_each(|row| visit(u32::from(codes[*row as usize]))),
            Offsets::U16(codes) => rows.iter().for_each(|row| visit(u32::from(codes[*row as usize]))),
            Offsets::U32(codes) => rows.iter().for_each(|row| visit(codes[*row as usize])),
            Offsets::U64(codes) => rows.iter().for_each(|row| visit(codes[*row as usize] as u32)),
        }
    }

    /// Sets the bit of every selected index whose integer is in one of the closed `intervals`.
    pub fn mark_within(&self, intervals: impl IntoIterator<Item = (i64, i64)>, marks: SelectionMask<'_>) {
        let within = intervals.into_iter().filter_map(|interval| self.offsets_between(interval));
        match_width!(&self.offsets, values => marks.set_within(values, &narrowed(within)));
    }

    /// Sets the bit of every selected index whose code is in a set.
    pub fn mark_codes(&self, set: &CodeSet, marks: SelectionMask<'_>) {
        if let Some(intervals) = set.intervals() {
            return self.mark_within(intervals.iter().copied(), marks);
        }
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

    /// Returns a closed interval as offsets, clipped to the width of the column; `None` if it is empty then.
    fn offsets_between(&self, (first, last): (i64, i64)) -> Option<(u64, u64)> {
        let max = match_width!(&self.offsets, values => largest(values));
        let top = self.base.saturating_add_unsigned(max);
        let low = first.max(self.base).wrapping_sub(self.base).cast_unsigned();
        let high = last.min(top).wrapping_sub(self.base).cast_unsigned();
        (first <= last && last >= self.base && first <= top).then_some((low, high))
    }
}

/// Returns the intervals whose bounds fit into `T`, as that type.
fn narrowed<T: TryFrom<u64>>(intervals: impl Iterator<Item = (u64, u64)>) -> Vec<(T, T)> {
    let narrow = |(low, high): (u64, u64)| Some((T::try_from(low).ok()?, T::try_from(high).ok()?));
    intervals.filter_map(narrow).collect()
}

/// Packs offsets, little endian, in the width that the greatest one needs. Returns the bytes and the width.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns integers of every width.
    fn integers() -> impl Strategy<Value = Vec<u64>> {
        let largest = prop_oneof![Just(9_u64), Just(300), Just(70_000), Just(1 << 40)];
        largest.prop_flat_map(|largest| prop::collection::vec(0..=largest, 0..300))
    }

    fn marked(
        length: usize,
        cut: usize,
        selected: Option<&[u64]>,
        mark: impl Fn(SelectionMask<'_>),
    ) -> Vec<usize> {
        let range = cut.min(length)..length;
        let first = range.start / 64;
        let mut words = vec![0; length.div_ceil(64) - first];
        mark(SelectionMask {
            range,
            selected: selected.map(|selected| &selected[first..]),
            words: &mut words,
        });
        words
            .iter()
            .enumerate()
            .flat_map(|(index, word)| ones(first + index, *word))
            .map(|at| at as usize)
            .collect()
    }

    proptest! {
        #[test]
        fn what_lies_in_intervals_is_marked(
            integers in integers(), bounds in prop::collection::vec((-5..80_000_i64, -5..80_000_i64), 0..5),
            cut in 0..200_usize, selected in prop::collection::vec(any::<u64>(), 5),
        ) {
            let packed = PackedInts::of(&integers);
            let is_within = |at: &usize| {
                let integer = integers[*at].cast_signed();
                bounds.iter().any(|(first, last)| (*first..=*last).contains(&integer))
            };
            let expected: Vec<usize> = (cut.min(integers.len())..integers.len()).filter(is_within).collect();
            let mark = |marks: SelectionMask<'_>| packed.mark_within(bounds.iter().copied(), marks);
            prop_assert_eq!(marked(integers.len(), cut, None, mark), expected.clone());
            let is_selected = |at: &usize| selected[at / 64] >> (at % 64) & 1 == 1;
            let expected: Vec<usize> = expected.into_iter().filter(is_selected).collect();
            prop_assert_eq!(marked(integers.len(), cut, Some(&selected), mark), expected);
        }

        #[test]
        fn codes_of_a_set_are_marked(
            (codes, sets) in (1..600_u64).prop_flat_map(|codes| (
                prop::collection::vec(0..codes, 0..300),
                // A few long runs, or many short ones.
                prop::collection::vec((any::<bool>(), any::<bool>(), 1..200_u64), 1..4)
                    .prop_map(move |sets| sets.into_iter().map(|(is_first, is_any, length)| {
                        (0..codes).map(|code| is_any && (code / length % 2 == 0) == is_first).collect::<Vec<bool>>()
                    }).collect::<Vec<_>>()),
            )),
            is_or in any::<bool>(), cut in 0..200_usize,
        ) {
            // At least one row has the first code.
            let codes: Vec<u64> = [0].into_iter().chain(codes).collect();
            let mut expected = sets[0].clone();
            let mut set: CodeSet = expected.iter().copied().collect();
            for other in &sets[1..] {
                expected.iter_mut().zip(other).for_each(|(own, other)| if is_or { *own |= other } else { *own &= other });
                let other = other.iter().copied().collect();
                if is_or { set.unite(&other) } else { set.intersect(&other) }
            }
            for (code, expected) in expected.iter().enumerate() {
                prop_assert_eq!(set.contains(code), *expected);
            }
            let packed = PackedInts::of(&codes);
            let has = |at: &usize| expected[usize::try_from(codes[*at]).expect("a code")];
            let expected: Vec<usize> = (cut.min(codes.len())..codes.len()).filter(has).collect();
            prop_assert_eq!(marked(codes.len(), cut, None, |marks| packed.mark_codes(&set, marks)), expected);
        }
    }
}
