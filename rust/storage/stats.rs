//! The statistics of an open store.

use serde::Serialize;

use crate::storage::manifest::quarantined::{QuarantinedSegment, QuarantinedWal};
use crate::storage::options::IndexKind;
use crate::storage::snapshot::published::Published;

/// Counts, sizes and errors of a store.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Stats {
    /// Live traces, which a search without a filter finds.
    pub traces: u64,
    /// Sealed segments.
    pub segments: u64,
    /// Bytes of the objects of sealed segments.
    pub segment_bytes: u64,
    /// Bytes of their indexes, in the cache.
    pub index_bytes: u64,
    /// Sealed segments that have no span table yet: conditions on spans read their documents.
    pub segments_without_spans: u64,
    /// Sealed segments that have no index of texts yet: conditions on what was said read their documents.
    pub segments_without_texts: u64,
    /// Sealed segments that have no index of attributes yet: conditions on attributes read their documents, and keys of
    /// attributes are not counted there.
    pub segments_without_attributes: u64,
    /// Generations of the head, the open one included.
    pub generations: u64,
    /// Bytes of WAL objects that are not contained in segments.
    pub unsealed_bytes: u64,
    /// WAL objects that are not contained in segments.
    pub unsealed_objects: u64,
    /// Bytes of requests that wait to be written.
    pub waiting_bytes: u64,
    /// The number of the newest WAL object.
    pub wal_through: u64,
    /// WAL objects up to this number are contained in segments.
    #[serde(rename = "wal_folded_through")]
    pub wal_checkpoint: u64,
    /// The number of the newest manifest.
    pub manifest: u64,
    /// Whether spans are acknowledged at all.
    pub is_acknowledging: bool,
    /// Why they are not, until the store is opened again.
    pub stopped: Option<String>,
    /// Why searches are rejected: another process holds the store, or that is not known.
    #[serde(rename = "holding_fault")]
    pub holding_error: Option<String>,
    /// Of a reader: up to when everything is known that was acknowledged, in microseconds since 1970.
    pub as_of: Option<i64>,
    /// Of a reader: how long ago that was.
    pub lag_seconds: Option<f64>,
    /// Of a reader: why the last look at the store failed; it is retried.
    #[serde(rename = "following_fault")]
    pub following_error: Option<String>,
    /// Why the last seal failed; it is retried.
    #[serde(rename = "seal_fault")]
    pub seal_error: Option<String>,
    /// Whether segments are being merged.
    pub is_merging: bool,
    /// Why the last merge failed; it is retried, and nothing is lost.
    #[serde(rename = "merge_fault")]
    pub merge_error: Option<String>,
    /// Why a segment could not be indexed last; it is retried.
    #[serde(rename = "indexing_fault")]
    pub indexing_error: Option<String>,
    /// Why retention failed last; it is retried.
    #[serde(rename = "retention_fault")]
    pub retention_error: Option<String>,
    /// Damaged segments that no search returns.
    #[serde(rename = "aside")]
    pub quarantined: Vec<QuarantinedSegment>,
    /// Damaged objects of the write-ahead log, of which requests may be lost.
    #[serde(rename = "wal_aside")]
    pub quarantined_wal: Vec<QuarantinedWal>,
}

impl Stats {
    /// Returns the statistics of what was published; `is_running` tells whether the committer runs.
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
            unsealed_bytes: progress.unsealed_bytes,
            unsealed_objects: progress.unsealed_objects,
            waiting_bytes,
            wal_through: progress.wal_through,
            wal_checkpoint: progress.wal_checkpoint,
            manifest: progress.manifest,
            is_acknowledging: is_running && progress.stopped.is_none(),
            stopped: progress.stopped.clone(),
            holding_error: published.holding.doubt(),
            as_of: None,
            lag_seconds: None,
            following_error: None,
            seal_error: progress.seal_error.clone(),
            is_merging: progress.is_merging,
            merge_error: progress.merge_error.clone(),
            indexing_error: published.indexing_error.load_full().map(|error| error.to_string()),
            retention_error: published.retention_error.load_full().map(|error| error.to_string()),
            quarantined: progress.quarantined.clone(),
            quarantined_wal: progress.quarantined_wal.to_vec(),
        }
    }
}
