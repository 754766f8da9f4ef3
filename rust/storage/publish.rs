//! What everybody may read at any time, and the committer alone brings about.

use std::sync::{Arc, Mutex};

use arc_swap::{ArcSwap, ArcSwapOption};

use super::aside::Aside;
use super::commit::Committer;
use super::manifest::ImportRecord;
use super::snapshot::Snapshot;
use super::state::State;

/// What everybody may read at any time.
#[derive(Debug, Default)]
pub(super) struct Published {
    pub(super) snapshot: ArcSwap<Snapshot>,
    pub(super) progress: ArcSwap<Progress>,
    /// Why what is too old could not be deleted.
    pub(super) retention_fault: ArcSwapOption<String>,
    /// Held while an import has written files that no manifest names yet.
    pub(super) unnamed_files: Mutex<()>,
}

/// How far the committer is.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress {
    /// Why nothing more is acknowledged.
    pub(super) stopped: Option<String>,
    /// Why the last seal failed, if it did.
    pub(super) seal_fault: Option<String>,
    /// Why the last merge failed, if it did.
    pub(super) merge_fault: Option<String>,
    pub(super) is_merging: bool,
    pub(super) segments: usize,
    pub(super) generations: usize,
    pub(super) unsealed_bytes: u64,
    pub(super) unsealed_objects: u64,
    pub(super) wal_through: u64,
    pub(super) wal_folded_through: u64,
    pub(super) manifest: u64,
    pub(super) aside: Vec<Aside>,
    pub(super) imports: Vec<ImportRecord>,
}

impl Committer {
    /// Shows the present state to searches.
    pub(super) fn publish(&mut self) {
        let before = self.published.snapshot.load_full();
        self.published.snapshot.store(Arc::new(self.state.snapshot().after(&before)));
        self.removal.state(before);
        self.publish_progress();
    }

    pub(super) fn publish_progress(&mut self) {
        self.published.progress.store(Arc::new(self.progress_of(&self.state)));
    }

    /// Returns how far the committer is in this state.
    pub(super) fn progress_of(&self, state: &State) -> Progress {
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
            wal_folded_through: state.manifest.wal_folded_through,
            manifest: state.manifest.number,
            aside: state.manifest.aside.iter().map(Aside::of).collect(),
            imports: state.manifest.imports.clone(),
        }
    }
}
