//! The reclaim threads: delete unneeded objects, and free the memory of replaced snapshots.
//!
//! The committer answers no request while it commits a manifest. When it also deleted flushed WAL objects and
//! freed their spans, this took 10% of its time under a steady load. Deletions and snapshots have one thread
//! each, so that memory does not wait for objects. In a bucket, deletions may arrive faster than they are
//! executed.
//!
//! Objects that followers in other processes may still need are kept for the linger time. If the store is
//! closed before, they are deleted after the next opening.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};

use crate::storage::objects::Objects;
use crate::storage::segment::indexes::cache::IndexCache;
use crate::storage::snapshot::Snapshot;

/// A task of the deletion thread. Tasks run in order.
enum ReclaimTask {
    /// Delete the objects with these paths.
    Objects(Vec<String>),
    /// Delete the objects with these paths after the linger time.
    Superseded(Vec<String>),
    /// Delete the cached indexes of the segments with these ids.
    Indexes(Vec<String>),
    /// Call this after all earlier tasks.
    Callback(Box<dyn FnOnce() + Send>),
}

/// The handle of the reclaim threads, which end when it is dropped.
pub(crate) struct Reclaimer {
    tasks: Sender<ReclaimTask>,
    snapshots: Sender<Arc<Snapshot>>,
}

/// The maximum sleep time of the deletion thread.
const MAX_IDLE: Duration = Duration::from_secs(3_600);

/// Starts the reclaim threads. Superseded objects are kept for the linger time.
///
/// # Errors
/// The error of the operating system if no thread can be started.
pub(crate) fn start(
    (objects, cache): (Arc<dyn Objects>, IndexCache),
    linger: Duration,
) -> std::io::Result<([JoinHandle<()>; 2], Reclaimer)> {
    let (tasks, received) = unbounded();
    let deleting = Deleting { objects, cache, linger, superseded: VecDeque::new() };
    let thread = std::thread::Builder::new().name("spanwise-remove".into());
    let deleting = thread.spawn(move || deleting.run(&received))?;
    let (snapshots, replaced) = unbounded::<Arc<Snapshot>>();
    let freeing = std::thread::Builder::new().name("spanwise-free".into());
    let freeing = freeing.spawn(move || replaced.into_iter().for_each(drop))?;
    Ok(([deleting, freeing], Reclaimer { tasks, snapshots }))
}

/// The state of the deletion thread.
struct Deleting {
    objects: Arc<dyn Objects>,
    cache: IndexCache,
    linger: Duration,
    /// The paths of superseded objects with their deletion times, in order.
    superseded: VecDeque<(Instant, Vec<String>)>,
}

impl Deleting {
    fn run(mut self, tasks: &Receiver<ReclaimTask>) {
        loop {
            self.delete_due();
            let due = self.superseded.front().map(|(due, _)| due.saturating_duration_since(Instant::now()));
            match tasks.recv_timeout(due.unwrap_or(MAX_IDLE)) {
                Ok(ReclaimTask::Superseded(paths)) if !self.linger.is_zero() => {
                    self.superseded.push_back((Instant::now() + self.linger, paths));
                }
                Ok(ReclaimTask::Objects(paths) | ReclaimTask::Superseded(paths)) => self.delete(&paths),
                Ok(ReclaimTask::Indexes(ids)) => ids.iter().for_each(|id| self.cache.remove(id)),
                Ok(ReclaimTask::Callback(callback)) => callback(),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn delete_due(&mut self) {
        let now = Instant::now();
        let due = self.superseded.iter().take_while(|(due, _)| *due <= now).count();
        let due: Vec<String> = self.superseded.drain(..due).flat_map(|(_, paths)| paths).collect();
        self.delete(&due);
    }

    fn delete(&self, paths: &[String]) {
        for path in paths {
            let _deleted_at_next_open = self.objects.delete(path);
        }
    }
}

impl Reclaimer {
    /// Deletes superseded objects after the linger time, because followers may still need them.
    pub(crate) fn delete_superseded(&self, paths: Vec<String>) {
        self.send(ReclaimTask::Superseded(paths));
    }

    /// Deletes objects. Failed deletions are repeated when the store is next opened.
    pub(crate) fn delete_objects(&self, paths: Vec<String>) {
        self.send(ReclaimTask::Objects(paths));
    }

    /// Deletes the cached indexes of the segments with these ids.
    pub(crate) fn delete_indexes(&self, ids: Vec<String>) {
        self.send(ReclaimTask::Indexes(ids));
    }

    /// Frees a replaced snapshot. Running searches keep it until they end.
    pub(crate) fn free_snapshot(&self, snapshot: Arc<Snapshot>) {
        let _freed_here_if_unsent = self.snapshots.send(snapshot);
    }

    /// Calls `callback` after all earlier deletions, except those of lingering objects.
    pub(crate) fn when_done(&self, callback: impl FnOnce() + Send + 'static) {
        self.send(ReclaimTask::Callback(Box::new(callback)));
    }

    fn send(&self, task: ReclaimTask) {
        // A dead thread is reported when the store is closed.
        let _died = self.tasks.send(task);
    }
}
