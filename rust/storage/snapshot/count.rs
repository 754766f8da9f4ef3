//! Counts the traces that a filter matches, and checks if the head has any of them.

use rayon::prelude::*;

use crate::error::Result;
use crate::filter::Filter;
use crate::progress::Progress;
use crate::storage::snapshot::{RowKind, Snapshot, SnapshotPart};

/// Returns the number of rows of `kind` that the filter matches.
///
/// # Errors
/// The errors of [`count`].
pub(crate) fn count_of(snapshot: &Snapshot, kind: RowKind, filter: &Filter) -> Result<u64> {
    snapshot.parts().iter().map(|part| Ok(part.rows_of(kind, filter)?.len())).sum()
}

/// Returns the number of traces of `snapshot` that the filter matches. `progress` counts the checked traces.
///
/// # Errors
/// Damage found while an index is rebuilt.
pub(crate) fn count(snapshot: &Snapshot, filter: &Filter, progress: &Progress) -> Result<u64> {
    let parts = snapshot.parts().par_iter();
    let count = |part: &SnapshotPart| -> Result<u64> {
        let count = part.rows(filter, &|| false)?.count() as u64;
        progress.add(part.count() as u64);
        Ok(count)
    };
    parts.map(count).sum()
}

/// Returns `true` if the filter matches a row of `kind` in the head.
///
/// # Errors
/// The errors of [`count`].
pub(crate) fn is_in_head(snapshot: &Snapshot, kind: RowKind, filter: &Filter) -> Result<bool> {
    let mut head = snapshot.parts().iter().filter(|part| !part.is_segment());
    head.try_fold(false, |found, part| Ok(found || !part.rows_of(kind, filter)?.is_empty()))
}
