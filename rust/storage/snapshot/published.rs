//! The published state of the committer, which any thread can read without waiting.

use std::sync::{Arc, Mutex};

use arc_swap::{ArcSwap, ArcSwapOption};

use crate::otlp::TraceId;
use crate::storage::changes::Changes;
use crate::storage::manifest::quarantined::{QuarantinedSegment, QuarantinedWal};
use crate::storage::manifest::{ImportRecord, IndexRecord};
use crate::storage::snapshot::Snapshot;
use crate::storage::state::StoreState;
use crate::storage::state::lease::Lease;

/// The newest durable state of the store, and the progress of its background work.
#[derive(Debug, Default)]
pub(crate) struct Published {
    pub(crate) snapshot: ArcSwap<Snapshot>,
    /// Always at least as new as the snapshot.
    pub(crate) changes: Arc<Changes>,
    pub(crate) progress: ArcSwap<CommitProgress>,
    /// The lease of this process on the store.
    pub(crate) lease: Lease,
    /// The last error of retention, if any.
    pub(crate) retention_error: ArcSwapOption<String>,
    /// The last error of the indexing thread, if any.
    pub(crate) indexing_error: ArcSwapOption<String>,
    /// The records of written index objects for the next manifest. Held while an object is written.
    pub(crate) index_records: Mutex<Vec<IndexRecord>>,
    /// Held while a bulk load has files that no manifest names yet.
    pub(crate) unnamed_files: Mutex<()>,
}

impl Published {
    /// Replaces the snapshot by one in which requests have changed the traces `changed`. The new one inherits
    /// the values computed for the old one, which is returned.
    pub(crate) fn replace_snapshot(&self, snapshot: Snapshot, changed: &[TraceId]) -> Arc<Snapshot> {
        let position = self.changes.append(changed);
        let before = self.snapshot.load_full();
        self.snapshot.store(Arc::new(snapshot.after(&before, position)));
        before
    }
}

/// The progress of the committer.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommitProgress {
    /// The reason why no more requests are acknowledged.
    pub(crate) stopped: Option<String>,
    /// The error of the last flush, if it failed.
    pub(crate) flush_error: Option<String>,
    /// The error of the last merge, if it failed.
    pub(crate) merge_error: Option<String>,
    pub(crate) is_merging: bool,
    pub(crate) segments: usize,
    pub(crate) generations: usize,
    pub(crate) unflushed_bytes: u64,
    pub(crate) unflushed_objects: u64,
    pub(crate) wal_through: u64,
    /// The WAL checkpoint: segments contain the WAL up to this number.
    pub(crate) wal_checkpoint: u64,
    pub(crate) manifest: u64,
    pub(crate) quarantined: Vec<QuarantinedSegment>,
    pub(crate) quarantined_wal: Arc<[QuarantinedWal]>,
    pub(crate) imports: Vec<ImportRecord>,
}

impl CommitProgress {
    /// Returns the progress of a store in this state, without the parts that the state does not have.
    pub(crate) fn of(state: &StoreState) -> Self {
        let (unflushed_bytes, unflushed_objects) = state.unflushed();
        Self {
            segments: state.segments.len(),
            generations: state.generations.len(),
            unflushed_bytes,
            unflushed_objects,
            wal_through: state.wal_through(),
            wal_checkpoint: state.manifest.wal_checkpoint,
            manifest: state.manifest.number,
            quarantined: state.manifest.quarantined.iter().map(QuarantinedSegment::of).collect(),
            quarantined_wal: state.quarantined_wal.clone(),
            imports: state.manifest.imports.clone(),
            ..Self::default()
        }
    }
}
