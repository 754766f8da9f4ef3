//! What the committer remembers between merges: the one that is running, when the next may begin, and who waits.

use std::collections::VecDeque;
use std::time::Instant;

use crate::error::Error;
use crate::storage::state::command::Reply;
use crate::storage::workers::compact::MergeInput;

/// The running merge and those that may follow.
pub(super) struct CompactionQueue {
    /// What the merging thread is merging.
    pub(super) running: Option<Vec<MergeInput>>,
    /// Whether segments changed since the picker found nothing to merge.
    pub(super) may_be_due: bool,
    /// When segments that await compression may be due, if compression was deferred.
    pub(super) deferred_until: Option<Instant>,
    /// No background merge begins before this.
    pub(super) retry_at: Option<Instant>,
    /// Why the last merge failed, if it did.
    pub(super) error: Option<Error>,
    /// The compactions that callers asked for, in order.
    pub(super) manual: VecDeque<ManualCompaction>,
}

/// A compaction of all segments that a caller waits for.
pub(super) struct ManualCompaction {
    /// Whether nothing may be left on disk of what was deleted.
    pub(super) purge: bool,
    pub(super) reply: Reply<()>,
    /// The segments that are still to be merged, by their ids; `None` until the compaction begins.
    pub(super) groups: Option<VecDeque<Vec<String>>>,
}

impl Default for CompactionQueue {
    fn default() -> Self {
        Self {
            running: None,
            may_be_due: true,
            deferred_until: None,
            retry_at: None,
            error: None,
            manual: VecDeque::new(),
        }
    }
}

impl CompactionQueue {
    /// Whether the first manual compaction has begun, so that the running merge is one of its merges.
    pub(super) fn is_manual(&self) -> bool {
        self.manual.front().is_some_and(|compaction| compaction.groups.is_some())
    }
}
