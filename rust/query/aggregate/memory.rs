//! Estimates the maximum memory of an aggregation before its passes start.

use crate::index::spans::CostColumn;
use crate::query::aggregate::calls::CallGroups;
use crate::query::aggregate::distinct::DistinctSet;
use crate::query::aggregate::parts::{CHUNK_ROWS, Part};
use crate::query::aggregate::passes::CHUNKS_PER_THREAD;
use crate::query::aggregate::plan::{NumberField, Subset};
use crate::query::aggregate::quantile::{GrowingBins, MAX_INTERVAL_BINS, MAX_PASS_BINS, Target};
use crate::query::aggregate::request::Aggregation;
use crate::query::aggregate::tally::NumberStats;
use crate::query::pool;
use crate::schema::Field;

/// The length of the longest printed number with its comma, doubled because a growing buffer doubles.
const NUMBER_BYTES: usize = 2 * 26;
/// The size of a group in a response without its numbers: the values of its fields, and the names of members.
const GROUP_BYTES: usize = 1_024;
/// The codes and counts of texts while they are numbered, per selected row.
const NUMBERED_BYTES: usize = 24;
const WORD: usize = size_of::<u64>();

/// The inputs of the estimate.
pub(super) struct AggregationMemory<'a> {
    pub(super) aggregation: &'a Aggregation,
    pub(super) subsets: &'a [Subset],
    pub(super) parts: &'a [Part],
    /// The number of groups, and the number of buckets.
    pub(super) slots: usize,
    pub(super) buckets: usize,
}

impl AggregationMemory<'_> {
    /// Returns the maximum memory of an aggregation of traces, in bytes: its preparation, its passes and its response.
    pub(super) fn max_bytes(&self) -> usize {
        self.selected()
            + self.subset_rows()
            + self.costs()
            + self.value_numbers()
            + self.passes()
            + self.response()
    }

    /// Like [`AggregationMemory::max_bytes`], but for model calls.
    pub(super) fn max_bytes_of_calls(&self, calls: &CallGroups) -> usize {
        let of_calls = calls.max_bytes(self.slots, self.buckets, self.aggregation.measures.len());
        self.selected() + self.subset_rows() + of_calls
    }

    /// Returns the memory of the selected rows.
    fn selected(&self) -> usize {
        self.parts.iter().map(|part| part.rows.bytes()).sum()
    }

    fn matched(&self) -> usize {
        self.parts.iter().map(|part| part.rows.count()).sum()
    }

    /// Returns the memory of the costs of all rows, and of the rows that have a cost.
    fn costs(&self) -> usize {
        let costs = |part: &Part| part.columns.costs().map_or(0, CostColumn::bytes);
        let columns: usize = self.parts.iter().map(costs).sum();
        let rows: usize = self.parts.iter().map(|part| part.rows.count() * size_of::<u32>()).sum();
        columns + rows * self.subsets.iter().filter(|subset| subset.cost.is_some()).count()
    }

    /// Returns the memory of the rows of every `where`: two bitmaps per part.
    fn subset_rows(&self) -> usize {
        let rows: usize = self.parts.iter().map(|part| part.columns.count()).sum();
        (self.subsets.len() - 1) * rows / 4
    }

    /// Returns the memory of the numbers of distinct values.
    fn value_numbers(&self) -> usize {
        let of_part = |part: &Part, field: Field| {
            NUMBERED_BYTES * part.rows.count().min(part.columns.distinct(field) as usize + 1)
        };
        let fields = self.subsets.iter().flat_map(|subset| &subset.distinct);
        fields.map(|field| self.parts.iter().map(|part| of_part(part, *field)).sum::<usize>()).sum()
    }

    /// Returns the memory of the counters of the passes, and of the results of each bucket.
    fn passes(&self) -> usize {
        let slots = self.slots;
        let in_flight = pool::threads() * CHUNKS_PER_THREAD;
        let buckets = self.buckets + 1;
        let of_subset = |subset: &Subset| {
            // A round of chunks, the sum of a bucket, and the total.
            let counted = in_flight * self.tally(subset, CHUNK_ROWS) + 2 * self.tally(subset, self.matched());
            let stored =
                |number: &NumberField| size_of::<NumberStats>() + 2 * number.qs.len() * size_of::<Target>();
            let stored: usize = subset.numbers.iter().map(stored).sum();
            counted + buckets * slots * (stored + WORD * (1 + subset.distinct.len()))
        };
        // Later passes have bins for one bucket and for the total. They have at most one interval per target.
        let quantiles: usize =
            self.subsets.iter().flat_map(|subset| &subset.numbers).map(|number| number.qs.len()).sum();
        let refined =
            (in_flight + 2) * 2 * MAX_PASS_BINS.min(slots * 2 * quantiles * MAX_INTERVAL_BINS) * WORD;
        self.subsets.iter().map(of_subset).sum::<usize>() + refined
    }

    /// Returns the memory of the tally of one subset of at most `rows` rows.
    fn tally(&self, subset: &Subset, rows: usize) -> usize {
        let slots = self.slots;
        let number = |number: &NumberField| {
            let bins = GrowingBins::new((i64::MIN, i64::MAX), MAX_PASS_BINS / slots.max(1)).count();
            let counters: usize = number.histograms.iter().map(|bins| bins.count + 2).sum();
            WORD * (counters + if number.qs.is_empty() { 0 } else { bins }) + size_of::<NumberStats>()
        };
        let values = |field: &Field| {
            let values: usize = self.parts.iter().map(|part| part.columns.distinct(*field) as usize).sum();
            values.min(self.matched())
        };
        let distinct = subset.distinct.iter().map(|field| DistinctSet::max_bytes(slots, values(field), rows));
        slots * (WORD + subset.numbers.iter().map(number).sum::<usize>()) + distinct.sum::<usize>()
    }

    fn response(&self) -> usize {
        let slots = self.slots.max(1);
        let buckets = self.buckets + 1;
        let bins: usize = self.aggregation.histograms().map(|bins| 2 * bins.count + 4).sum();
        slots * (NUMBER_BYTES * (buckets * self.aggregation.measures.len() + bins) + GROUP_BYTES)
    }
}
