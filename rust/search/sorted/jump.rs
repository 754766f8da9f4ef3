//! Finds the value at a rank of the selected rows by counting them in the order of values.
//!
//! The values that are left are divided into bins with about as many rows each. Bins are counted from the nearer end until
//! the rank is reached, which leaves one of them, and that is divided again. So rows behind the rank are hardly counted, and
//! those before it once.

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

/// Values that are left: in every part, those at positions `start..end` of its order.
struct Left {
    ranges: Vec<(usize, usize)>,
    /// How many selected rows have less than these values, and how many have one of them.
    below: usize,
    inside: usize,
}

impl Left {
    fn rows(&self) -> usize {
        self.ranges.iter().map(|(start, end)| end - start).sum()
    }
}

/// The selected rows of each part as a bitmap; `None` where all rows are selected.
type Selected = Vec<Option<Vec<u64>>>;

impl Values<'_, '_> {
    /// Steps to the value that has the selected row with `offset` others before it; returns how many come before that
    /// value. More than `offset` rows are selected.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(super) fn jump(&mut self, offset: usize, cancel: &CancellationToken) -> Result<usize> {
        let total: usize = self.selections.iter().map(|selection| selection.count).sum();
        let rank = if self.sort.ascending { offset } else { total - 1 - offset };
        let selected = self.selections.iter().map(|selection| {
            (!selection.is_whole()).then(|| selection.rows.to_words(selection.view.count()))
        });
        let selected: Selected = selected.collect();
        let ranges = self.parts.iter().map(|part| (0, part.order.count())).collect();
        let mut left = Left { ranges, below: 0, inside: total };
        while let Some(bounds) = self.bounds(&left) {
            left = self.narrowed(&left, &bounds, (rank, &selected), cancel)?;
        }
        for (part, (start, end)) in self.parts.iter_mut().zip(&left.ranges) {
            if self.sort.ascending { part.start = *start } else { part.end = *end }
        }
        Ok(if self.sort.ascending { left.below } else { total - left.below - left.inside })
    }

    /// Returns the values at which those that are left are divided, ascending: some values of the part that has most rows,
    /// and the next greater ones, so that what many rows have becomes a bin of its own. `None` if one value is left.
    fn bounds(&self, left: &Left) -> Option<Vec<i64>> {
        let ranges = left.ranges.iter().enumerate().filter(|(_, (start, end))| start < end);
        let ends =
            ranges.clone().map(|(part, (start, end))| (self.value(part, *start), self.value(part, end - 1)));
        let least = ends.clone().map(|(least, _)| least).min();
        if least == ends.map(|(_, greatest)| greatest).max() {
            return None;
        }
        let (part, (start, end)) = ranges.max_by_key(|(_, (start, end))| end - start)?;
        let position = |division: usize| start + (end - start) * division / DIVISIONS;
        let values = (0..DIVISIONS).map(|division| self.value(part, position(division)));
        let mut bounds: Vec<i64> =
            values.flat_map(|value| [Some(value), value.checked_add(1)]).flatten().collect();
        bounds.dedup();
        Some(bounds)
    }

    /// Returns the bin that has the selected row at `rank`.
    fn narrowed(
        &self,
        left: &Left,
        bounds: &[i64],
        (rank, selected): (usize, &Selected),
        cancel: &CancellationToken,
    ) -> Result<Left> {
        let cuts: Vec<Vec<usize>> =
            left.ranges.iter().enumerate().map(|(part, range)| self.cuts(part, *range, bounds)).collect();
        let count = |bin: usize| -> usize {
            let parts = cuts.iter().zip(&self.parts).zip(selected);
            parts
                .map(|((cuts, part), words)| part.order.count_in(cuts[bin]..cuts[bin + 1], words.as_deref()))
                .sum()
        };
        let is_from_least = rank - left.below < left.inside / 2;
        // How many rows come before the wanted one, from the nearer end.
        let before = if is_from_least { rank - left.below } else { left.below + left.inside - 1 - rank };
        let bins = 0..=bounds.len();
        let bins: Vec<usize> = if is_from_least { bins.collect() } else { bins.rev().collect() };
        let at_once = if left.rows() <= MAX_INLINE_ROWS { 1 } else { threads() * BINS_PER_THREAD };
        let mut counted = 0;
        for round in bins.chunks(at_once) {
            cancel.check()?;
            let counts = match round {
                [bin] => vec![count(*bin)],
                round => in_rounds(round, BINS_PER_THREAD, |(_, bin)| Ok(count(*bin)))?,
            };
            for (bin, inside) in round.iter().zip(counts) {
                if counted + inside > before {
                    let below = if is_from_least {
                        left.below + counted
                    } else {
                        left.below + left.inside - counted - inside
                    };
                    let ranges = cuts.iter().map(|cuts| (cuts[*bin], cuts[bin + 1])).collect();
                    return Ok(Left { ranges, below, inside });
                }
                counted += inside;
            }
        }
        unreachable!("a selected row has the rank")
    }

    /// Returns where the bins of a part begin, and where the last one ends, as positions.
    fn cuts(&self, part: usize, (start, end): (usize, usize), bounds: &[i64]) -> Vec<usize> {
        let number = |row: usize| self.selections[part].view.number(self.sort.by, row);
        let mut cuts = vec![start];
        let mut from = start;
        for bound in bounds {
            from = self.parts[part].order.gallop_up(from, end, |row| number(row) < *bound);
            cuts.push(from);
        }
        cuts.push(end);
        cuts
    }
}
