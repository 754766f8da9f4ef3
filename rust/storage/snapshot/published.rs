//! What the committer publishes and any thread may read without waiting.

use std::sync::{Arc, Mutex};

use arc_swap::{ArcSwap, ArcSwapOption};

use crate::otlp::TraceId;
use crate::storage::changes::Changes;
use crate::storage::manifest::quarantined::{QuarantinedSegment, QuarantinedWal};
use crate::storage::manifest::{ImportRecord, IndexRecord};
use crate::storage::snapshot::Snapshot;
use crate::storage::state::StoreState;
use crate::storage::state::holding::Holding;

/// The newest durable state of the store, and how its background work is doing.
#[derive(Debug, Default)]
pub(crate) struct Published {
    pub(crate) snapshot: ArcSwap<Snapshot>,
    /// Never behind the snapshot.
    pub(crate) changes: Arc<Changes>,
    pub(crate) progress: ArcSwap<CommitProgress>,
    /// Whether this process still holds the store.
    pub(crate) holding: Holding,
    /// Why retention failed last, if it did.
    pub(crate) retention_error: ArcSwapOption<String>,
    /// Why a segment could not be indexed last, if so.
    pub(crate) indexing_error: ArcSwapOption<String>,
    /// What manifests are to say of indexes whose objects were written. Held while one is written.
    pub(crate) index_records: Mutex<Vec<IndexRecord>>,
    /// Held while a bulk load has written files that no manifest names yet.
    pub(crate) unnamed_files: Mutex<()>,
}

impl Published {
    /// Replaces the snapshot by one in which requests have changed the traces `changed`. The new one keeps what was
    /// computed for the one before, which is returned.
    pub(crate) fn replace_snapshot(&self, snapshot: Snapshot, changed: &[TraceId]) -> Arc<Snapshot> {
        let position = self.changes.append(changed);
        let before = self.snapshot.load_full();
        self.snapshot.store(Arc::new(snapshot.after(&before, position)));
        before
    }
}

/// How far the committer has come.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommitProgress {
    /// Why nothing more is acknowledged.
    pub(crate) stopped: Option<String>,
    /// Why the last seal failed, if it did.
    pub(crate) seal_error: Option<String>,
    /// Why the last merge failed, if it did.
    pub(crate) merge_error: Option<String>,
    pub(crate) is_merging: bool,
    pub(crate) segments: usize,
    pub(crate) generations: usize,
    pub(crate) unsealed_bytes: u64,
    pub(crate) unsealed_objects: u64,
    pub(crate) wal_through: u64,
    /// WAL objects up to this number are contained in segments.
    pub(crate) wal_checkpoint: u64,
    pub(crate) manifest: u64,
    pub(crate) quarantined: Vec<QuarantinedSegment>,
    pub(crate) quarantined_wal: Arc<[QuarantinedWal]>,
    pub(crate) imports: Vec<ImportRecord>,
}

impl CommitProgress {
    /// Returns the progress of a store in this state, as far as the state says it.
    pub(crate) fn of(state: &StoreState) -> Self {
        let (unsealed_bytes, unsealed_objects) = state.unsealed();
        Self {
            segments: state.segments.len(),
            generations: state.generations.len(),
            unsealed_bytes,
            unsealed_objects,
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
