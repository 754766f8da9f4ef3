//! The event loop of the committer: waits for commands, groups requests, and starts due background work.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, select};

use crate::storage::committer::Committer;
use crate::storage::state::command::{Command, Reply, reject_all};
use crate::storage::state::merge_spans::{GroupedRequest, IngestOutcome, TraceLimits, merge_group};

/// The size in bytes at which a group is written, even if more requests wait.
const MAX_GROUP_BYTES: usize = 16 << 20;

/// The minimum size in bytes of a group. A smaller group waits for more requests while another group is being
/// written.
const MIN_GROUP_BYTES: usize = 1 << 20;

/// The maximum sleep time when no work is scheduled.
const MAX_IDLE: Duration = Duration::from_secs(3_600);

/// Requests that are committed together.
#[derive(Default)]
struct CommitGroup {
    requests: Vec<(GroupedRequest, Reply<IngestOutcome>)>,
    /// The size of their spans in bytes.
    bytes: usize,
}

/// The reason for a wakeup.
enum Wakeup {
    Command(Command),
    /// The WAL writer has finished a group.
    GroupFinished,
    Timeout,
    /// All senders of commands are gone.
    Disconnected,
}

impl Committer {
    /// Executes commands until a close command, or until all senders are gone.
    pub(crate) fn run(mut self, commands: &Receiver<Command>) {
        loop {
            if self.may_have_work || self.is_rotation_due() || self.idle_time().is_zero() {
                self.quiesce();
                self.may_have_work = false;
                self.start_due_work();
            }
            let mut next = match self.wait(commands, self.idle_time()) {
                Wakeup::Command(command) => Some(command),
                Wakeup::GroupFinished | Wakeup::Timeout => None,
                Wakeup::Disconnected => return self.quiesce(),
            };
            let mut group = CommitGroup::default();
            while let Some(command) = next {
                if self.execute(command, &mut group, commands).is_break() {
                    return self.close(commands);
                }
                next = self.next_of_group(commands, group.bytes);
            }
            if !group.requests.is_empty() {
                self.let_background_catch_up(commands);
            }
            self.commit(group);
        }
    }

    /// Adds a request to the group. Any other command is executed after the requests before it.
    fn execute(
        &mut self,
        command: Command,
        group: &mut CommitGroup,
        commands: &Receiver<Command>,
    ) -> ControlFlow<()> {
        match command {
            Command::Ingest { request, reply } => {
                group.bytes += request.encoded.len();
                group.requests.push((request, reply));
            }
            Command::Flush(reply) => {
                self.commit_and_quiesce(group);
                self.flush(reply);
            }
            Command::Delete { filter, kind, reply } => {
                self.commit_and_quiesce(group);
                let deleted = self.delete(&filter, kind, commands);
                self.reply_after_reclaim(reply, deleted);
            }
            Command::BulkLoad { load, reply } => {
                self.commit_and_quiesce(group);
                let loaded = self.bulk_load(*load, commands);
                self.reply_after_reclaim(reply, loaded);
            }
            Command::Compact { purge, reply } => {
                self.quiesce();
                self.compact(purge, reply);
            }
            Command::HeadIndexed { indexed, by } => {
                self.quiesce();
                self.finish_head_index(indexed, by);
            }
            Command::Flushed(flushed) => {
                self.quiesce();
                self.finish_flush(flushed);
            }
            Command::Merged(merged) => {
                self.quiesce();
                self.finish_merge(merged);
            }
            Command::Indexed => {
                self.quiesce();
                self.take_index_records();
            }
            Command::Close => {
                self.commit_and_quiesce(group);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    fn commit_and_quiesce(&mut self, group: &mut CommitGroup) {
        self.commit(std::mem::take(group));
        self.quiesce();
    }

    /// Waits until no group is being written. Only then may another operation change the store.
    pub(super) fn quiesce(&mut self) {
        let _requests_have_been_replied_to = self.wait_for_pending();
        self.may_have_work = true;
    }

    /// Returns the next command. `None` if the group, which has `bytes` bytes, must be committed now.
    fn next_of_group(&mut self, commands: &Receiver<Command>, bytes: usize) -> Option<Command> {
        loop {
            let timeout = match bytes {
                0 => Duration::ZERO,
                MAX_GROUP_BYTES.. => return None,
                ..MIN_GROUP_BYTES if self.pending.is_some() => MAX_IDLE,
                _ => self.commit_interval.remaining(),
            };
            match self.wait(commands, timeout) {
                Wakeup::Command(command) => return Some(command),
                Wakeup::GroupFinished => {}
                Wakeup::Timeout | Wakeup::Disconnected => return None,
            }
        }
    }

    /// Waits for a command, or until the pending group is finished.
    fn wait(&mut self, commands: &Receiver<Command>, timeout: Duration) -> Wakeup {
        if let Some(command) = self.deferred.pop_front() {
            return Wakeup::Command(command);
        }
        let results = self.workers.wal_writer.results.clone();
        select! {
            recv(commands) -> command => command.map_or(Wakeup::Disconnected, Wakeup::Command),
            recv(results) -> result => {
                let _requests_have_been_replied_to = match result {
                    Ok(result) => self.finish_pending(result),
                    Err(_) => Err(self.wal_writer_died()),
                };
                Wakeup::GroupFinished
            }
            default(timeout) => Wakeup::Timeout,
        }
    }

    /// Returns the time until scheduled work is due.
    fn idle_time(&self) -> Duration {
        if self.stopped.is_some() {
            return MAX_IDLE;
        }
        let now = Instant::now();
        let until = |instant: Instant| instant.saturating_duration_since(now);
        let merge = self.compaction.retry_at.filter(|_| self.compaction.may_be_due);
        let scheduled = [
            self.next_head_index(),
            self.flush_retry_at,
            merge,
            self.compaction.deferred_until,
            self.index_records_due(),
        ];
        let scheduled = scheduled.into_iter().flatten().map(until).min().unwrap_or(MAX_IDLE);
        let since = self.state.generations.last().and_then(|open| open.since);
        let rotation =
            since.and_then(|since| since.checked_add(Duration::from_secs(self.options.seal_seconds)));
        scheduled.min(rotation.map_or(MAX_IDLE, until))
    }

    /// Starts to make a group durable. Its requests get a reply in every case.
    fn commit(&mut self, group: CommitGroup) {
        if group.requests.is_empty() {
            return;
        }
        let (requests, replies): (Vec<_>, Vec<_>) = group.requests.into_iter().unzip();
        let limits = TraceLimits::OF_REQUESTS;
        match self.rejection() {
            Some(error) => reject_all(&replies, &error),
            None => self.write_group(merge_group(self.newest_state(), requests, limits), replies),
        }
    }

    /// Commits the running flush, records the end of the log, and ends. Waiting callers are told that the
    /// store is closed.
    fn close(mut self, commands: &Receiver<Command>) {
        while self.is_flushing {
            match commands.recv() {
                Ok(Command::Flushed(flushed)) => self.finish_flush(flushed),
                Ok(_) => {}
                Err(_) => return,
            }
        }
        self.take_last_index_records();
        self.record_end_of_log();
    }
}
