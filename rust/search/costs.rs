//! What the traces of parts cost.

use std::sync::Arc;

use super::cancellation::CancellationToken;
use super::pool::in_rounds;
use super::selection::PARTS_PER_THREAD;
use crate::error::Result;
use crate::span_table::CostColumn;
use crate::storage::SnapshotPart;

/// Returns what the traces of each part cost.
///
/// # Errors
/// [`crate::error::Error::TooLarge`] if too many documents would have to be read, because segments have no table of spans yet;
/// [`crate::error::Error::Cancelled`], [`crate::error::Error::Storage`].
pub(super) fn costs_of(parts: &[&SnapshotPart], cancel: &CancellationToken) -> Result<Vec<Arc<CostColumn>>> {
    cancel.expect_few(parts.iter().map(|part| part.documents_of_costs()).sum())?;
    in_rounds(parts, PARTS_PER_THREAD, |(_, part): (usize, &&SnapshotPart)| {
        cancel.check()?;
        part.costs(&|| cancel.is_cancelled())
    })
}
