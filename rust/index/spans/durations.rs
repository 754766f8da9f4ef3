//! The durations of spans: end minus start.
//!
//! A table stores the magnitude of each duration in two bytes, like a floating-point number with an 11-bit
//! mantissa (2,048 magnitudes per octave). An interval decides spans by their magnitudes, 64 at a time. Only
//! spans with a magnitude at one of its bounds need a comparison of their times.

use crate::bitmap::{SelectionMask, ones};
use crate::index::PackedInts;

/// Times are stored in microseconds; conditions use milliseconds.
const MICROS_PER_MILLI: u64 = 1_000;
/// The number of bits that a magnitude keeps after the highest one.
const BITS: u32 = 11;
/// The magnitude of the longest durations, two months or more.
const GREATEST: u16 = u16::MAX - 1;

/// The columns that hold the durations of a table's spans.
pub(super) struct Durations<'t> {
    pub(super) starts: &'t PackedInts,
    pub(super) ends: &'t PackedInts,
    pub(super) magnitudes: &'t PackedInts,
}

/// Returns the stored form of a duration: 0 if the span has not ended, otherwise the magnitude plus 1.
pub(super) fn magnitude(start: u64, end: u64) -> u16 {
    if end == 0 { 0 } else { magnitude_of(end.saturating_sub(start)) + 1 }
}

/// Returns the magnitude of a number of microseconds. It is monotonic, and exact below 4,096.
fn magnitude_of(micros: u64) -> u16 {
    let shift = micros.checked_ilog2().unwrap_or_default().saturating_sub(BITS);
    let magnitude = (u64::from(shift) << BITS) + (micros >> shift);
    u16::try_from(magnitude).unwrap_or(GREATEST).min(GREATEST)
}

impl Durations<'_> {
    /// Sets the bit of each selected span that has ended with a duration in one of the closed `intervals` of
    /// milliseconds.
    pub(super) fn mark(&self, intervals: impl Iterator<Item = (i64, i64)>, marked: SelectionMask<'_>) {
        let SelectionMask { range, selected, words } = marked;
        for (least, greatest) in intervals.filter_map(in_micros) {
            let (low, high) = (magnitude_of(least), magnitude_of(greatest));
            let is_low_whole = least.checked_sub(1).is_none_or(|before| magnitude_of(before) < low);
            let is_high_whole = greatest.checked_add(1).is_none_or(|after| magnitude_of(after) > high);
            let whole =
                (i64::from(low) + i64::from(!is_low_whole), i64::from(high) - i64::from(!is_high_whole));
            let mark = |(low, high): (i64, i64), words: &mut [u64]| {
                self.magnitudes.mark_within(
                    [(low + 1, high + 1)],
                    SelectionMask { range: range.clone(), selected, words },
                );
            };
            mark(whole, words);
            let mut at_bounds = vec![0; words.len()];
            for (_, bound) in
                [(is_low_whole, low), (is_high_whole, high)].into_iter().filter(|(whole, _)| !whole)
            {
                mark((bound.into(), bound.into()), &mut at_bounds);
            }
            for (index, open) in at_bounds.iter().enumerate() {
                for bit in ones(0, *open & !words[index]) {
                    let ordinal = (range.start / 64 + index) * 64 + bit as usize;
                    let duration = self.ends.get(ordinal).saturating_sub(self.starts.get(ordinal));
                    words[index] |= u64::from((least..=greatest).contains(&duration)) << bit;
                }
            }
        }
    }
}

/// Returns the microseconds whose whole milliseconds are in a closed interval; `None` if the interval is
/// empty.
fn in_micros((least, greatest): (i64, i64)) -> Option<(u64, u64)> {
    let greatest = u64::try_from(greatest).ok()?;
    let least = u64::try_from(least).unwrap_or_default();
    let end = greatest.saturating_mul(MICROS_PER_MILLI).saturating_add(MICROS_PER_MILLI - 1);
    let start = least.saturating_mul(MICROS_PER_MILLI);
    (start <= end).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn magnitudes_grow_with_durations() {
        assert_eq!([0, 1, 4_095, 4_096, 4_097, 4_098].map(magnitude_of), [0, 1, 4_095, 4_096, 4_096, 4_097]);
        assert_eq!([1 << 43, u64::MAX].map(magnitude_of), [GREATEST, GREATEST]);
        let around = (2..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1, 3 << (bit - 1)]);
        let magnitudes: Vec<u16> = around.map(magnitude_of).collect();
        assert!(magnitudes.is_sorted(), "{magnitudes:?}");
    }

    proptest! {
        #[test]
        fn a_duration_is_the_end_less_the_start(
            (spread, spans) in prop_oneof![Just(90_u64), Just(70_000), Just(u64::from(u32::MAX) * 2)].prop_flat_map(
                |spread| (Just(spread), prop::collection::vec((1..=spread, prop_oneof![Just(0), 1..=spread]), 1..200))
            ),
            bounds in prop::collection::vec((-2..5_i64, -2..9_000_000_i64), 0..3),
            cut in 0..100_usize,
            selected in prop::collection::vec(prop_oneof![Just(0), any::<u64>()], 4),
        ) {
            let (starts, ends): (Vec<u64>, Vec<u64>) = spans.iter().copied().unzip();
            let magnitudes: Vec<u64> = spans.iter().map(|(start, end)| magnitude(*start, *end).into()).collect();
            let durations = Durations {
                starts: &PackedInts::of(&starts),
                ends: &PackedInts::of(&ends),
                magnitudes: &PackedInts::of(&magnitudes),
            };
            let ordinals = cut.min(spans.len())..spans.len();
            let length = ordinals.end.div_ceil(64) - ordinals.start / 64;
            let (mut within, mut of_selected) = (vec![0; length], vec![0; length]);
            let every = SelectionMask { range: ordinals.clone(), selected: None, words: &mut within };
            durations.mark(bounds.iter().copied(), every);
            let selected = Some(selected.get(..length).expect("enough words"));
            durations.mark(bounds.iter().copied(), SelectionMask { range: ordinals.clone(), selected, words: &mut of_selected });
            let has = |words: &[u64], ordinal: usize| words[ordinal / 64 - ordinals.start / 64] >> (ordinal % 64) & 1 == 1;
            for ordinal in ordinals.clone() {
                let (start, end) = spans[ordinal];
                let milliseconds = (end.saturating_sub(start) / 1_000).cast_signed();
                let is_within = bounds.iter().any(|(least, greatest)| (*least..=*greatest).contains(&milliseconds));
                prop_assert_eq!(has(&within, ordinal), end != 0 && is_within, "ordinal {} of {}", ordinal, spread);
            }
            for ((selected, within), of_selected) in selected.into_iter().flatten().zip(&within).zip(&of_selected) {
                prop_assert_eq!(*of_selected, within & selected);
            }
        }
    }
}
