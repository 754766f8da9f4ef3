//! Damage that a store was opened without, as callers see it.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::error::Result;
use crate::storage::manifest::{Manifest, QuarantineRecord, WalQuarantineRecord};
use crate::storage::objects::Objects;
use crate::storage::wal;
use crate::storage::wal::salvage::salvage;

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

/// Damaged objects of the write-ahead log, of which no search returns the requests that are lost. The objects stay where
/// they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QuarantinedWal {
    /// The path of the object inside the store.
    pub object: String,
    /// The path of the last object, if several in a row are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_object: Option<String>,
    /// How many requests are lost, if that is known.
    pub lost_requests: Option<u64>,
    /// How many traces the lost requests are known to have had spans of.
    pub traces: u64,
    /// The ids of the first of these traces, at most 100.
    pub trace_ids: Vec<String>,
    /// What is wrong: a byte, and what was found there.
    #[serde(rename = "fault")]
    pub error: String,
}

impl QuarantinedWal {
    /// Returns what a manifest has recorded, with the traces that can be read in the objects.
    ///
    /// # Errors
    /// As [`salvage`].
    pub(crate) fn all_of(objects: &dyn Objects, manifest: &Manifest) -> Result<Vec<Self>> {
        manifest.quarantined_wal.iter().map(|record| Self::read(objects, record)).collect()
    }

    fn read(objects: &dyn Objects, record: &WalQuarantineRecord) -> Result<Self> {
        const MAX_TRACE_IDS: usize = 100;
        let is_one = record.first == record.last;
        // Of objects that are missing nothing can be read.
        let trace_ids =
            if is_one { salvage(objects, record.first, record.writer())?.trace_ids } else { BTreeSet::new() };
        Ok(Self {
            object: wal::path(record.first),
            last_object: (!is_one).then(|| wal::path(record.last)),
            lost_requests: record.lost,
            traces: trace_ids.len() as u64,
            trace_ids: trace_ids.iter().take(MAX_TRACE_IDS).map(ToString::to_string).collect(),
            error: record.error.clone(),
        })
    }
}
