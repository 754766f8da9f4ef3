//! Removal: what nothing needs any more goes on threads of its own, for that takes its time.
//!
//! While a seal is installed, no request is answered. To remove the write-ahead objects that it folded, and to
//! free the spans that were in memory until then, took a tenth of all time under a steady load. Whoever asked for
//! a change of what is stored is answered once the objects that it left are gone.
//!
//! Memory does not wait for objects: in a bucket each of them may take longer than the next one to come.

use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Sender, unbounded};

use crate::storage::objects::Objects;
use crate::storage::segment::index_cache::IndexCache;
use crate::storage::snapshot::Snapshot;

/// What is to be removed, in order.
enum Task {
    /// Objects, by their paths.
    Objects(Vec<String>),
    /// What is kept of the segments of these ids.
    Indexes(Vec<String>),
    /// Nothing: what is to be done once all before is gone.
    Nothing(Box<dyn FnOnce() + Send>),
}

/// The way to the threads that remove; they end with it.
pub(crate) struct Removal {
    tasks: Sender<Task>,
    states: Sender<Arc<Snapshot>>,
}

/// Starts the threads that remove.
///
/// # Errors
/// No more threads.
pub(crate) fn start(
    objects: Arc<dyn Objects>,
    cache: IndexCache,
) -> std::io::Result<([JoinHandle<()>; 2], Removal)> {
    let (tasks, asked) = unbounded();
    let removing = std::thread::Builder::new().name("spanwise-remove".into()).spawn(move || {
        for task in asked {
            match task {
                Task::Objects(paths) => paths.iter().for_each(|path| {
                    let _removed_at_next_open = objects.delete(path);
                }),
                Task::Indexes(ids) => ids.iter().for_each(|id| cache.remove(id)),
                Task::Nothing(then) => then(),
            }
        }
    })?;
    let (states, replaced) = unbounded::<Arc<Snapshot>>();
    let freeing = std::thread::Builder::new().name("spanwise-free".into());
    let freeing = freeing.spawn(move || replaced.into_iter().for_each(drop))?;
    Ok(([removing, freeing], Removal { tasks, states }))
}

impl Removal {
    /// Has objects removed. What cannot be removed is removed when the store is opened next.
    pub(crate) fn objects(&self, paths: Vec<String>) {
        self.tell(Task::Objects(paths));
    }

    /// Has removed what is kept of the segments of these ids.
    pub(crate) fn indexes(&self, ids: Vec<String>) {
        self.tell(Task::Indexes(ids));
    }

    /// Has a state freed that is no longer shown; searches that began with it keep it until they end.
    pub(crate) fn state(&self, snapshot: Arc<Snapshot>) {
        let _dropped_here_if_not_sent = self.states.send(snapshot);
    }

    /// Does something once the objects are gone that were to be removed until now.
    pub(crate) fn then(&self, then: impl FnOnce() + Send + 'static) {
        self.tell(Task::Nothing(Box::new(then)));
    }

    fn tell(&self, task: Task) {
        // That a thread has died is told when the store is closed.
        let _died = self.tasks.send(task);
    }
}
