//! Finds the value at a rank of the selected rows by counting them in the order of values.
//!
//! The values that are left are divided into bins with about as many rows each. Bins are counted from the nearer end until
//! the rank is reached, which leaves one of them, and that is divided again. So rows behind the rank are hardly counted, and
//! those before it once; where bins begin is looked for only as far as they are counted.

use std::ops::Range;

use crate::error::Result;
use crate::query::cancellation::CancellationToken;
use crate::query::pool::{in_rounds, threads};
use crate::query::rows::sorted::values::Values;

/// At how many rows values are divided.
const DIVISIONS: usize = 32;

/// Bins per thread that are counted in one round.
const BINS_PER_THREAD: usize = 1;

/// With at most so many rows left, bins are not counted on several threads.
const MAX_INLINE_ROWS: usize = 1 << 15;

/// Values that are left.
struct Left {
    /// Where they are in the order of every part.
    ranges: Bin,
    /// How many selected rows of every part have less than these values, and how many have one of them.
    below: Vec<usize>,
    inside: Vec<usize>,
}

/// Where the values of a bin are in the order of every part.
type Bin = Vec<Range<usize>>;

impl Left {
    fn rows(&self) -> usize {
        self.ranges.iter().map(ExactSizeIterator::len).sum()
    }
}

impl Values<'_, '_> {
    /// Steps to the value that has the selected row with `offset` others before it; returns how many come before that
    /// value. More than `offset` rows are selected.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(in crate::query) fn jump(&mut self, offset: usize, cancel: &CancellationToken) -> Result<usize> {
        let counts: Vec<usize> = self.selections.iter().map(|selection| selection.count).collect();
        let total = sum(&counts);
        let rank = if self.sort.ascending { offset } else { total - 1 - offset };
        self.for_each_part(total, cancel, |part, _| part.selected.become_bitmap())?;
        let ranges = self.parts.iter().map(|part| 0..part.order.count()).collect();
        let mut left = Left { ranges, below: vec![0; counts.len()], inside: counts };
        while let Some(bounds) = self.bounds(&left) {
            left = self.narrowed(left, &bounds, rank, cancel)?;
        }
        let Left { ranges, below, inside } = left;
        let before = if self.sort.ascending { sum(&below) } else { total - sum(&below) - sum(&inside) };
        for (index, range) in ranges.into_iter().enumerate() {
            let part = &mut self.parts[index];
            if self.sort.ascending {
                part.left = self.selections[index].count - below[index];
                part.positions.start = range.start;
            } else {
                part.left = below[index] + inside[index];
                part.positions.end = range.end;
            }
        }
        Ok(before)
    }

    /// Returns the values at which those that are left are divided, ascending: some values of the part that has most rows,
    /// and the next greater ones, so that what many rows have becomes a bin of its own. `None` if one value is left.
    fn bounds(&self, left: &Left) -> Option<Vec<i64>> {
        let ranges = left.ranges.iter().enumerate().filter(|(_, range)| !range.is_empty());
        let ends = ranges
            .clone()
            .map(|(part, range)| (self.value(part, range.start), self.value(part, range.end - 1)));
        let least = ends.clone().map(|(least, _)| least).min();
        if least == ends.map(|(_, greatest)| greatest).max() {
            return None;
        }
        let (part, range) = ranges.max_by_key(|(_, range)| range.len())?;
        let position = |division: usize| range.start + range.len() * division / DIVISIONS;
        let values = (0..DIVISIONS).map(|division| self.value(part, position(division)));
        let mut bounds: Vec<i64> =
            values.flat_map(|value| [Some(value), value.checked_add(1)]).flatten().collect();
        bounds.dedup();
        Some(bounds)
    }

    /// Returns the bin that has the selected row at `rank`.
    fn narrowed(&self, left: Left, bounds: &[i64], rank: usize, cancel: &CancellationToken) -> Result<Left> {
        let rows = left.rows();
        let Left { ranges: mut uncounted, below, inside } = left;
        let is_from_least = rank - sum(&below) < sum(&inside) / 2;
        // How many rows come before the wanted one, from the nearer end.
        let before = if is_from_least { rank - sum(&below) } else { sum(&below) + sum(&inside) - 1 - rank };
        // The bound at which each bin ends; the last one has none.
        let bounds = bounds.iter().copied().map(Some);
        let bins: Vec<Option<i64>> =
            if is_from_least { bounds.chain([None]).collect() } else { bounds.rev().chain([None]).collect() };
        let at_once = if rows <= MAX_INLINE_ROWS { 1 } else { threads() * BINS_PER_THREAD };
        let mut counted = vec![0; self.parts.len()];
        for round in bins.chunks(at_once) {
            cancel.check()?;
            let round: Vec<Bin> =
                round.iter().map(|bound| self.cut(&mut uncounted, *bound, is_from_least)).collect();
            let counts = match &round[..] {
                [bin] => vec![self.count(bin)],
                round => in_rounds(round, BINS_PER_THREAD, |(_, bin)| Ok(self.count(bin)))?,
            };
            for (ranges, in_bin) in round.into_iter().zip(counts) {
                if sum(&counted) + sum(&in_bin) > before {
                    let passed = |part: usize| {
                        if is_from_least {
                            counted[part]
                        } else {
                            inside[part] - counted[part] - in_bin[part]
                        }
                    };
                    let below = below.iter().enumerate().map(|(part, below)| below + passed(part)).collect();
                    return Ok(Left { ranges, below, inside: in_bin });
                }
                counted.iter_mut().zip(in_bin).for_each(|(counted, in_bin)| *counted += in_bin);
            }
        }
        unreachable!("a selected row has the rank")
    }

    /// Cuts off, from the end that is counted from, the values up to a bound, or all of them.
    fn cut(&self, ranges: &mut [Range<usize>], bound: Option<i64>, is_from_least: bool) -> Bin {
        let parts = self.parts.iter().zip(self.selections).zip(ranges);
        let cut = parts.map(|((part, selection), range)| {
            let is_less =
                |row: usize| bound.is_some_and(|bound| selection.view.number(self.sort.by, row) < bound);
            let Range { start, end } = range.clone();
            match (bound, is_from_least) {
                (None, _) => std::mem::replace(range, end..end),
                (Some(_), true) => {
                    range.start = part.order.gallop_up(start, end, is_less);
                    start..range.start
                }
                (Some(_), false) => {
                    range.end = part.order.gallop_down(start, end, is_less);
                    range.end..end
                }
            }
        });
        cut.collect()
    }

    /// Returns how many rows of every part are selected in a bin.
    fn count(&self, bin: &Bin) -> Vec<usize> {
        let parts = self.parts.iter().zip(bin);
        parts.map(|(part, range)| part.order.count_in(range.clone(), part.selected.words())).collect()
    }
}

fn sum(counts: &[usize]) -> usize {
    counts.iter().sum()
}
