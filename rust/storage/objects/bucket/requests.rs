//! From the engine's threads to the network: a small runtime does the requests, and its callers wait.

use std::future::Future;
use std::sync::OnceLock;
use std::time::Duration;

use crossbeam_channel::{Receiver, bounded};
use tokio::runtime::{Builder, Runtime};

use super::fault::is_broken_off;
use crate::error::{Error, Result};

/// Before an answer that broke off is asked for again.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(50), Duration::from_millis(200), Duration::from_millis(800)];

/// Requests wait for the network, not for a processor.
const THREADS: usize = 2;

/// Returns the runtime of all buckets, which lives as long as the process.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<std::result::Result<Runtime, String>> = OnceLock::new();
    let started = RUNTIME.get_or_init(|| {
        // One may be installed already; any will do.
        let _installed = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Builder::new_multi_thread();
        let builder = builder.worker_threads(THREADS).thread_name("spanwise-cloud").enable_all();
        builder.build().map_err(|fault| fault.to_string())
    });
    started.as_ref().map_err(|fault| Error::storage("the threads for requests", fault))
}

/// Prepares what every client needs.
pub(super) fn prepare() -> Result<()> {
    runtime().map(drop)
}

/// Does `work` and returns what it came to. Blocks; may be called from any thread.
///
/// # Errors
/// [`Error::Storage`] if there are no threads for it.
pub(super) fn run<T: Send + 'static>(
    path: &str,
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T> {
    begin(work)?.recv().map_err(|_| Error::storage(path, "the request was given up"))
}

/// Does a request that changes nothing, again if its answer broke off. Refusals were tried again already.
pub(super) async fn again<T, F: Future<Output = object_store::Result<T>>>(
    mut request: impl FnMut() -> F,
) -> object_store::Result<T> {
    for pause in PAUSES {
        match request().await {
            Err(fault) if is_broken_off(&fault) => tokio::time::sleep(pause).await,
            outcome => return outcome,
        }
    }
    request().await
}

/// Begins `work`; what it comes to arrives at the returned end, if anybody still waits.
pub(super) fn begin<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<Receiver<T>> {
    let (done, outcome) = bounded(1);
    runtime()?.spawn(async move {
        let _gone = done.send(work.await);
    });
    Ok(outcome)
}
