//! What everybody may read at any time, and the committer alone brings about.

use std::sync::{Arc, Mutex};

use arc_swap::{ArcSwap, ArcSwapOption};

use crate::storage::committer::Committer;
use crate::storage::manifest::ImportRecord;
use crate::storage::snapshot::Snapshot;
use crate::storage::state::State;
use crate::storage::state::open_segments::Aside;

/// What everybody may read at any time.
#[derive(Debug, Default)]
pub(crate) struct Published {
    pub(crate) snapshot: ArcSwap<Snapshot>,
    pub(crate) progress: ArcSwap<Progress>,
    /// Why what is too old could not be deleted.
    pub(crate) retention_fault: ArcSwapOption<String>,
    /// Held while an import has written files that no manifest names yet.
    pub(crate) unnamed_files: Mutex<()>,
}

/// How far the committer is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress {
    /// Why nothing more is acknowledged.
    pub(crate) stopped: Option<String>,
    /// Why the last seal failed, if it did.
    pub(crate) seal_fault: Option<String>,
    /// Why the last merge failed, if it did.
    pub(crate) merge_fault: Option<String>,
    pub(crate) is_merging: bool,
    pub(crate) segments: usize,
    pub(crate) generations: usize,
    pub(crate) unsealed_bytes: u64,
    pub(crate) unsealed_objects: u64,
    pub(crate) wal_through: u64,
    pub(crate) wal_folded_through: u64,
    pub(crate) manifest: u64,
    pub(crate) aside: Vec<Aside>,
    pub(crate) imports: Vec<ImportRecord>,
}

impl Committer {
    /// Shows the present state to searches.
    pub(crate) fn publish(&mut self) {
        let before = self.published.snapshot.load_full();
        self.published.snapshot.store(Arc::new(self.state.snapshot().after(&before)));
        self.removal.state(before);
        self.publish_progress();
    }

    pub(crate) fn publish_progress(&mut self) {
        self.published.progress.store(Arc::new(self.progress_of(&self.state)));
    }

    /// Returns how far the committer is in this state.
    pub(crate) fn progress_of(&self, state: &State) -> Progress {
        let (unsealed_bytes, unsealed_objects) = state.unsealed();
        Progress {
            stopped: self.stopped.clone(),
            seal_fault: self.seal_fault.as_ref().map(ToString::to_string),
            merge_fault: self.compaction.fault.as_ref().map(ToString::to_string),
            is_merging: self.compaction.under_way.is_some(),
            segments: state.sealed.len(),
            generations: state.generations.len(),
            unsealed_bytes,
            unsealed_objects,
            wal_through: state.wal_through(),
            wal_folded_through: state.manifest.wal_checkpoint,
            manifest: state.manifest.number,
            aside: state.manifest.quarantined.iter().map(Aside::of).collect(),
            imports: state.manifest.imports.clone(),
        }
    }
}
