//! The reclaiming threads: delete objects that nothing needs any more, and free the memory of replaced snapshots.
//!
//! The committer answers no request while it commits a manifest. Deleting the WAL objects that a seal made unneeded and
//! freeing their spans there took a tenth of all time under a steady load. Deletions and snapshots have a thread each,
//! so that memory does not wait for objects: in a bucket each deletion may take longer than the next one to come.

use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Sender, unbounded};

use crate::storage::objects::Objects;
use crate::storage::segment::index_cache::IndexCache;
use crate::storage::snapshot::Snapshot;

/// What the deleting thread does, in order.
enum ReclaimTask {
    /// Delete the objects with these paths.
    Objects(Vec<String>),
    /// Delete the cached indexes of the segments with these ids.
    Indexes(Vec<String>),
    /// Call this once everything before is done.
    Callback(Box<dyn FnOnce() + Send>),
}

/// Hands work to the reclaiming threads, which end when it is dropped.
pub(crate) struct Reclaimer {
    tasks: Sender<ReclaimTask>,
    snapshots: Sender<Arc<Snapshot>>,
}

/// Starts the reclaiming threads.
///
/// # Errors
/// The operating system starts no more threads.
pub(crate) fn start(
    (objects, cache): (Arc<dyn Objects>, IndexCache),
) -> std::io::Result<([JoinHandle<()>; 2], Reclaimer)> {
    let (tasks, received) = unbounded();
    let deleting = std::thread::Builder::new().name("spanwise-remove".into()).spawn(move || {
        for task in received {
            match task {
                ReclaimTask::Objects(paths) => paths.iter().for_each(|path| {
                    let _deleted_at_next_open = objects.delete(path);
                }),
                ReclaimTask::Indexes(ids) => ids.iter().for_each(|id| cache.remove(id)),
                ReclaimTask::Callback(callback) => callback(),
            }
        }
    })?;
    let (snapshots, replaced) = unbounded::<Arc<Snapshot>>();
    let freeing = std::thread::Builder::new().name("spanwise-free".into());
    let freeing = freeing.spawn(move || replaced.into_iter().for_each(drop))?;
    Ok(([deleting, freeing], Reclaimer { tasks, snapshots }))
}

impl Reclaimer {
    /// Deletes objects. What cannot be deleted is deleted when the store is opened next.
    pub(crate) fn delete_objects(&self, paths: Vec<String>) {
        self.send(ReclaimTask::Objects(paths));
    }

    /// Deletes the cached indexes of the segments with these ids.
    pub(crate) fn delete_indexes(&self, ids: Vec<String>) {
        self.send(ReclaimTask::Indexes(ids));
    }

    /// Frees a snapshot that was replaced; searches that began with it keep it until they end.
    pub(crate) fn free_snapshot(&self, snapshot: Arc<Snapshot>) {
        let _freed_here_if_unsent = self.snapshots.send(snapshot);
    }

    /// Calls `callback` once all deletions before are done.
    pub(crate) fn when_done(&self, callback: impl FnOnce() + Send + 'static) {
        self.send(ReclaimTask::Callback(Box::new(callback)));
    }

    fn send(&self, task: ReclaimTask) {
        // A thread that has died is reported when the store is closed.
        let _died = self.tasks.send(task);
    }
}
