//! Aggregations: counts, sums, quantiles and histograms of the traces that a filter selects, by time and by fields
//! (`docs/reference/api-counts.md#aggregate`).
//!
//! Results are exact. An aggregation is prepared first: its rows are selected and its groups determined, which bounds
//! the memory of the passes. Rows of a part are newest first, so a time bucket is a range of rows, and the passes read
//! the columns of that range in blocks. All numbers come from selected rows alone, so traces that a caller may not see
//! never affect the response.

mod calls;
mod cells;
mod distinct;
mod groups;
mod histogram;
mod leaf;
mod measure;
mod memory;
mod parts;
mod passes;
mod plan;
mod quantile;
mod request;
mod response;
mod leaves;
mod tally;
mod texts;
mod time_axis;

use calls::CallGroups;
use cells::Results;
use groups::Groups;
pub(super) use leaves::{
    AggregateMerge, AggregateRequest, AggregateResponse, PartialAggregation, ValueCounts, ValueMerge, Values,
    ValuesRequest,
};
pub use measure::MAX_BINS;
use memory::AggregationMemory;
use parts::{Part, bounds, chunks, select_parts};
use passes::{Scan, rows_of_subsets};
use plan::{Source, Subset, plan};
pub use request::{Aggregation, MAX_BUCKETS, MAX_BY, MAX_CELLS, MAX_MEASURES};
use response::AggregateBody;
use texts::ValueNumbers;
use time_axis::TimeAxis;

use crate::error::Result;
use crate::query::cancellation::CancellationToken;
use crate::storage::Snapshot;

/// The result of an aggregation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AggregateResult {
    /// The response's `data`, as JSON.
    pub data: Vec<u8>,
    /// The number of traces that the filter selects, in the time range.
    pub matched: u64,
}

/// An aggregation with selected rows and known groups.
pub(super) struct PreparedAggregation {
    aggregation: Aggregation,
    subsets: Vec<Subset>,
    sources: Vec<Source>,
    parts: Vec<Part>,
    axis: Option<TimeAxis>,
    groups: Groups,
    /// The groups of model calls, if calls are measured instead of traces.
    calls: Option<CallGroups>,
}

impl PreparedAggregation {
    /// Selects the rows of `snapshot` and finds their groups.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`]; damage found while an index is rebuilt.
    pub(super) fn new(
        snapshot: &Snapshot,
        aggregation: &Aggregation,
        cancel: &CancellationToken,
    ) -> Result<Self> {
        let (subsets, sources) = plan(aggregation);
        let parts = select_parts(snapshot, aggregation, cancel)?;
        let axis = aggregation.time.and_then(|time| TimeAxis::new(time, bounds(&parts)));
        let groups = Groups::new(&parts, &aggregation.by, cancel)?;
        let is_of_calls = aggregation.by_model.is_some();
        let calls = is_of_calls.then(|| CallGroups::new(&parts, aggregation, cancel)).transpose()?;
        Ok(Self { aggregation: aggregation.clone(), subsets, sources, parts, axis, groups, calls })
    }

    /// Returns the maximum memory of the aggregation, in bytes: its preparation, its passes and its response.
    pub(super) fn max_bytes(&self) -> usize {
        let slots =
            self.calls.as_ref().map_or_else(|| self.groups.slots(), |calls| calls.grouped.names.len() + 1);
        let memory = AggregationMemory {
            aggregation: &self.aggregation,
            subsets: self.calls.as_ref().map_or(&self.subsets, |calls| &calls.subsets),
            parts: &self.parts,
            slots,
            buckets: self.axis.as_ref().map_or(0, |axis| axis.count),
        };
        match &self.calls {
            Some(calls) => memory.max_bytes_of_calls(calls),
            None => self.groups.bytes() + memory.max_bytes(),
        }
    }

    /// Returns the number of selected rows.
    fn matched(&self) -> usize {
        self.parts.iter().map(|part| part.rows.count()).sum()
    }

    /// Computes the aggregation.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`]; damage found while an index is rebuilt.
    pub(super) fn run(&self, cancel: &CancellationToken) -> Result<AggregateResult> {
        if let Some(calls) = &self.calls {
            let data = calls.run(&self.parts, (&self.aggregation, self.axis.as_ref()), cancel)?;
            return Ok(AggregateResult { data, matched: self.matched() as u64 });
        }
        let rows = rows_of_subsets(&self.parts, &self.subsets, cancel)?;
        let (numbered, chunks) = (self.numbered(cancel)?, chunks(&self.parts, self.axis.as_ref()));
        let scan = Scan {
            parts: &self.parts,
            groups: &self.groups,
            subsets: &self.subsets,
            rows: &rows,
            numbered: &numbered,
            chunks: &chunks,
            cancel,
        };
        let layouts = scan.layouts()?;
        let mut results: Results = scan.count(&layouts, self.axis.as_ref().map_or(0, |axis| axis.count))?;
        scan.refine(&mut results)?;
        cancel.check()?;
        let data = AggregateBody {
            aggregation: &self.aggregation,
            sources: &self.sources,
            axis: self.axis.as_ref(),
            groups: &self.groups,
            layouts: &layouts,
            results: &results,
        };
        Ok(AggregateResult { data: data.print()?, matched: self.matched() as u64 })
    }

    /// Numbers the distinct values, by subset and field.
    fn numbered(&self, cancel: &CancellationToken) -> Result<Vec<Vec<ValueNumbers>>> {
        let of_subset = |subset: &Subset| {
            subset
                .distinct
                .iter()
                .map(|field| ValueNumbers::new(&self.parts, *field, cancel))
                .collect::<Result<_>>()
        };
        self.subsets.iter().map(of_subset).collect()
    }
}
