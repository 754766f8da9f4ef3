//! A damaged segment that was taken out of the store's results, as callers see it.

use serde::Serialize;

use crate::storage::manifest::QuarantineRecord;

/// A damaged segment whose traces no search returns. Its files stay where they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QuarantinedSegment {
    /// The segment's folder inside the store.
    pub segment: String,
    /// How many live traces it held.
    pub traces: u64,
    /// What is wrong: an object, a byte, and what was found there.
    #[serde(rename = "fault")]
    pub error: String,
}

impl QuarantinedSegment {
    pub(crate) fn of(record: &QuarantineRecord) -> Self {
        let QuarantineRecord { segment, error } = record;
        Self {
            segment: format!("segments/{}", segment.id),
            traces: segment.rows.saturating_sub(segment.deletion_vector.map_or(0, |deleted| deleted.rows)),
            error: error.clone(),
        }
    }
}
