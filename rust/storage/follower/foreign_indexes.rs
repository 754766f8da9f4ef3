//! Opening the indexes of documents that the writer makes in its cache, which this process only reads.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};

use crate::storage::options::IndexKind;
use crate::storage::snapshot::published::Published;

const INTERVAL: Duration = Duration::from_secs(1);

/// Starts the thread that looks for indexes of these kinds. It ends when the other end of `closing` is dropped.
///
/// # Errors
/// The operating system starts no more threads.
pub(super) fn start(
    kinds: Vec<IndexKind>,
    published: Arc<Published>,
    closing: Receiver<()>,
) -> std::io::Result<JoinHandle<()>> {
    let run = move || {
        while closing.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
            let snapshot = published.snapshot.load_full();
            snapshot.segments().for_each(|(segment, _)| segment.open_indexes(&kinds));
        }
    };
    std::thread::Builder::new().name("spanwise-indexes".into()).spawn(run)
}
