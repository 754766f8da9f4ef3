//! The state of compaction between merges: the running merge, the earliest start of the next one, and waiting
//! callers.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use crate::error::Error;
use crate::storage::state::StoreState;
use crate::storage::state::command::Reply;
use crate::storage::state::live_segment::LiveSegment;
use crate::storage::workers::compact::MergeInput;

/// The running merge and the pending ones.
pub(super) struct CompactionQueue {
    /// The inputs of the running merge.
    pub(super) running: Option<Vec<MergeInput>>,
    /// True if segments have changed since the picker last found no merge.
    pub(super) may_be_due: bool,
    /// The time when segments that await compression may be due, if compression was deferred.
    pub(super) deferred_until: Option<Instant>,
    /// The earliest start of the next background merge.
    pub(super) retry_at: Option<Instant>,
    /// The error of the last merge, if it failed.
    pub(super) error: Option<Error>,
    /// The segments that a merge failed to read, by id.
    unreadable: HashMap<String, UnreadableSegment>,
    /// Manual compactions, in request order.
    pub(super) manual: VecDeque<ManualCompaction>,
}

/// A segment that a merge failed to read.
struct UnreadableSegment {
    error: Error,
    /// The number of deleted rows at that time. Later deletions may include the unreadable rows.
    deleted_rows: u64,
}

/// A full compaction with a waiting caller.
pub(super) struct ManualCompaction {
    /// True if no deleted data may remain on disk.
    pub(super) purge: bool,
    pub(super) reply: Reply<()>,
    /// The ids of the segments still to be merged, by group; `None` until the compaction starts.
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
    /// Returns `true` if the first manual compaction has started. Then the running merge belongs to it.
    pub(super) fn is_manual(&self) -> bool {
        self.manual.front().is_some_and(|compaction| compaction.groups.is_some())
    }

    /// Excludes the segment of `inputs` that `error` reports as damaged. Returns `true` if there is one.
    pub(super) fn exclude_damaged(&mut self, inputs: &[MergeInput], error: &Error) -> bool {
        let Error::Damage { object, .. } = error else { return false };
        let is_within = |input: &&MergeInput| object.split('/').any(|name| name == input.segment_id);
        let Some(damaged) = inputs.iter().find(is_within) else { return false };
        let unreadable = UnreadableSegment { error: error.clone(), deleted_rows: damaged.dropped.len() };
        self.unreadable.insert(damaged.segment_id.clone(), unreadable);
        true
    }

    /// Returns `true` if background merges skip this segment. Otherwise it would block merges of the others.
    pub(super) fn is_excluded(&self, live: &LiveSegment) -> bool {
        let unreadable = self.unreadable.get(&live.record.id);
        unreadable.is_some_and(|unreadable| unreadable.deleted_rows == live.durable_deletion_vector.len())
    }

    /// Records a successful merge. The error of a segment that is still excluded becomes the current error.
    pub(super) fn succeeded(&mut self, state: &StoreState) {
        self.unreadable.retain(|id, _| state.position_of(id).is_some());
        self.error = self.unreadable.values().next().map(|unreadable| unreadable.error.clone());
        self.retry_at = None;
    }
}
