//! Flushing the head: generations are rotated, written as segments, and their WAL objects deleted.
//!
//! Until the manifest with the new segment is durable ([`crate::storage::committer::manifest_commit`]), a
//! crash replays the generation from the WAL.

use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;

use crate::error::{Error, Result};
use crate::storage::committer::Committer;
use crate::storage::head::generation::HeadPart;
use crate::storage::segment::builder::{NewSegment, discard};
use crate::storage::state::command::{Command, Reply};
use crate::storage::workers::flush::FlushTask;

/// The delay before a failed flush is retried.
const RETRY_DELAY: Duration = Duration::from_secs(1);

impl Committer {
    /// Starts due background work while no group is being written: rotates a large or old generation, indexes
    /// settled rows, records delayed indexes, and starts the next merge and the next flush.
    pub(super) fn start_due_work(&mut self) {
        if self.stopped.is_some() {
            return;
        }
        if self.is_rotation_due() {
            self.rotate();
        }
        self.index_head();
        if self.index_records_due().is_some_and(|due| due <= Instant::now()) {
            let _tried_again_later = self.commit_index_records();
        }
        self.merge_next();
        // At the maximum number of segments, the smallest are merged before the next flush.
        let is_at_limit = self.state.segments.len() as u64 >= self.options.max_segments;
        if !(is_at_limit && self.compaction.running.is_some()) {
            self.flush_next();
        }
    }

    /// Rotates the open generation. The fill time of a large generation measures the ingest rate. The
    /// document checks of that period decide if the rate may count as high.
    fn rotate(&mut self) {
        let open = self.state.open_generation();
        if open.is_large(&self.options) {
            self.ingest_rate.record(open.bytes, open.since.map_or(Duration::MAX, |since| since.elapsed()));
        }
        let live = |part: &HeadPart| part.batch.entries().len() as u64 - part.deletion_vector.len();
        let traces = open.parts.iter().map(live).sum();
        self.ingest_rate
            .record_document_checks(self.published.snapshot.load().take_document_checks(), traces);
        self.state.rotate();
        self.publish_progress();
    }

    /// Returns `true` if the open generation is large or old enough to be rotated.
    pub(super) fn is_rotation_due(&self) -> bool {
        let options = &self.options;
        self.newest_state().generations.last().is_some_and(|open| {
            open.is_large(options)
                || open.since.is_some_and(|since| since.elapsed().as_secs() >= options.seal_seconds)
                || (self.is_head_full() && open.objects > 0)
        })
    }

    /// Rotates the open generation, and replies after everything before is flushed.
    pub(super) fn flush(&mut self, reply: Reply<()>) {
        let rejection = self.stopped.clone().map(Error::Stopped);
        if !self.state.open_generation().parts.is_empty() {
            self.rotate();
        }
        let rotated = self.state.generations.iter().rev().nth(1).map(|generation| generation.wal_through);
        match (rejection, rotated) {
            (Some(rejection), _) => {
                let _caller_is_gone = reply.send(Err(rejection));
            }
            (None, None) => self.reply_after_reclaim(reply, Ok(())),
            (None, Some(through)) => {
                self.flush_waiters.push((through, reply));
                self.flush_retry_at = None;
            }
        }
    }

    /// Flushes the whole head before it returns. Other commands are deferred.
    ///
    /// # Errors
    /// [`Error::Storage`] if a flush failed, [`Error::Stopped`], [`Error::Closed`].
    pub(super) fn flush_head(&mut self, commands: &Receiver<Command>) -> Result<()> {
        if self.state.open_generation().objects > 0 {
            self.rotate();
        }
        (self.flush_retry_at, self.flush_error) = (None, None);
        loop {
            self.flush_next();
            if let Some(reason) = &self.stopped {
                return Err(Error::Stopped(reason.clone()));
            }
            if self.state.generations.len() == 1 {
                return Ok(());
            }
            if let Some(error) = self.flush_error.clone().filter(|_| !self.is_flushing) {
                return Err(error);
            }
            match commands.recv() {
                Ok(Command::Flushed(flushed)) => self.finish_flush(flushed),
                Ok(Command::Merged(merged)) => self.finish_merge(merged),
                Ok(command) => self.deferred.push_back(command),
                Err(_) => return Err(Error::Closed),
            }
        }
    }

    /// Sends the oldest rotated generation to the flush thread if the thread is free.
    fn flush_next(&mut self) {
        while self.stopped.is_none() && !self.is_flushing && self.state.generations.len() > 1 {
            if self.flush_retry_at.is_some_and(|instant| instant > Instant::now()) {
                return;
            }
            self.flush_retry_at = None;
            let oldest = &self.state.generations[0];
            match oldest.rotated_entries.clone() {
                Some(entries) if !entries.is_empty() => {
                    let defer_compression = self.ingest_rate.high_until().is_some();
                    let indexed = oldest.indexed_batches();
                    let task = FlushTask { entries, indexed, defer_compression };
                    self.is_flushing = self.workers.flushes.send(task).is_ok();
                    if !self.is_flushing {
                        self.stop("the flush thread has died".into());
                    }
                }
                // The generation holds only fences.
                _ => self.commit_flush_or_retry(None),
            }
        }
    }

    /// Waits briefly for a flush or a merge if requests would soon be rejected. Both run at low priority, and
    /// continuous senders would starve them.
    pub(super) fn let_background_catch_up(&mut self, commands: &Receiver<Command>) {
        const MAX_WAIT: Duration = Duration::from_secs(1);
        let deadline = Instant::now() + MAX_WAIT;
        while self.is_background_late() {
            self.quiesce();
            match commands.recv_deadline(deadline) {
                Ok(Command::Flushed(flushed)) => self.finish_flush(flushed),
                Ok(Command::Merged(merged)) => self.finish_merge(merged),
                Ok(command) => {
                    self.deferred.push_back(command);
                    continue;
                }
                Err(_) => return,
            }
            self.start_due_work();
        }
    }

    fn is_background_late(&self) -> bool {
        // At the maximum number of segments, flushes wait for the end of a merge, which may be large.
        let is_nearly = |count: u64, limit: u64| count.saturating_mul(4) > limit.saturating_mul(3);
        let has_many_segments = is_nearly(self.state.segments.len() as u64, self.options.max_segments);
        (self.is_flushing && self.is_head_nearly_full())
            || (self.compaction.running.is_some() && has_many_segments)
    }

    fn is_head_nearly_full(&self) -> bool {
        self.state.unflushed().0 > self.options.max_unsealed_bytes / 4 * 3
            || self.state.head_memory() > self.options.max_head_bytes / 4 * 3
    }

    /// Commits the output of the flush thread.
    pub(super) fn finish_flush(&mut self, flushed: Result<NewSegment>) {
        self.is_flushing = false;
        match flushed {
            Ok(flushed) if self.stopped.is_none() => self.commit_flush_or_retry(Some(flushed)),
            Ok(flushed) => discard(self.objects.as_ref(), &self.index_cache(), &flushed.record),
            Err(error) => self.retry_flush_later(&error),
        }
    }

    fn commit_flush_or_retry(&mut self, flushed: Option<NewSegment>) {
        let record = flushed.as_ref().map(|flushed| flushed.record.clone());
        let outcome = self.commit_flush(flushed);
        self.discard_unless_live(record.as_ref(), &outcome);
        match outcome {
            Ok(()) => {
                self.flush_error = None;
                self.publish();
                self.reply_to_flushes();
            }
            Err(error) => self.retry_flush_later(&error),
        }
    }

    /// Makes the segment of the oldest generation live. Without a segment, only the WAL checkpoint advances.
    fn commit_flush(&mut self, flushed: Option<NewSegment>) -> Result<()> {
        let segments = self.state.with_flushed(flushed)?;
        self.commit_manifest(segments, self.state.generations[0].wal_through)?;
        self.state.generations.remove(0);
        Ok(())
    }

    /// Replies to the flush callers whose data is flushed.
    fn reply_to_flushes(&mut self) {
        let checkpoint = self.state.manifest.wal_checkpoint;
        let waiters = std::mem::take(&mut self.flush_waiters).into_iter();
        let (waiting, done) = waiters.partition(|(through, _)| *through > checkpoint);
        self.flush_waiters = waiting;
        for (_, reply) in done {
            self.reply_after_reclaim(reply, Ok(()));
        }
    }

    /// Reports the error and schedules a retry. Until then the generation is unchanged.
    fn retry_flush_later(&mut self, error: &Error) {
        self.flush_retry_at = Some(Instant::now() + RETRY_DELAY);
        self.flush_error = Some(error.clone());
        self.publish_progress();
        for (_, reply) in self.flush_waiters.drain(..) {
            let _caller_is_gone = reply.send(Err(error.clone()));
        }
    }
}
