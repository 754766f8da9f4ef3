//! Publishing the committer's state to searches and statistics.

use std::sync::Arc;

use crate::otlp::TraceId;
use crate::storage::committer::Committer;
use crate::storage::snapshot::published::CommitProgress;
use crate::storage::state::StoreState;

impl Committer {
    /// Publishes the durable state after a step in which requests changed no trace.
    pub(super) fn publish(&mut self) {
        self.publish_changed(&[]);
    }

    /// Publishes the durable state, in which requests have changed these traces.
    pub(super) fn publish_changed(&mut self, changed: &[TraceId]) {
        let before = self.published.replace_snapshot(self.state.snapshot(), changed);
        self.workers.reclaimer.free_snapshot(before);
        self.publish_progress();
    }

    /// Publishes the committer's progress without a snapshot.
    pub(super) fn publish_progress(&mut self) {
        self.published.progress.store(Arc::new(self.progress_in(&self.state)));
    }

    /// Returns the committer's progress for `state`.
    pub(super) fn progress_in(&self, state: &StoreState) -> CommitProgress {
        CommitProgress {
            stopped: self.stopped.clone(),
            flush_error: self.flush_error.as_ref().map(ToString::to_string),
            merge_error: self.compaction.error.as_ref().map(ToString::to_string),
            is_merging: self.compaction.running.is_some(),
            ..CommitProgress::of(state)
        }
    }
}
