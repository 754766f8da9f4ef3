//! Counting the traces that a filter matches, and finding out whether the head has any of them.

use rayon::prelude::*;

use crate::error::Result;
use crate::filter::Filter;
use crate::progress::Progress;
use crate::storage::snapshot::{RowKind, Snapshot, SnapshotPart};

/// Returns how many rows of a kind the filter matches.
///
/// # Errors
/// As [`count`].
pub(crate) fn count_of(snapshot: &Snapshot, kind: RowKind, filter: &Filter) -> Result<u64> {
    snapshot.parts().iter().map(|part| Ok(part.rows_of(kind, filter)?.len())).sum()
}

/// Returns how many traces of `snapshot` the filter matches. `progress` counts those that were looked at.
///
/// # Errors
/// Damage met while an index is rebuilt.
pub(crate) fn count(snapshot: &Snapshot, filter: &Filter, progress: &Progress) -> Result<u64> {
    let parts = snapshot.parts().par_iter();
    let count = |part: &SnapshotPart| -> Result<u64> {
        let count = part.rows(filter, &|| false)?.count() as u64;
        progress.add(part.count() as u64);
        Ok(count)
    };
    parts.map(count).sum()
}

/// Whether the filter matches a row of a kind in the head.
///
/// # Errors
/// As [`count`].
pub(crate) fn is_in_head(snapshot: &Snapshot, kind: RowKind, filter: &Filter) -> Result<bool> {
    let mut head = snapshot.parts().iter().filter(|part| !part.is_sealed());
    head.try_fold(false, |found, part| Ok(found || !part.rows_of(kind, filter)?.is_empty()))
}
