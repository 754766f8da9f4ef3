//! The passes over the rows. The first passes find the bounds of histograms and count. Further passes narrow quantiles
//! down to values. Every pass reads chunks in parallel and adds up their results in order.

use crate::bitmap::{LiveRows, RowBlock};
use crate::error::Result;
use crate::filter::Filter;
use crate::query::aggregate::cells::Results;
use crate::query::aggregate::groups::Groups;
use crate::query::aggregate::parts::{Chunk, Part, Values};
use crate::query::aggregate::plan::{NumberField, Subset};
use crate::query::aggregate::quantile::{Hulls, MAX_PASS_BINS, Refinement, Target};
use crate::query::aggregate::tally::{NumberBounds, Tally, TallyLayout, add};
use crate::query::aggregate::texts::ValueNumbers;
use crate::query::cancellation::CancellationToken;
use crate::query::pool::{par_fold_chunked, par_map_chunked};
use crate::query::rows::selection::{PARTS_PER_THREAD, narrowed};
use crate::trace::cost::TraceNumber;

/// Chunks per thread in one round.
pub(super) const CHUNKS_PER_THREAD: usize = 4;

/// The input of the passes.
pub(super) struct Scan<'a> {
    pub(super) parts: &'a [Part],
    pub(super) groups: &'a Groups,
    pub(super) subsets: &'a [Subset],
    /// The rows of every subset except the first, by part.
    pub(super) rows: &'a [Vec<LiveRows>],
    /// The numbers of the values of every distinct field, by subset.
    pub(super) numbered: &'a [Vec<ValueNumbers>],
    pub(super) chunks: &'a [Chunk],
    pub(super) cancel: &'a CancellationToken,
}

/// A block of rows with its slots; `None` if there is only one slot.
struct SlottedBlock<'b> {
    part: usize,
    rows: &'b RowBlock<'b>,
    slots: Option<&'b [u32]>,
}

impl Scan<'_> {
    fn rows(&self, subset: usize, part: usize) -> &LiveRows {
        subset.checked_sub(1).map_or(&self.parts[part].rows, |subset| &self.rows[subset][part])
    }

    /// Calls `visit` with the rows of a subset in a chunk, block by block, with their slots if there are several.
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

    /// Returns the layouts of all subsets. Reads the bounds of histograms that the request does not give.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(super) fn layouts(&self) -> Result<Vec<TallyLayout>> {
        let slots = self.groups.slots();
        let layout = |(index, subset): (usize, &Subset)| {
            let bounds = subset.numbers.iter().map(|number| self.number_bounds(index, number));
            let distinct = self.numbered[index].iter().map(|numbers| numbers.count).collect();
            Ok(TallyLayout::new(slots, subset, &bounds.collect::<Result<Vec<_>>>()?, distinct))
        };
        self.subsets.iter().enumerate().map(layout).collect()
    }

    /// Returns the bounds that counting the values of a number requires.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(super) fn number_bounds(&self, subset: usize, number: &NumberField) -> Result<NumberBounds> {
        let mut bounds = NumberBounds::NONE;
        if number.histograms.iter().any(|bins| bins.range.is_none()) {
            bounds.selected = self.bounds(subset, number.number)?;
        }
        if !number.qs.is_empty() {
            bounds.stored = self.stored_bounds(number.number);
        }
        Ok(bounds)
    }

    /// Returns the least and the greatest value in the rows of a subset. Without values, the least is greater.
    fn bounds(&self, subset: usize, number: TraceNumber) -> Result<(i64, i64)> {
        let (mut low, mut high) = NumberBounds::NONE.selected;
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
        par_fold_chunked(self.chunks, CHUNKS_PER_THREAD, of_chunk, |(least, greatest)| {
            (low, high) = (low.min(least), high.max(greatest));
        })?;
        Ok((low, high))
    }

    /// Returns the bounds of all stored values, selected or not, from the value orders. Without values, the least is
    /// greater.
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
        let none = NumberBounds::NONE.stored;
        bounds.fold(none, |one, other| (one.0.min(other.0), one.1.max(other.1)))
    }

    /// Counts all rows.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(super) fn count(&self, layouts: &[TallyLayout], buckets: usize) -> Result<Results> {
        let mut results = Results::new(layouts, buckets);
        self.for_each_bucket(layouts, |bucket, sums| {
            results.add_bucket(bucket, sums, layouts, self.subsets);
        })?;
        results.finish_total(layouts, self.subsets);
        Ok(results)
    }

    /// Calls `visit` with the tallies of every bucket that has rows, one per subset.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(super) fn for_each_bucket(
        &self,
        layouts: &[TallyLayout],
        mut visit: impl FnMut(usize, Vec<Tally>),
    ) -> Result<()> {
        let mut open: Option<(usize, Vec<Tally>)> = None;
        let of_chunk = |(_, chunk): (usize, &Chunk)| {
            self.cancel.check()?;
            Ok((chunk.bucket, self.count_chunk(chunk, layouts)))
        };
        par_fold_chunked(self.chunks, CHUNKS_PER_THREAD, of_chunk, |(bucket, tallies)| match &mut open {
            Some((own, sums)) if *own == bucket => {
                sums.iter_mut().zip(&tallies).for_each(|(sum, tally)| sum.merge(tally));
            }
            _ => {
                if let Some((bucket, sums)) = open.replace((bucket, tallies)) {
                    visit(bucket, sums);
                }
            }
        })?;
        if let Some((bucket, sums)) = open {
            visit(bucket, sums);
        }
        Ok(())
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
            // A row in a bin is counted by its bin.
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

    /// Runs one pass for one field. Returns false if all its quantiles were resolved already.
    fn refine_field(
        &self,
        results: &mut Results,
        index: (usize, usize),
        field: &NumberField,
    ) -> Result<bool> {
        let refinement = FieldRefinement::of_results(results, index, field.targets_per_slot());
        if refinement.is_empty() {
            return Ok(false);
        }
        let total = self.count_refined((index.0, field), &refinement, |bucket, bins| {
            refinement.narrow(results.targets_of(Some(bucket), index), Some(bucket), &bins);
        })?;
        refinement.narrow(results.targets_of(None, index), None, &total);
        Ok(true)
    }

    /// Counts the values of a field of a subset in the bins of a refinement. Calls `visit` with the bins of every
    /// bucket that has values, and returns the bins of all buckets together.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(super) fn count_refined(
        &self,
        (subset, field): (usize, &NumberField),
        refinement: &FieldRefinement,
        mut visit: impl FnMut(usize, Vec<u64>),
    ) -> Result<Vec<u64>> {
        let total = refinement.of(None);
        let is_unresolved =
            |chunk: &Chunk| !total.is_empty() || !refinement.of(Some(chunk.bucket)).is_empty();
        let open: Vec<&Chunk> = self.chunks.iter().filter(|chunk| is_unresolved(chunk)).collect();
        let count = |(_, chunk): (usize, &&Chunk)| {
            self.cancel.check()?;
            let own = refinement.of(Some(chunk.bucket));
            let hulls = Hulls::new([own, total], self.groups.slots());
            let (mut bins, mut total_bins) = (vec![0; own.bins()], vec![0; total.bins()]);
            for (index, window) in &chunk.windows {
                let part = &self.parts[*index];
                // Few values are inside a hull, so slots are looked up one by one.
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
        let mut sums: (usize, Vec<u64>) = (0, Vec::new());
        let mut finish = |(bucket, bins): (usize, Vec<u64>)| {
            if !bins.is_empty() {
                visit(bucket, bins);
            }
        };
        par_fold_chunked(&open, CHUNKS_PER_THREAD, count, |(bucket, bins, total_bins)| {
            add(&mut total_sums, &total_bins);
            if sums.0 == bucket && !sums.1.is_empty() {
                add(&mut sums.1, &bins);
            } else {
                finish(std::mem::replace(&mut sums, (bucket, bins)));
            }
        })?;
        finish(sums);
        Ok(total_sums)
    }
}

/// The refinements of the quantiles of one field, for every bucket and for the total.
#[derive(Debug)]
pub(super) struct FieldRefinement {
    per_slot: usize,
    total: Refinement,
    of_buckets: Vec<Refinement>,
    none: Refinement,
}

impl FieldRefinement {
    /// Returns the refinements of the targets of all buckets together, and of each bucket. Every slot has `per_slot`
    /// targets.
    pub(super) fn new<'t>(
        total: &'t [Target],
        of_buckets: impl Iterator<Item = &'t [Target]>,
        per_slot: usize,
    ) -> Self {
        let refinement = |targets: &[Target]| Refinement::new(targets, per_slot, MAX_PASS_BINS);
        let of_buckets = of_buckets.map(refinement).collect();
        Self { per_slot, total: refinement(total), of_buckets, none: Refinement::default() }
    }

    /// Returns the refinements of the number field `index.1` of subset `index.0`.
    pub(super) fn of_results(results: &Results, index: (usize, usize), per_slot: usize) -> Self {
        let total = results.total[index.0].targets[index.1].as_slice();
        let of_buckets = results.series.iter().map(|bucket| bucket[index.0].targets[index.1].as_slice());
        Self::new(total, of_buckets, per_slot)
    }

    /// True if all targets are resolved.
    pub(super) fn is_empty(&self) -> bool {
        self.total.is_empty() && self.of_buckets.iter().all(Refinement::is_empty)
    }

    /// Returns the refinement of a bucket, or of the total.
    pub(super) fn of(&self, bucket: Option<usize>) -> &Refinement {
        bucket.map_or(&self.total, |bucket| self.of_buckets.get(bucket).unwrap_or(&self.none))
    }

    /// Moves the targets of a bucket, or of the total, into the bins that contain their ranks.
    pub(super) fn narrow(&self, targets: &mut [Target], bucket: Option<usize>, bins: &[u64]) {
        self.of(bucket).narrow(targets, self.per_slot, bins);
    }
}

/// Returns the rows of every subset except the first, by part.
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
        par_map_chunked(parts, PARTS_PER_THREAD, |(_, part)| {
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
