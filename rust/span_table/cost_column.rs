//! What the traces of a segment, or of a batch of the head, cost: one number a row.

use std::sync::OnceLock;

use arrow_buffer::ScalarBuffer;

use super::table::SpanTable;
use crate::index::{RowBlock, RowSet};
use crate::trace::cost::{CostField, TraceCost};

/// What a row has that is not known.
const NONE: i64 = -1;
/// What a row has of which nothing but a part is known, and that is nothing.
const PARTIAL: i64 = -2;

/// What traces cost, in nanodollars, by row.
#[derive(Debug, Default)]
pub struct CostColumn {
    /// The cost; if only a part is known, that less than [`PARTIAL`].
    costs: Vec<i64>,
    /// By field, the rows in its order.
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
    /// Returns what the traces of all rows cost.
    pub fn costs(&self) -> CostColumn {
        let calls = self.calls();
        (0..self.rows()).map(|row| calls.cost(row)).collect()
    }
}

impl CostColumn {
    /// Returns about how many bytes of memory it takes, with the rows in the order of one field.
    pub fn bytes(&self) -> usize {
        self.costs.len() * (size_of::<i64>() + size_of::<u32>())
    }

    /// Returns the value of a row in nanodollars, if it has one.
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

    /// Returns the least and the greatest value, if there are any.
    pub fn bounds(&self, field: CostField) -> Option<(i64, i64)> {
        let values = (0..self.costs.len()).filter_map(|row| self.value(field, row));
        values.map(|value| (value, value)).reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
    }

    /// Calls `visit` with each of `rows`, and its value.
    pub fn for_each(&self, field: CostField, rows: &RowBlock<'_>, mut visit: impl FnMut(u32, Option<i64>)) {
        let mut visit = |row: u32| visit(row, self.value(field, row as usize));
        match rows {
            RowBlock::Range(range) => range.clone().for_each(&mut visit),
            RowBlock::List(rows) => rows.iter().copied().for_each(&mut visit),
        }
    }

    /// Returns the rows in the order of a field, those without a value first, and rows of equal values ascending.
    pub fn order(&self, field: CostField) -> ScalarBuffer<u32> {
        let order = self.orders[field as usize].get_or_init(|| {
            let mut rows: Vec<u32> = (0..).take(self.costs.len()).collect();
            rows.sort_by_key(|row| self.value(field, *row as usize));
            rows.into()
        });
        order.clone()
    }
}
