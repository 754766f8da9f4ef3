//! The WAL writer thread: makes one group durable while the committer merges the next one.
//!
//! The thread itself publishes a durable group and replies to its requests, because the committer may be busy
//! with the next group.

use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::error::Result;
use crate::otlp::TraceId;
use crate::storage::objects::{Objects, PutOutcome, PutPayload, put_verified};
use crate::storage::snapshot::Snapshot;
use crate::storage::snapshot::published::{CommitProgress, Published};
use crate::storage::state::command::{Reply, reply_all};
use crate::storage::state::merge_spans::IngestOutcome;

/// A WAL object to write, and the actions after it is durable.
pub(crate) struct WalWrite {
    pub(crate) path: String,
    pub(crate) content: PutPayload,
    /// The snapshot to publish after the object is durable.
    pub(crate) snapshot: Snapshot,
    /// The traces that the group changes.
    pub(crate) changed: Vec<TraceId>,
    pub(crate) progress: CommitProgress,
    pub(crate) outcomes: Vec<Result<IngestOutcome>>,
    pub(crate) replies: Vec<Reply<IngestOutcome>>,
}

/// The result of a write. After a successful put, the group is published and its requests have their replies.
pub(crate) struct WalWriteResult {
    pub(crate) put: PutOutcome,
    pub(crate) outcomes: Vec<Result<IngestOutcome>>,
    pub(crate) replies: Vec<Reply<IngestOutcome>>,
}

/// The committer's handle of the WAL writer thread.
pub(crate) struct WalWriter {
    pub(crate) writes: Sender<WalWrite>,
    pub(crate) results: Receiver<WalWriteResult>,
}

/// Starts the WAL writer thread, which ends when its [`WalWriter`] is dropped.
///
/// # Errors
/// The error of the operating system if no thread can be started.
pub(crate) fn start(
    objects: Arc<dyn Objects>,
    published: Arc<Published>,
) -> std::io::Result<(JoinHandle<()>, WalWriter)> {
    let (writes, received) = bounded::<WalWrite>(1);
    let (done, results) = bounded(1);
    let thread = std::thread::Builder::new().name("spanwise-write".into()).spawn(move || {
        for write in received {
            if done.send(write.run(objects.as_ref(), &published)).is_err() {
                return;
            }
        }
    })?;
    Ok((thread, WalWriter { writes, results }))
}

impl WalWrite {
    fn run(self, objects: &dyn Objects, published: &Published) -> WalWriteResult {
        let Self { path, content, snapshot, changed, progress, mut outcomes, replies } = self;
        let put = put_verified(objects, &path, &content);
        if matches!(put, PutOutcome::Created) {
            let _freed_after_the_replies = published.replace_snapshot(snapshot, &changed);
            published.progress.store(Arc::new(progress));
            reply_all(&replies, std::mem::take(&mut outcomes));
        }
        WalWriteResult { put, outcomes, replies }
    }
}
