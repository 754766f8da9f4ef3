//! Finds the value at a rank of the selected rows by counting rows in the order of values.
//!
//! The remaining values are divided into bins with about the same number of rows. Bins are counted from the nearer end
//! until the rank is reached. The bin with the rank is divided again. Rows beyond the rank are therefore rarely
//! counted, and rows before it are counted once. The bounds of bins are located only as far as bins are counted.

use std::ops::Range;

use crate::error::Result;
use crate::query::cancellation::CancellationToken;
use crate::query::pool::{par_map_chunked, threads};
use crate::query::rows::sorted::values::Values;

/// The number of rows at which the remaining values are divided.
const DIVISIONS: usize = 32;

/// Bins per thread that are counted in one round.
const BINS_PER_THREAD: usize = 1;

/// Up to this many remaining rows, bins are counted on one thread.
const MAX_INLINE_ROWS: usize = 1 << 15;

/// Values that may have the rank.
struct Remaining {
    /// The range of these values in the order of every part.
    ranges: Bin,
    /// The number of selected rows of every part with a lower value, and with one of these values.
    below: Vec<usize>,
    inside: Vec<usize>,
}

/// The range of the values of a bin in the order of every part.
type Bin = Vec<Range<usize>>;

impl Remaining {
    fn rows(&self) -> usize {
        self.ranges.iter().map(ExactSizeIterator::len).sum()
    }
}

impl Values<'_, '_> {
    /// Moves to the value of the selected row that has `offset` rows before it, and returns the number of rows before
    /// that value. More than `offset` rows must be selected.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(crate) fn jump(&mut self, offset: usize, cancel: &CancellationToken) -> Result<usize> {
        let counts: Vec<usize> = self.selections.iter().map(|selection| selection.count).collect();
        let total = sum(&counts);
        let rank = if self.sort.ascending { offset } else { total - 1 - offset };
        self.for_each_part(total, cancel, |part, _| part.selected.become_bitmap())?;
        let ranges = self.parts.iter().map(|part| 0..part.order.count()).collect();
        let mut remaining = Remaining { ranges, below: vec![0; counts.len()], inside: counts };
        while let Some(bounds) = self.bounds(&remaining) {
            remaining = self.narrowed(remaining, &bounds, rank, cancel)?;
        }
        let Remaining { ranges, below, inside } = remaining;
        let before = if self.sort.ascending { sum(&below) } else { total - sum(&below) - sum(&inside) };
        for (index, range) in ranges.into_iter().enumerate() {
            let part = &mut self.parts[index];
            if self.sort.ascending {
                part.remaining = self.selections[index].count - below[index];
                part.positions.start = range.start;
            } else {
                part.remaining = below[index] + inside[index];
                part.positions.end = range.end;
            }
        }
        Ok(before)
    }

    /// Returns the values at which the remaining values are divided, ascending; `None` if one value remains. These are
    /// values of the part with the most rows, each with its successor, so that a frequent value gets a bin of its own.
    fn bounds(&self, remaining: &Remaining) -> Option<Vec<i64>> {
        let ranges = remaining.ranges.iter().enumerate().filter(|(_, range)| !range.is_empty());
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

    /// Returns the bin that contains the selected row at `rank`.
    fn narrowed(
        &self,
        remaining: Remaining,
        bounds: &[i64],
        rank: usize,
        cancel: &CancellationToken,
    ) -> Result<Remaining> {
        let rows = remaining.rows();
        let Remaining { ranges: mut uncounted, below, inside } = remaining;
        let is_from_least = rank - sum(&below) < sum(&inside) / 2;
        // The number of remaining rows before the row at `rank`, from the nearer end.
        let before = if is_from_least { rank - sum(&below) } else { sum(&below) + sum(&inside) - 1 - rank };
        // The bound at which each bin ends; `None` for the last bin.
        let bounds = bounds.iter().copied().map(Some);
        let bins: Vec<Option<i64>> =
            if is_from_least { bounds.chain([None]).collect() } else { bounds.rev().chain([None]).collect() };
        let bins_per_round = if rows <= MAX_INLINE_ROWS { 1 } else { threads() * BINS_PER_THREAD };
        let mut counted = vec![0; self.parts.len()];
        for round in bins.chunks(bins_per_round) {
            cancel.check()?;
            let round: Vec<Bin> =
                round.iter().map(|bound| self.split_off(&mut uncounted, *bound, is_from_least)).collect();
            let counts = match &round[..] {
                [bin] => vec![self.count(bin)],
                round => par_map_chunked(round, BINS_PER_THREAD, |(_, bin)| Ok(self.count(bin)))?,
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
                    return Ok(Remaining { ranges, below, inside: in_bin });
                }
                counted.iter_mut().zip(in_bin).for_each(|(counted, in_bin)| *counted += in_bin);
            }
        }
        unreachable!("a selected row has the rank")
    }

    /// Removes the values up to a bound, or all values, from the end that is counted from, and returns them.
    fn split_off(&self, ranges: &mut [Range<usize>], bound: Option<i64>, is_from_least: bool) -> Bin {
        let parts = self.parts.iter().zip(self.selections).zip(ranges);
        let bin = parts.map(|((part, selection), range)| {
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
        bin.collect()
    }

    /// Returns the number of selected rows of every part in a bin.
    fn count(&self, bin: &Bin) -> Vec<usize> {
        let parts = self.parts.iter().zip(bin);
        parts.map(|(part, range)| part.order.count_in(range.clone(), part.selected.words())).collect()
    }
}

fn sum(counts: &[usize]) -> usize {
    counts.iter().sum()
}
