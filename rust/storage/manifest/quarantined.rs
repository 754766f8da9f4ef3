//! The public description of quarantined objects.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::error::Result;
use crate::storage::manifest::{Manifest, QuarantineRecord, WalQuarantineRecord};
use crate::storage::objects::Objects;
use crate::storage::wal;
use crate::storage::wal::salvage::salvage;

/// A damaged segment, which is excluded from searches. Its files are not deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QuarantinedSegment {
    /// The segment's folder in the store.
    pub segment: String,
    /// The number of live traces in the segment.
    pub traces: u64,
    /// The damage: an object, an offset, and a message.
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

/// Damaged objects of the write-ahead log. Searches do not return the spans of the lost requests. The objects
/// are not deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QuarantinedWal {
    /// The path of the object in the store.
    pub object: String,
    /// The path of the last object, if several adjacent objects are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_object: Option<String>,
    /// The number of lost requests, if known.
    pub lost_requests: Option<u64>,
    /// The number of traces with spans in the lost requests, as far as the requests can be read.
    pub traces: u64,
    /// The ids of the first of these traces, at most 100.
    pub trace_ids: Vec<String>,
    /// The damage: an offset and a message.
    #[serde(rename = "fault")]
    pub error: String,
}

impl QuarantinedWal {
    /// Returns the records of a manifest, with the traces that can be read from the damaged objects.
    ///
    /// # Errors
    /// The errors of [`salvage`].
    pub(crate) fn all_of(objects: &dyn Objects, manifest: &Manifest) -> Result<Vec<Self>> {
        manifest.quarantined_wal.iter().map(|record| Self::read(objects, record)).collect()
    }

    fn read(objects: &dyn Objects, record: &WalQuarantineRecord) -> Result<Self> {
        const MAX_TRACE_IDS: usize = 100;
        let is_one = record.first == record.last;
        // Missing objects have no readable data.
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
