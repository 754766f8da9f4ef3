//! Compaction: the committer picks the segments to merge, and commits the output of the merge thread.
//!
//! The store accepts requests while a merge runs. Rows that were superseded or deleted since its start are
//! deleted from the new segment by trace id when the merge is committed.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use roaring::RoaringBitmap;

use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::storage::committer::Committer;
use crate::storage::committer::compaction_picker::{CompactionPicker, SegmentSize};
use crate::storage::committer::compaction_queue::ManualCompaction;
use crate::storage::committer::index_records::written_indexes;
use crate::storage::segment::builder::NewSegment;
use crate::storage::state::StoreState;
use crate::storage::state::command::Reply;
use crate::storage::state::live_segment::LiveSegment;
use crate::storage::state::sweep::sweep;
use crate::storage::wal;
use crate::storage::workers::compact::{MergeInput, MergeTask};

/// The delay before a failed merge is retried. It may have read a gibibyte.
const RETRY_DELAY: Duration = Duration::from_secs(600);

/// The divisor that estimates the compressed size of uncompressed documents. A ratio of 4 is common. With a
/// worse ratio the new segment is larger than planned.
const DEFERRED_RATIO: u64 = 3;

impl Committer {
    /// Queues a compaction of all segments, and replies after it is done.
    pub(super) fn compact(&mut self, purge: bool, reply: Reply<()>) {
        match &self.stopped {
            Some(reason) => {
                let _caller_is_gone = reply.send(Err(Error::Stopped(reason.clone())));
            }
            None => self.compaction.manual.push_back(ManualCompaction { purge, reply, groups: None }),
        }
    }

    /// Sends the next due merge to the merge thread if the thread is free. Manual compactions come first.
    pub(super) fn merge_next(&mut self) {
        while self.is_merger_free() && !self.compaction.manual.is_empty() {
            if !self.continue_manual() {
                return;
            }
        }
        let now = Instant::now();
        let is_waiting = self.compaction.retry_at.is_some_and(|instant| instant > now);
        let is_time = self.compaction.deferred_until.is_some_and(|instant| instant <= now);
        if self.is_merger_free() && !is_waiting && (self.compaction.may_be_due || is_time) {
            let (positions, mut sizes) = self.by_time();
            for (position, size) in positions.iter().zip(&mut sizes) {
                if self.compaction.is_excluded(&self.state.segments[*position]) {
                    *size = SegmentSize::UNMERGEABLE;
                }
            }
            let high_until = self.ingest_rate.high_until();
            if high_until.is_none() {
                // The merge compresses these segments, so their uncompressed size must not prevent it.
                let deferred = sizes.iter_mut().filter(|size| size.awaits_compression);
                deferred.for_each(|size| size.bytes /= DEFERRED_RATIO);
            }
            if let Some(due) = CompactionPicker::new(&self.options).pick(&sizes, high_until.is_none()) {
                return self.begin_merge(&positions[due]);
            }
            self.compaction.may_be_due = false;
            let is_deferred = sizes.iter().any(|size| size.awaits_compression);
            self.compaction.deferred_until = high_until.filter(|_| is_deferred);
        }
    }

    fn is_merger_free(&self) -> bool {
        self.stopped.is_none() && self.compaction.running.is_none()
    }

    /// Continues the first manual compaction. Returns `true` if it is finished.
    fn continue_manual(&mut self) -> bool {
        let Some(mut compaction) = self.compaction.manual.pop_front() else { return false };
        let mut groups = compaction.groups.take().unwrap_or_else(|| self.merge_groups(compaction.purge));
        while let Some(group) = groups.pop_front() {
            // Skip segments that a deletion has since emptied.
            let positions = group.iter().filter_map(|id| self.state.position_of(id)).collect::<Vec<_>>();
            if !positions.is_empty() {
                compaction.groups = Some(groups);
                self.compaction.manual.push_front(compaction);
                self.begin_merge(&positions);
                return false;
            }
        }
        if !compaction.purge {
            self.reply_after_reclaim(compaction.reply, Ok(()));
            return true;
        }
        let published = self.published.clone();
        let written = written_indexes(&published).filter(|_| !self.is_flushing);
        let Some(mut written) = written else {
            // No manifest names the files of a running flush or new index objects yet, so a sweep would
            // delete them.
            compaction.groups = Some(groups);
            self.compaction.manual.push_front(compaction);
            return false;
        };
        self.add_index_records(&mut written);
        let swept = self.commit_index_records().and_then(|()| self.sweep());
        self.reply_after_reclaim(compaction.reply, swept);
        true
    }

    /// Deletes every object that is not needed.
    fn sweep(&self) -> Result<()> {
        let Ok(_no_bulk_load) = self.published.unnamed_files.try_lock() else {
            return Err(Error::Busy("an import is under way, purge once it has ended".into()));
        };
        sweep(self.objects.as_ref(), &self.state.manifest, &self.claim)?;
        self.index_cache().sweep(self.state.manifest.segments.iter().map(|segment| segment.id.as_str()))?;
        let manifest = &self.state.manifest;
        let segment = manifest.quarantined.first().map(|record| format!("segments/{}", record.segment.id));
        match segment.or_else(|| manifest.quarantined_wal.first().map(|record| wal::path(record.first))) {
            None => Ok(()),
            Some(object) => {
                Err(Error::damage(object, 0, "quarantined objects cannot be read, so they are not purged"))
            }
        }
    }

    /// Returns the ids of the segments that a manual compaction merges, group by group.
    fn merge_groups(&self, purge: bool) -> VecDeque<Vec<String>> {
        let (positions, sizes) = self.by_time();
        let is_rebuilt = |size: &SegmentSize| {
            size.awaits_compression || size.deleted_rows > if purge { 0 } else { size.rows }
        };
        let ranges = CompactionPicker::new(&self.options).pick_all(&sizes, is_rebuilt);
        self.options
            .progress
            .begin(ranges.iter().flat_map(|range| &sizes[range.clone()]).map(|size| size.rows).sum());
        let id = |position: &usize| self.state.segments[*position].record.id.clone();
        ranges.into_iter().map(|range| positions[range].iter().map(id).collect()).collect()
    }

    /// Returns the positions of the segments in time order, and their sizes.
    fn by_time(&self) -> (Vec<usize>, Vec<SegmentSize>) {
        let mut positions: Vec<usize> = (0..self.state.segments.len()).collect();
        positions.sort_by_key(|position| self.state.segments[*position].segment.start_time(0));
        let sizes = positions.iter().map(|position| size_of(&self.state.segments[*position])).collect();
        (positions, sizes)
    }

    fn begin_merge(&mut self, positions: &[usize]) {
        let input = |position: &usize| {
            let live = &self.state.segments[*position];
            let dropped = live.durable_deletion_vector.clone();
            MergeInput { segment_id: live.record.id.clone(), segment: live.segment.clone(), dropped }
        };
        let inputs: Vec<MergeInput> = positions.iter().map(input).collect();
        if let Some(error) = self.merge_disk_shortage(positions) {
            return self.merge_failed(error);
        }
        set_being_merged(&inputs, true);
        self.compaction.running = Some(inputs.clone());
        self.compaction.may_be_due = true;
        (self.compaction.deferred_until, self.compaction.retry_at) = (None, None);
        let is_manual = self.compaction.is_manual();
        let defer_compression = self.ingest_rate.high_until().is_some();
        // A background merge has no caller to report progress to.
        let progress = if is_manual { self.options.progress.clone() } else { Progress::default() };
        if self.workers.merges.send(MergeTask { inputs, is_manual, defer_compression, progress }).is_err() {
            self.merge_failed(Error::storage("segments", "the merging thread has died"));
        }
        self.publish_progress();
    }

    /// Returns an error if the disk lacks space for a merge, during which both copies exist.
    fn merge_disk_shortage(&self, positions: &[usize]) -> Option<Error> {
        let records = positions.iter().map(|position| &self.state.segments[*position].record);
        let needed: u64 = records.map(|record| record.documents.bytes + record.traces.bytes).sum();
        match self.objects.free_bytes() {
            Ok(Some(free)) if free < needed.saturating_add(self.options.min_free_bytes) => Some(
                Error::storage("segments", format!("merging needs {needed} bytes of {free} that are free")),
            ),
            Ok(_) => None,
            Err(error) => Some(error),
        }
    }

    /// Commits the output of the merge thread.
    pub(super) fn finish_merge(&mut self, merged: Result<Option<NewSegment>>) {
        let inputs = self.compaction.running.take().unwrap_or_default();
        set_being_merged(&inputs, false);
        match merged.and_then(|merged| self.commit_merge(&inputs, merged)) {
            Ok(()) => {
                self.compaction.succeeded(&self.state);
                self.publish();
            }
            Err(error) => {
                let is_excluded = self.compaction.exclude_damaged(&inputs, &error);
                self.merge_failed(error);
                if is_excluded {
                    self.compaction.retry_at = None;
                }
            }
        }
    }

    fn commit_merge(&mut self, inputs: &[MergeInput], merged: Option<NewSegment>) -> Result<()> {
        let record = merged.as_ref().map(|merged| merged.record.clone());
        let outcome = match &self.stopped {
            Some(reason) => Err(Error::Stopped(reason.clone())),
            None => with_merged(&self.state, inputs, merged)
                .and_then(|segments| self.commit_manifest(segments, self.state.manifest.wal_checkpoint)),
        };
        self.discard_unless_live(record.as_ref(), &outcome);
        outcome
    }

    /// Reports the error and delays the next merge. No data is lost, because the inputs stay live.
    fn merge_failed(&mut self, error: Error) {
        let inputs = self.compaction.running.take().unwrap_or_default();
        set_being_merged(&inputs, false);
        self.compaction.retry_at = Some(Instant::now() + RETRY_DELAY);
        self.compaction.error = Some(error.clone());
        self.publish_progress();
        // Background merges have no caller to notify.
        let failed = if self.compaction.is_manual() { self.compaction.manual.pop_front() } else { None };
        if let Some(failed) = failed {
            let _caller_is_gone = failed.reply.send(Err(error));
        }
    }
}

fn set_being_merged(inputs: &[MergeInput], is_merged: bool) {
    for input in inputs {
        input.segment.set_being_merged(is_merged);
    }
}

/// Returns the size of a segment for the compaction picker.
fn size_of(live: &LiveSegment) -> SegmentSize {
    let deleted_rows = live.durable_deletion_vector.len();
    let rows = live.record.rows - deleted_rows;
    let share = |bytes: u64| {
        let share = u128::from(bytes) * u128::from(rows) / u128::from(live.record.rows.max(1));
        u64::try_from(share).unwrap_or(bytes)
    };
    SegmentSize {
        rows,
        bytes: share(live.record.documents.bytes),
        // The whole segment counts, because its dictionaries may be needed as a whole. The columns take about
        // as much memory as the index.
        memory: live.segment.row_index_bytes(),
        deleted_rows,
        awaits_compression: live.record.awaits_compression,
    }
}

/// Returns the segments of `state` after `inputs` are merged. The new segment takes the position of the first
/// input.
fn with_merged(
    state: &StoreState,
    inputs: &[MergeInput],
    merged: Option<NewSegment>,
) -> Result<Vec<LiveSegment>> {
    let positions = inputs.iter().filter_map(|input| state.position_of(&input.segment_id));
    let mut positions: Vec<usize> = positions.collect();
    positions.sort_unstable();
    let mut merged = merged.map(LiveSegment::new);
    if let Some(merged) = &mut merged {
        for input in inputs {
            repeat_deletions(state, input, merged)?;
        }
    }
    let mut segments = Vec::with_capacity(state.segments.len());
    for (position, present) in state.segments.iter().enumerate() {
        if positions.first() == Some(&position) {
            segments.extend(merged.take());
        }
        if !positions.contains(&position) {
            segments.push(present.clone());
        }
    }
    Ok(segments)
}

/// Deletes from `merged` the rows that were deleted from an input since the merge began.
fn repeat_deletions(state: &StoreState, input: &MergeInput, merged: &mut LiveSegment) -> Result<()> {
    let in_merged = |rows: &RoaringBitmap| -> Result<RoaringBitmap> {
        let mut found = RoaringBitmap::new();
        for row in rows - input.dropped.as_ref() {
            found.extend(merged.segment.find(input.segment.trace_id(row as usize)?));
        }
        Ok(found)
    };
    let (durable, in_memory) = if let Some(position) = state.position_of(&input.segment_id) {
        let present = &state.segments[position];
        (in_merged(&present.durable_deletion_vector)?, in_merged(&present.deletion_vector)?)
    } else {
        // The input is gone because all of its rows were deleted.
        let all: RoaringBitmap = (0..input.segment.count()).collect();
        (in_merged(&all)?, RoaringBitmap::new())
    };
    merged.delete_in_memory(in_memory);
    merged.delete(&durable);
    Ok(())
}
