//! The cost of each trace in a segment or in a batch of the head.

use std::sync::OnceLock;

use arrow_buffer::ScalarBuffer;

use super::table::SpanTable;
use crate::bitmap::{RowBlock, RowSet};
use crate::trace::cost::{CostField, TraceCost};

/// Stored if the cost is NULL.
const NONE: i64 = -1;
/// Stored if only a part of the cost is known and that part is 0.
const PARTIAL: i64 = -2;

/// The cost of traces in nanodollars, by row.
#[derive(Debug, Default)]
pub struct CostColumn {
    /// The complete cost, or [`PARTIAL`] minus the known part.
    costs: Vec<i64>,
    /// For each field, the rows sorted by its value.
    orders: [OnceLock<ScalarBuffer<u32>>; CostField::ALL.len()],
}

impl FromIterator<Option<TraceCost>> for CostColumn {
    fn from_iter<I: IntoIterator<Item = Option<TraceCost>>>(costs: I) -> Self {
        let encoded = costs.into_iter().map(|cost| {
            let Some(cost) = cost else { return NONE };
            let whole = cost.value(CostField::Whole);
            let part = cost.value(CostField::Partial).map(|known| PARTIAL.saturating_sub(known));
            whole.or(part).unwrap_or(NONE)
        });
        Self { costs: encoded.collect(), orders: Default::default() }
    }
}

impl SpanTable {
    /// Returns the cost of each row.
    pub fn costs(&self) -> CostColumn {
        let calls = self.calls();
        (0..self.rows()).map(|row| calls.cost(row)).collect()
    }
}

impl CostColumn {
    /// Returns the approximate memory use in bytes, including the sort order of one field.
    pub fn bytes(&self) -> usize {
        self.costs.len() * (size_of::<i64>() + size_of::<u32>())
    }

    /// Returns the value of a row in nanodollars; `None` if it is NULL.
    pub fn value(&self, field: CostField, row: usize) -> Option<i64> {
        let cost = *self.costs.get(row)?;
        match field {
            CostField::Whole => (cost >= 0).then_some(cost),
            CostField::Partial => (cost <= PARTIAL).then(|| PARTIAL.saturating_sub(cost)),
        }
    }

    /// Returns the rows that have a value.
    pub fn present(&self, field: CostField) -> RowSet {
        let rows = (0u32..).zip(0..self.costs.len());
        let present = rows.filter(|(_, row)| self.value(field, *row).is_some()).map(|(row, _)| row);
        RowSet::List(present.collect::<Vec<u32>>().into())
    }

    /// Returns the least and the greatest value; `None` if no row has a value.
    pub fn bounds(&self, field: CostField) -> Option<(i64, i64)> {
        let values = (0..self.costs.len()).filter_map(|row| self.value(field, row));
        values.map(|value| (value, value)).reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
    }

    /// Calls `visit` with each of `rows` and its value.
    pub fn for_each(&self, field: CostField, rows: &RowBlock<'_>, mut visit: impl FnMut(u32, Option<i64>)) {
        let mut visit = |row: u32| visit(row, self.value(field, row as usize));
        match rows {
            RowBlock::Range(range) => range.clone().for_each(&mut visit),
            RowBlock::List(rows) => rows.iter().copied().for_each(&mut visit),
        }
    }

    /// Returns the rows sorted by a field, NULLs first. Rows with equal values ascend.
    pub fn order(&self, field: CostField) -> ScalarBuffer<u32> {
        let order = self.orders[field as usize].get_or_init(|| {
            let mut rows: Vec<u32> = (0..).take(self.costs.len()).collect();
            rows.sort_by_key(|row| self.value(field, *row as usize));
            rows.into()
        });
        order.clone()
    }
}
