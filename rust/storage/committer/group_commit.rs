//! Group commit: one group is written while the next group is merged on top of it.
//!
//! [`Committer::state`] is the durable state. The next group is merged into the state that the pending group
//! will leave. It is written after that state is durable. So there is one put at a time, and WAL numbers have
//! no gaps. Any other change of the store waits until no group is pending.
//!
//! If a put fails, the state of its group is dropped. The next group, merged on top of it, is rejected too.
//! Neither was published.

use std::time::Instant;

use crate::error::{Error, Result};
use crate::storage::committer::{Committer, PendingGroup};
use crate::storage::objects::{PutOutcome, put_verified};
use crate::storage::state::command::{Reply, reject_all, reply_all};
use crate::storage::state::merge_spans::{IngestOutcome, MergedGroup};
use crate::storage::state::{TraceUpdate, changed_traces};
use crate::storage::wal::{self, WalEntry};
use crate::storage::workers::wal_writer::{WalWrite, WalWriteResult};

impl Committer {
    /// Waits until the newest state is durable, and then starts to write a group that was merged into it. Its
    /// requests get a reply in every case.
    pub(super) fn write_group(&mut self, group: MergedGroup, replies: Vec<Reply<IngestOutcome>>) {
        let MergedGroup { outcomes, entries, updates } = group;
        if entries.is_empty() {
            // The spans are stored already, but must be durable before the reply.
            return match self.wait_for_pending() {
                Ok(()) => reply_all(&replies, outcomes),
                Err(error) => reject_all(&replies, &error),
            };
        }
        let number = self.newest_state().wal_through() + 1;
        let content = wal::encode(number, self.claim.writer, &entries);
        let changed = changed_traces(&updates);
        let mut state = self.newest_state().clone();
        state.apply(updates.clone(), number, wal::bytes_of(&entries));
        let snapshot = state.snapshot();
        if let Err(error) = self.wait_for_pending() {
            return reject_all(&replies, &error);
        }
        self.commit_interval.wait();
        let progress = self.progress_in(&state);
        let path = wal::path(number);
        self.pending = Some(PendingGroup { entries, updates, state });
        let write = WalWrite { path, content, snapshot, changed, progress, outcomes, replies };
        if let Err(unsent) = self.workers.wal_writer.writes.send(write) {
            reject_all(&unsent.0.replies, &self.wal_writer_died());
        }
    }

    /// Waits until no group is pending.
    ///
    /// # Errors
    /// [`Error::Busy`] or [`Error::Stopped`] if the pending group did not become durable at the next number.
    /// Changes merged on top of it must then be dropped.
    pub(super) fn wait_for_pending(&mut self) -> Result<()> {
        if self.pending.is_none() {
            return Ok(());
        }
        match self.workers.wal_writer.results.recv() {
            Ok(result) => self.finish_pending(result),
            Err(_) => Err(self.wal_writer_died()),
        }
    }

    /// Makes the state of the pending group current, or retries its write if that is safe.
    ///
    /// # Errors
    /// The errors of [`Committer::wait_for_pending`].
    pub(super) fn finish_pending(&mut self, result: WalWriteResult) -> Result<()> {
        let Some(PendingGroup { entries, updates, state }) = self.pending.take() else { return Ok(()) };
        let WalWriteResult { put, outcomes, replies } = result;
        if matches!(put, PutOutcome::Created) {
            let had_rows = self.state.open_generation().since.is_some();
            self.state = state;
            if !had_rows {
                // The ingest rate excludes the time of the put.
                self.state.open_generation().since = Some(Instant::now());
            }
            return Ok(());
        }
        let changed = changed_traces(&updates);
        match self.retry_write(put, state.wal_through(), &entries, updates) {
            Ok(()) => {
                self.publish_changed(&changed);
                reply_all(&replies, outcomes);
                Err(Error::Busy("nothing was stored: the write before it took another number".into()))
            }
            Err(error) => {
                reject_all(&replies, &error);
                Err(error)
            }
        }
    }

    /// Writes a group again, at the next free number, if its put at `number` certainly failed.
    ///
    /// # Errors
    /// [`Error::Busy`] if the write certainly failed, [`Error::Stopped`] if the outcome is unknown.
    fn retry_write(
        &mut self,
        mut outcome: PutOutcome,
        mut number: u64,
        entries: &[WalEntry],
        updates: Vec<TraceUpdate>,
    ) -> Result<()> {
        loop {
            match outcome {
                PutOutcome::Created => break,
                PutOutcome::NotCreated(error) => {
                    return Err(Error::Busy(format!("nothing was stored: {error}")));
                }
                PutOutcome::Conflict => self.step_over(number)?,
                // If the put did succeed, the next put finds the object at its number and steps over it.
                PutOutcome::Unknown(error) if self.objects.reads_are_durable() => {
                    return Err(Error::Busy(format!("it is not known whether it was stored: {error}")));
                }
                PutOutcome::Unknown(error) => {
                    let path = wal::path(number);
                    return Err(self.stop(format!("it is not known whether `{path}` is durable: {error}")));
                }
            }
            number = self.state.wal_through() + 1;
            let content = wal::encode(number, self.claim.writer, entries);
            outcome = put_verified(self.objects.as_ref(), &wal::path(number), &content);
        }
        self.state.apply(updates, number, wal::bytes_of(entries));
        Ok(())
    }

    /// Stops, because it is unknown if the pending group is durable.
    pub(super) fn wal_writer_died(&mut self) -> Error {
        self.pending = None;
        self.stop("the writing thread has died".into())
    }
}
