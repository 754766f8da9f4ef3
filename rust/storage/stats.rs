//! The statistics of an open store.

use serde::Serialize;

use crate::storage::manifest::quarantined::{QuarantinedSegment, QuarantinedWal};
use crate::storage::options::IndexKind;
use crate::storage::snapshot::published::Published;

/// Counts, sizes and errors of a store.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Stats {
    /// The number of live traces, which a search without a filter finds.
    pub traces: u64,
    /// The number of segments.
    pub segments: u64,
    /// The size of segment objects in bytes.
    pub segment_bytes: u64,
    /// The size of cached indexes in bytes.
    pub index_bytes: u64,
    /// The number of segments without a span table. Conditions on spans read their documents.
    pub segments_without_spans: u64,
    /// The number of segments without a text index. Conditions on texts read their documents.
    pub segments_without_texts: u64,
    /// The number of segments without an attribute index. Conditions on attributes read their documents, and
    /// their attribute keys are not counted.
    pub segments_without_attributes: u64,
    /// The number of generations of the head, including the open one.
    pub generations: u64,
    /// The size of WAL objects after the checkpoint, in bytes.
    pub unsealed_bytes: u64,
    /// The number of WAL objects after the checkpoint.
    pub unsealed_objects: u64,
    /// The size of unwritten requests in bytes.
    pub waiting_bytes: u64,
    /// The number of the newest WAL object.
    pub wal_through: u64,
    /// The WAL checkpoint: segments contain the WAL up to this number.
    #[serde(rename = "wal_folded_through")]
    pub wal_checkpoint: u64,
    /// The number of the newest manifest.
    pub manifest: u64,
    /// True if spans are acknowledged.
    pub is_acknowledging: bool,
    /// The reason why no spans are acknowledged until the store is reopened.
    pub stopped: Option<String>,
    /// The reason why searches are rejected: another process owns the store, or the ownership is unknown.
    #[serde(rename = "holding_fault")]
    pub holding_error: Option<String>,
    /// Followers only: the time through which the state is complete, in microseconds since 1970.
    pub as_of: Option<i64>,
    /// Followers only: the age of the state in seconds.
    pub lag_seconds: Option<f64>,
    /// Followers only: the error of the last poll, which is retried.
    #[serde(rename = "following_fault")]
    pub following_error: Option<String>,
    /// The error of the last flush, which is retried.
    #[serde(rename = "seal_fault")]
    pub flush_error: Option<String>,
    /// True if segments are being merged.
    pub is_merging: bool,
    /// The error of the last merge, which is retried. No data is lost.
    #[serde(rename = "merge_fault")]
    pub merge_error: Option<String>,
    /// The last error of indexing, which is retried.
    #[serde(rename = "indexing_fault")]
    pub indexing_error: Option<String>,
    /// The last error of retention, which is retried.
    #[serde(rename = "retention_fault")]
    pub retention_error: Option<String>,
    /// Damaged segments, which are excluded from searches.
    #[serde(rename = "aside")]
    pub quarantined: Vec<QuarantinedSegment>,
    /// Damaged objects of the write-ahead log, whose requests may be lost.
    #[serde(rename = "wal_aside")]
    pub quarantined_wal: Vec<QuarantinedWal>,
}

impl Stats {
    /// Returns the statistics of the published state. `is_running`: the committer is running.
    pub(crate) fn of(published: &Published, waiting_bytes: u64, is_running: bool) -> Self {
        let progress = published.progress.load_full();
        let snapshot = published.snapshot.load_full();
        let live = snapshot.parts().iter().map(|part| part.count() as u64 - part.invisible().len());
        let without =
            |kind| snapshot.segments().filter(|(segment, _)| !segment.has_index(kind)).count() as u64;
        Self {
            traces: live.sum(),
            segments: progress.segments as u64,
            segment_bytes: snapshot.segments().map(|(segment, _)| segment.bytes()).sum(),
            index_bytes: snapshot.segments().map(|(segment, _)| segment.index_bytes()).sum(),
            segments_without_spans: without(IndexKind::Spans),
            segments_without_texts: without(IndexKind::Texts),
            segments_without_attributes: without(IndexKind::Attributes),
            generations: progress.generations as u64,
            unsealed_bytes: progress.unflushed_bytes,
            unsealed_objects: progress.unflushed_objects,
            waiting_bytes,
            wal_through: progress.wal_through,
            wal_checkpoint: progress.wal_checkpoint,
            manifest: progress.manifest,
            is_acknowledging: is_running && progress.stopped.is_none(),
            stopped: progress.stopped.clone(),
            holding_error: published.lease.doubt(),
            as_of: None,
            lag_seconds: None,
            following_error: None,
            flush_error: progress.flush_error.clone(),
            is_merging: progress.is_merging,
            merge_error: progress.merge_error.clone(),
            indexing_error: published.indexing_error.load_full().map(|error| error.to_string()),
            retention_error: published.retention_error.load_full().map(|error| error.to_string()),
            quarantined: progress.quarantined.clone(),
            quarantined_wal: progress.quarantined_wal.to_vec(),
        }
    }
}
