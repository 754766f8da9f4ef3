//! What the traces of parts cost.

use std::sync::Arc;

use crate::bitmap::RowSet;
use crate::error::Result;
use crate::index::spans::CostColumn;
use crate::query::cancellation::CancellationToken;
use crate::query::pool::in_rounds;
use crate::query::rows::selection::{PARTS_PER_THREAD, Selection};
use crate::storage::SnapshotPart;
use crate::trace::cost::CostField;

/// Returns what the traces of each part cost.
///
/// # Errors
/// [`crate::error::Error::TooLarge`] if too many documents would have to be read, because segments have no table of spans yet;
/// [`crate::error::Error::Cancelled`], [`crate::error::Error::Storage`].
pub(in crate::query) fn costs_of(
    parts: &[&SnapshotPart],
    cancel: &CancellationToken,
) -> Result<Vec<Arc<CostColumn>>> {
    cancel.expect_few(parts.iter().map(|part| part.documents_of_costs()).sum())?;
    in_rounds(parts, PARTS_PER_THREAD, |(_, part): (usize, &&SnapshotPart)| {
        cancel.check()?;
        part.costs(&|| cancel.is_cancelled())
    })
}

/// Returns selections of the same rows with what their traces cost.
pub(in crate::query) fn with_costs<'a>(
    selections: &[Selection<'a>],
    cancel: &CancellationToken,
) -> Result<Vec<Selection<'a>>> {
    let parts: Vec<&SnapshotPart> = selections.iter().map(|selection| selection.part).collect();
    let costs = costs_of(&parts, cancel)?;
    let of_part = |(selection, costs): (&Selection<'a>, _)| {
        let Selection { part, index, rows, count, view } = selection;
        Selection {
            part,
            index: *index,
            rows: rows.clone(),
            count: *count,
            view: view.clone().with_costs(costs),
        }
    };
    Ok(selections.iter().zip(costs).map(of_part).collect())
}

/// Returns the rows of a part that have a field of the costs, or those that do not.
pub(in crate::query) fn rows_with_cost(
    selection: &Selection<'_>,
    field: CostField,
    is_present: bool,
) -> RowSet {
    let Some(costs) = selection.view.costs() else { return RowSet::NONE };
    let rows = (0u32..).zip(0..selection.view.count());
    let wanted = rows.filter(|(_, row)| costs.value(field, *row).is_some() == is_present);
    RowSet::List(wanted.map(|(row, _)| row).collect::<Vec<u32>>().into())
}
