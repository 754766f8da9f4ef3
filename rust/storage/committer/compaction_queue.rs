//! What the committer remembers between merges: the one that is running, when the next may begin, and who waits.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use crate::error::Error;
use crate::storage::state::StoreState;
use crate::storage::state::command::Reply;
use crate::storage::state::live_segment::LiveSegment;
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
    /// The segments that a merge could not read, by their ids.
    unreadable: HashMap<String, UnreadableSegment>,
    /// The compactions that callers asked for, in order.
    pub(super) manual: VecDeque<ManualCompaction>,
}

/// A segment that a merge could not read.
struct UnreadableSegment {
    error: Error,
    /// How many of its rows were deleted then. Once more are, what could not be read may be among them.
    deleted_rows: u64,
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
            unreadable: HashMap::new(),
            manual: VecDeque::new(),
        }
    }
}

impl CompactionQueue {
    /// Whether the first manual compaction has begun, so that the running merge is one of its merges.
    pub(super) fn is_manual(&self) -> bool {
        self.manual.front().is_some_and(|compaction| compaction.groups.is_some())
    }

    /// Remembers the segment of `inputs` that `error` says is damaged; returns whether there is one.
    pub(super) fn exclude_damaged(&mut self, inputs: &[MergeInput], error: &Error) -> bool {
        let Error::Damage { object, .. } = error else { return false };
        let is_within = |input: &&MergeInput| object.split('/').any(|name| name == input.segment_id);
        let Some(damaged) = inputs.iter().find(is_within) else { return false };
        let unreadable = UnreadableSegment { error: error.clone(), deleted_rows: damaged.dropped.len() };
        self.unreadable.insert(damaged.segment_id.clone(), unreadable);
        true
    }

    /// Whether a background merge leaves the segment out, so that it does not keep the others from being merged.
    pub(super) fn is_excluded(&self, live: &LiveSegment) -> bool {
        let unreadable = self.unreadable.get(&live.record.id);
        unreadable.is_some_and(|unreadable| unreadable.deleted_rows == live.durable_deletion_vector.len())
    }

    /// Records that a merge succeeded, after which the error is that of a segment which is still left out, if any.
    pub(super) fn succeeded(&mut self, state: &StoreState) {
        self.unreadable.retain(|id, _| state.position_of(id).is_some());
        self.error = self.unreadable.values().next().map(|unreadable| unreadable.error.clone());
        self.retry_at = None;
    }
}
