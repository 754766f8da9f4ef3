//! The passes over the rows: the bounds of histograms, a first pass that counts, and as many as it takes to narrow
//! quantiles down to values. Every pass reads chunks in parallel and adds up their results in order.

use super::cells::{Cells, Results};
use super::groups::Groups;
use super::histogram::Edges;
use super::parts::{Chunk, Part, Values};
use super::plan::{NumberField, Subset};
use super::quantile::{GrowingBins, Hulls, Refinement};
use super::tally::{NumberLayout, Tally, TallyLayout, add};
use super::texts::ValueNumbers;
use crate::error::Result;
use crate::filter::Filter;
use crate::index::{LiveRows, RowBlock};
use crate::search::cancellation::CancellationToken;
use crate::search::pool::{fold_rounds, in_rounds};
use crate::search::selection::{PARTS_PER_THREAD, narrowed};
use crate::trace::cost::TraceNumber;

/// Bins of all slots together, in one pass over one field.
pub(super) const MAX_PASS_BINS: usize = 1 << 20;

/// Chunks per thread of one round.
pub(super) const CHUNKS_PER_THREAD: usize = 4;

/// Everything that the passes read.
pub(super) struct Scan<'a> {
    pub(super) parts: &'a [Part],
    pub(super) groups: &'a Groups,
    pub(super) subsets: &'a [Subset],
    /// For each subset but the first one, its rows of every part.
    pub(super) rows: Vec<Vec<LiveRows>>,
    /// For each subset, the numbers of the values of every field whose values are counted.
    pub(super) numbered: Vec<Vec<ValueNumbers>>,
    pub(super) chunks: Vec<Chunk>,
    pub(super) cancel: &'a CancellationToken,
}

/// A block of rows with its slots; `None` if there is only one.
struct SlottedBlock<'b> {
    part: usize,
    rows: &'b RowBlock<'b>,
    slots: Option<&'b [u32]>,
}

impl Scan<'_> {
    fn rows(&self, subset: usize, part: usize) -> &LiveRows {
        subset.checked_sub(1).map_or(&self.parts[part].rows, |subset| &self.rows[subset][part])
    }

    /// Calls `visit` with the rows of a subset in a chunk, block by block, and with its slots if there are several.
    fn for_each_block(&self, subset: usize, chunk: &Chunk, mut visit: impl FnMut(&SlottedBlock<'_>)) {
        let (mut slots, mut codes) = (Vec::new(), Vec::new());
        let is_grouped = self.groups.slots() > 1;
        for (index, window) in &chunk.windows {
            let part = &self.parts[*index];
            self.rows(subset, *index).for_each_block(window.clone(), |rows| {
                if is_grouped {
                    self.groups.slots_of((*index, part), rows, &mut slots, &mut codes);
                }
                visit(&SlottedBlock { part: *index, rows, slots: is_grouped.then_some(&slots) });
            });
        }
    }

    fn values<'b>(&'b self, block: &SlottedBlock<'b>, number: TraceNumber) -> Values<'b> {
        Values { columns: &self.parts[block.part].columns, number, rows: block.rows }
    }

    /// Returns how every subset is counted; reads the bounds of histograms that the request does not give.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(super) fn layouts(&self) -> Result<Vec<TallyLayout>> {
        let slots = self.groups.slots();
        let layout = |(index, subset): (usize, &Subset)| {
            let numbers = subset.numbers.iter().map(|number| self.number_layout(index, number));
            let distinct = self.numbered[index].iter().map(|numbers| numbers.count).collect();
            Ok(TallyLayout { slots, numbers: numbers.collect::<Result<_>>()?, distinct })
        };
        self.subsets.iter().enumerate().map(layout).collect()
    }

    fn number_layout(&self, subset: usize, number: &NumberField) -> Result<NumberLayout> {
        let is_open = number.histograms.iter().any(|bins| bins.range.is_none());
        let bounds = if is_open { self.bounds(subset, number.number)? } else { (0, -1) };
        let bins = (!number.qs.is_empty()).then(|| {
            GrowingBins::new(self.stored_bounds(number.number), MAX_PASS_BINS / self.groups.slots().max(1))
        });
        let histograms = number.histograms.iter().map(|bins| Edges::new(*bins, bounds)).collect();
        Ok(NumberLayout { has_stats: number.has_stats, bins, histograms })
    }

    /// Returns the least and the greatest value of the rows of a subset; the least is greater if there are none.
    fn bounds(&self, subset: usize, number: TraceNumber) -> Result<(i64, i64)> {
        let (mut low, mut high) = (i64::MAX, i64::MIN);
        let of_chunk = |(_, chunk): (usize, &Chunk)| {
            self.cancel.check()?;
            let mut bounds = (i64::MAX, i64::MIN);
            for (index, window) in &chunk.windows {
                self.rows(subset, *index).for_each_block(window.clone(), |rows| {
                    let block = SlottedBlock { part: *index, rows, slots: None };
                    self.values(&block, number).for_each(|value| {
                        bounds = (bounds.0.min(value), bounds.1.max(value));
                    });
                });
            }
            Ok(bounds)
        };
        fold_rounds(&self.chunks, CHUNKS_PER_THREAD, of_chunk, |(least, greatest)| {
            (low, high) = (low.min(least), high.max(greatest));
        })?;
        Ok((low, high))
    }

    /// Returns bounds of all values that the parts store, selected or not, from their orders.
    fn stored_bounds(&self, number: TraceNumber) -> (i64, i64) {
        let of_part = |part: &Part| {
            if let Some(field) = number.cost() {
                return part.columns.costs()?.bounds(field);
            }
            let order = part.columns.value_order(number)?;
            let value = |position: usize| part.columns.number(number, order.row(position));
            Some((value(0), value(order.count().checked_sub(1)?)))
        };
        let bounds = self.parts.iter().filter_map(of_part);
        bounds.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1))).unwrap_or((0, 0))
    }

    /// Counts all rows.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(super) fn count(&self, layouts: &[TallyLayout], buckets: usize) -> Result<Results> {
        let mut results = Results::new(layouts, buckets);
        let mut open: Option<(usize, Vec<Tally>)> = None;
        let of_chunk = |(_, chunk): (usize, &Chunk)| {
            self.cancel.check()?;
            Ok((chunk.bucket, self.count_chunk(chunk, layouts)))
        };
        fold_rounds(&self.chunks, CHUNKS_PER_THREAD, of_chunk, |(bucket, tallies)| match &mut open {
            Some((own, sums)) if *own == bucket => {
                sums.iter_mut().zip(&tallies).for_each(|(sum, tally)| sum.merge(tally));
            }
            _ => {
                if let Some((bucket, sums)) = open.replace((bucket, tallies)) {
                    results.finish(bucket, sums, layouts, self.subsets);
                }
            }
        })?;
        if let Some((bucket, sums)) = open {
            results.finish(bucket, sums, layouts, self.subsets);
        }
        results.finish_total(layouts, self.subsets);
        Ok(results)
    }

    fn count_chunk(&self, chunk: &Chunk, layouts: &[TallyLayout]) -> Vec<Tally> {
        let tally = |(index, subset): (usize, &Subset)| {
            let layout = &layouts[index];
            let mut tally = Tally::new(layout);
            if layout.slots == 1 && layout.numbers.is_empty() && layout.distinct.is_empty() {
                let counts = chunk.windows.iter().map(|(part, window)| {
                    let rows = self.rows(index, *part);
                    rows.rank(window.end) - rows.rank(window.start)
                });
                tally.counts[0] = counts.sum::<usize>() as u64;
                return tally;
            }
            // A row that is in a bin is counted there.
            let is_binned = layout.numbers.iter().any(|number| number.bins.is_some());
            let mut codes = Vec::new();
            self.for_each_block(index, chunk, |block| {
                if !is_binned {
                    tally.count(block.rows.len(), block.slots);
                }
                for (own, (number, layout)) in
                    tally.numbers.iter_mut().zip(subset.numbers.iter().zip(&layout.numbers))
                {
                    own.count(layout, &self.values(block, number.number), block.slots);
                }
                for (own, (field, numbers)) in
                    tally.distinct.iter_mut().zip(subset.distinct.iter().zip(&self.numbered[index]))
                {
                    codes.clear();
                    self.parts[block.part].columns.decode_codes(*field, block.rows, &mut codes);
                    numbers.maps[block.part].map(&mut codes);
                    own.add(&codes, block.slots);
                }
            });
            if is_binned {
                tally.count_bins(layout);
            }
            tally
        };
        self.subsets.iter().enumerate().map(tally).collect()
    }

    /// Narrows the quantiles down to values.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(super) fn refine(&self, results: &mut Results) -> Result<()> {
        for (index, subset) in self.subsets.iter().enumerate() {
            for (number, field) in
                subset.numbers.iter().enumerate().filter(|(_, number)| !number.qs.is_empty())
            {
                while self.refine_field(results, (index, number), field)? {}
            }
        }
        Ok(())
    }

    /// Does one pass for one field; returns whether there was anything to do.
    fn refine_field(
        &self,
        results: &mut Results,
        (subset, number): (usize, usize),
        field: &NumberField,
    ) -> Result<bool> {
        let refinement =
            |cells: &Cells| Refinement::new(&cells.targets[number], 2 * field.qs.len(), MAX_PASS_BINS);
        let total = refinement(&results.total[subset]);
        let of_buckets: Vec<Refinement> =
            results.series.iter().map(|bucket| refinement(&bucket[subset])).collect();
        let none = Refinement::default();
        let of_bucket = |bucket: usize| of_buckets.get(bucket).unwrap_or(&none);
        let is_open = |chunk: &Chunk| !total.is_empty() || !of_bucket(chunk.bucket).is_empty();
        let open: Vec<&Chunk> = self.chunks.iter().filter(|chunk| is_open(chunk)).collect();
        let count = |(_, chunk): (usize, &&Chunk)| {
            self.cancel.check()?;
            let own = of_bucket(chunk.bucket);
            let hulls = Hulls::new([own, &total], self.groups.slots());
            let (mut bins, mut total_bins) = (vec![0; own.bins()], vec![0; total.bins()]);
            for (index, window) in &chunk.windows {
                let part = &self.parts[*index];
                // Few values are in a hull, so slots are looked up one by one.
                let mut count = |row: u32, value: i64| {
                    let slot = self.groups.slot_of((*index, part), row);
                    if hulls.has(slot, value) {
                        own.count(value, slot, &mut bins);
                        total.count(value, slot, &mut total_bins);
                    }
                };
                self.rows(subset, *index).for_each_block(window.clone(), |rows| {
                    part.columns.for_each_number_between(field.number, hulls.whole(), rows, &mut count);
                });
            }
            Ok((chunk.bucket, bins, total_bins))
        };
        let mut total_sums = vec![0; total.bins()];
        let mut sums = (0, Vec::new());
        let per_slot = 2 * field.qs.len();
        let narrow = |(bucket, bins): (usize, Vec<u64>), series: &mut [Vec<Cells>]| {
            if let Some(cells) = series.get_mut(bucket).filter(|_| !bins.is_empty()) {
                of_bucket(bucket).narrow(&mut cells[subset].targets[number], per_slot, &bins);
            }
        };
        fold_rounds(&open, CHUNKS_PER_THREAD, count, |(bucket, bins, total_bins)| {
            add(&mut total_sums, &total_bins);
            if sums.0 == bucket && !sums.1.is_empty() {
                add(&mut sums.1, &bins);
            } else {
                narrow(std::mem::replace(&mut sums, (bucket, bins)), &mut results.series);
            }
        })?;
        narrow(sums, &mut results.series);
        total.narrow(&mut results.total[subset].targets[number], per_slot, &total_sums);
        Ok(!open.is_empty())
    }
}

/// Returns the rows of every subset but the first one, for every part.
///
/// # Errors
/// [`crate::error::Error::Cancelled`]; damage found while an index is rebuilt.
pub(super) fn rows_of_subsets(
    parts: &[Part],
    subsets: &[Subset],
    cancel: &CancellationToken,
) -> Result<Vec<Vec<LiveRows>>> {
    let of_condition = |condition: &Filter| {
        if condition.reads_spans() {
            let rows: Vec<_> = parts.iter().map(Part::selected).collect();
            return narrowed(&rows, condition, cancel);
        }
        in_rounds(parts, PARTS_PER_THREAD, |(_, part)| {
            cancel.check()?;
            part.rows_where(condition, cancel)
        })
    };
    let of_subset = |subset: &Subset| {
        let all = || Ok(parts.iter().map(|part| part.rows.clone()).collect());
        let rows: Vec<LiveRows> = subset.condition.as_ref().map_or_else(all, of_condition)?;
        let Some(cost) = subset.cost else { return Ok(rows) };
        Ok(parts.iter().zip(rows).map(|(part, rows)| part.with_cost(&rows, cost)).collect())
    };
    subsets.iter().skip(1).map(of_subset).collect()
}
