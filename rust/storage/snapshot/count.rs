//! Counting the traces that a filter matches.

use rayon::prelude::*;

use crate::error::Result;
use crate::filter::Filter;
use crate::storage::snapshot::Snapshot;

/// Returns how many traces of `snapshot` the filter matches.
///
/// # Errors
/// Damage met while an index is rebuilt.
pub(crate) fn count(snapshot: &Snapshot, filter: &Filter) -> Result<u64> {
    let parts = snapshot.parts().par_iter();
    parts.map(|part| Ok(part.rows(filter, &|| false)?.count() as u64)).sum()
}
