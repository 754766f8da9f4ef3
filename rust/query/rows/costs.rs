//! Loads the costs of traces by part.

use std::sync::Arc;

use crate::bitmap::RowSet;
use crate::error::Result;
use crate::index::spans::CostColumn;
use crate::query::cancellation::CancellationToken;
use crate::query::pool::par_map_chunked;
use crate::query::rows::selection::{PARTS_PER_THREAD, Selection};
use crate::storage::SnapshotPart;
use crate::trace::cost::CostField;

/// Returns the costs of the traces of each part.
///
/// # Errors
/// [`crate::error::Error::TooLarge`] if too many documents must be checked because segments have no span table yet;
/// [`crate::error::Error::Cancelled`]; [`crate::error::Error::Storage`].
pub(crate) fn costs_of(parts: &[&SnapshotPart], cancel: &CancellationToken) -> Result<Vec<Arc<CostColumn>>> {
    cancel.admit_checks(parts.iter().map(|part| part.documents_of_costs()).sum())?;
    par_map_chunked(parts, PARTS_PER_THREAD, |(_, part): (usize, &&SnapshotPart)| {
        cancel.check()?;
        part.costs(&|| cancel.is_cancelled())
    })
}

/// Returns selections of the same rows with the costs of their traces.
pub(crate) fn with_costs<'a>(
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

/// Returns the rows of a part with a value for a cost field, or the rows without a value.
pub(crate) fn rows_with_cost(selection: &Selection<'_>, field: CostField, is_present: bool) -> RowSet {
    let Some(costs) = selection.view.costs() else { return RowSet::NONE };
    let rows = (0u32..).zip(0..selection.view.count());
    let matching = rows.filter(|(_, row)| costs.value(field, *row).is_some() == is_present);
    RowSet::List(matching.map(|(row, _)| row).collect::<Vec<u32>>().into())
}
