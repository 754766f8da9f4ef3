//! The durations of spans: their ends less their starts.

use std::ops::Range;

use fearless_simd::{Level, dispatch};

use crate::index::{MarkedRange, PackedInts, between};

/// Microseconds in a millisecond: times are stored in the one, durations are asked in the other.
const MICROS_PER_MILLI: u64 = 1_000;

/// The durations of the spans of a table.
pub(super) struct Durations<'t> {
    pub(super) starts: &'t PackedInts,
    pub(super) ends: &'t PackedInts,
}

impl Durations<'_> {
    /// Sets the bit of each place that is asked and has ended after a duration in one of these closed intervals of
    /// milliseconds.
    pub(super) fn mark(&self, intervals: impl Iterator<Item = (i64, i64)>, marked: MarkedRange<'_>) {
        let intervals: Vec<(u64, u64)> = intervals.filter_map(in_micros).collect();
        let MarkedRange { range, asked, words } = marked;
        dispatch!(Level::new(), _simd => self.mark_words(&intervals, (range, asked), words));
    }

    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "it is compiled once for each kind of processor, inside its caller"
    )]
    fn mark_words(
        &self,
        intervals: &[(u64, u64)],
        (places, asked): (Range<usize>, Option<&[u64]>),
        words: &mut [u64],
    ) {
        let (mut place, first) = (places.start, places.start / 64);
        while place < places.end {
            let end = (place / 64 * 64 + 64).min(places.end);
            let asked = asked.map_or(u64::MAX, |asked| asked[place / 64 - first]);
            if asked != 0 {
                let bits = self.of_word(place..end, intervals) << (place % 64);
                words[place / 64 - first] |= bits & asked;
            }
            place = end;
        }
    }

    /// Returns one bit for each of at most 64 places: whether it has ended after a duration in an interval.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "it is compiled once for each kind of processor, inside its caller"
    )]
    fn of_word(&self, places: Range<usize>, intervals: &[(u64, u64)]) -> u64 {
        // An end of 0 is none: beyond the places that are asked, there is none.
        let (mut starts, mut ends) = ([0_u32; 64], [0_u32; 64]);
        let is_narrow = self.starts.decode_narrow(places.clone(), &mut starts)
            && self.ends.decode_narrow(places.clone(), &mut ends);
        if is_narrow {
            let ended = between(&ends, 1, u32::MAX);
            ends.iter_mut().zip(&starts).for_each(|(end, start)| *end = end.saturating_sub(*start));
            let narrow = |bound: u64| u32::try_from(bound).unwrap_or(u32::MAX);
            let fitting = intervals.iter().filter(|(least, _)| u32::try_from(*least).is_ok());
            let within = fitting.map(|(least, greatest)| between(&ends, narrow(*least), narrow(*greatest)));
            return within.fold(0, |bits, own| bits | own) & ended;
        }
        let (mut starts, mut ends) = ([0_u64; 64], [0_u64; 64]);
        self.starts.decode(places.clone(), &mut starts);
        self.ends.decode(places, &mut ends);
        let ended = between(&ends, 1, u64::MAX);
        ends.iter_mut().zip(&starts).for_each(|(end, start)| *end = end.saturating_sub(*start));
        let within = intervals.iter().map(|(least, greatest)| between(&ends, *least, *greatest));
        within.fold(0, |bits, own| bits | own) & ended
    }
}

/// Returns the microseconds whose whole milliseconds lie in a closed interval; `None` if there are none.
fn in_micros((least, greatest): (i64, i64)) -> Option<(u64, u64)> {
    let greatest = u64::try_from(greatest).ok()?;
    let least = u64::try_from(least).unwrap_or_default();
    let end = greatest.saturating_mul(MICROS_PER_MILLI).saturating_add(MICROS_PER_MILLI - 1);
    Some((least.saturating_mul(MICROS_PER_MILLI), end))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_duration_is_the_end_less_the_start(
            (spread, spans) in prop_oneof![Just(90_u64), Just(70_000), Just(u64::from(u32::MAX) * 2)].prop_flat_map(
                |spread| (Just(spread), prop::collection::vec((1..=spread, prop_oneof![Just(0), 1..=spread]), 1..200))
            ),
            bounds in prop::collection::vec((-2..5_i64, -2..9_000_000_i64), 0..3),
            cut in 0..100_usize,
            asked in prop::collection::vec(prop_oneof![Just(0), any::<u64>()], 4),
        ) {
            let (starts, ends): (Vec<u64>, Vec<u64>) = spans.iter().copied().unzip();
            let durations = Durations { starts: &PackedInts::of(&starts), ends: &PackedInts::of(&ends) };
            let places = cut.min(spans.len())..spans.len();
            let length = places.end.div_ceil(64) - places.start / 64;
            let (mut within, mut of_asked) = (vec![0; length], vec![0; length]);
            let every = MarkedRange { range: places.clone(), asked: None, words: &mut within };
            durations.mark(bounds.iter().copied(), every);
            let asked = Some(asked.get(..length).expect("enough words"));
            durations.mark(bounds.iter().copied(), MarkedRange { range: places.clone(), asked, words: &mut of_asked });
            let has = |words: &[u64], place: usize| words[place / 64 - places.start / 64] >> (place % 64) & 1 == 1;
            for place in places.clone() {
                let (start, end) = spans[place];
                let milliseconds = (end.saturating_sub(start) / 1_000).cast_signed();
                let is_within = bounds.iter().any(|(least, greatest)| (*least..=*greatest).contains(&milliseconds));
                prop_assert_eq!(has(&within, place), end != 0 && is_within, "place {} of {}", place, spread);
            }
            for ((asked, within), of_asked) in asked.into_iter().flatten().zip(&within).zip(&of_asked) {
                prop_assert_eq!(*of_asked, within & asked);
            }
        }
    }
}
