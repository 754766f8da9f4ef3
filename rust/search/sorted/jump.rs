//! Finds the value at a rank of the selected rows by counting them in the order of values.
//!
//! The values that are left are divided into bins with about as many rows each. Bins are counted from the nearer end until
//! the rank is reached, which leaves one of them, and that is divided again. So rows behind the rank are hardly counted, and
//! those before it once.

use std::ops::Range;

use super::super::cancellation::CancellationToken;
use super::super::pool::{in_rounds, threads};
use super::values::Values;
use crate::error::Result;

/// At how many rows values are divided.
const DIVISIONS: usize = 32;

/// Bins per thread that are counted in one round.
const BINS_PER_THREAD: usize = 2;

/// With at most so many rows left, bins are not counted on several threads.
const MAX_INLINE_ROWS: usize = 1 << 15;

/// Values that are left.
struct Left {
    /// Where they are in the order of every part.
    ranges: Vec<Range<usize>>,
    /// How many selected rows of every part have less than these values, and how many have one of them.
    below: Vec<usize>,
    inside: Vec<usize>,
}

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
    pub(super) fn jump(&mut self, offset: usize, cancel: &CancellationToken) -> Result<usize> {
        let counts: Vec<usize> = self.selections.iter().map(|selection| selection.count).collect();
        let total = sum(&counts);
        let rank = if self.sort.ascending { offset } else { total - 1 - offset };
        self.parts.iter_mut().for_each(|part| part.selected.become_bitmap());
        let ranges = self.parts.iter().map(|part| 0..part.order.count()).collect();
        let mut left = Left { ranges, below: vec![0; counts.len()], inside: counts };
        while let Some(bounds) = self.bounds(&left) {
            left = self.narrowed(&left, &bounds, rank, cancel)?;
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
    fn narrowed(&self, left: &Left, bounds: &[i64], rank: usize, cancel: &CancellationToken) -> Result<Left> {
        let cuts: Vec<Vec<usize>> =
            left.ranges.iter().enumerate().map(|(part, range)| self.cuts(part, range, bounds)).collect();
        let count = |bin: usize| -> Vec<usize> {
            let parts = cuts.iter().zip(&self.parts);
            parts
                .map(|(cuts, part)| part.order.count_in(cuts[bin]..cuts[bin + 1], part.selected.words()))
                .collect()
        };
        let (below, inside) = (sum(&left.below), sum(&left.inside));
        let is_from_least = rank - below < inside / 2;
        // How many rows come before the wanted one, from the nearer end.
        let before = if is_from_least { rank - below } else { below + inside - 1 - rank };
        let bins = 0..=bounds.len();
        let bins: Vec<usize> = if is_from_least { bins.collect() } else { bins.rev().collect() };
        let at_once = if left.rows() <= MAX_INLINE_ROWS { 1 } else { threads() * BINS_PER_THREAD };
        let mut counted = vec![0; self.parts.len()];
        for round in bins.chunks(at_once) {
            cancel.check()?;
            let counts = match round {
                [bin] => vec![count(*bin)],
                round => in_rounds(round, BINS_PER_THREAD, |(_, bin)| Ok(count(*bin)))?,
            };
            for (bin, inside) in round.iter().zip(counts) {
                if sum(&counted) + sum(&inside) > before {
                    let below = |part: usize| {
                        let passed = counted[part];
                        let passed =
                            if is_from_least { passed } else { left.inside[part] - passed - inside[part] };
                        left.below[part] + passed
                    };
                    let below = (0..counted.len()).map(below).collect();
                    let ranges = cuts.iter().map(|cuts| cuts[*bin]..cuts[bin + 1]).collect();
                    return Ok(Left { ranges, below, inside });
                }
                counted.iter_mut().zip(inside).for_each(|(counted, inside)| *counted += inside);
            }
        }
        unreachable!("a selected row has the rank")
    }

    /// Returns where the bins of a part begin, and where the last one ends, as positions.
    fn cuts(&self, part: usize, range: &Range<usize>, bounds: &[i64]) -> Vec<usize> {
        let number = |row: usize| self.selections[part].view.number(self.sort.by, row);
        let mut cuts = vec![range.start];
        let mut from = range.start;
        for bound in bounds {
            from = self.parts[part].order.gallop_up(from, range.end, |row| number(row) < *bound);
            cuts.push(from);
        }
        cuts.push(range.end);
        cuts
    }
}

fn sum(counts: &[usize]) -> usize {
    counts.iter().sum()
}
