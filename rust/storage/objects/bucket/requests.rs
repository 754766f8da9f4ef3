//! A small async runtime for the requests of the engine's threads, which block until the response.

use std::future::Future;
use std::sync::OnceLock;
use std::time::Duration;

use crossbeam_channel::{Receiver, bounded};
use tokio::runtime::{Builder, Runtime};

use super::error::is_interrupted;
use crate::error::{Error, Result};

/// The delays between attempts after an interrupted response.
const RETRY_DELAYS: [Duration; 3] =
    [Duration::from_millis(50), Duration::from_millis(200), Duration::from_millis(800)];

/// Two threads suffice, because requests wait for the network and not for a processor.
const THREADS: usize = 2;

/// Returns the runtime shared by all buckets, which lives as long as the process.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<std::result::Result<Runtime, String>> = OnceLock::new();
    let started = RUNTIME.get_or_init(|| {
        // Fails if a provider is already installed, which is sufficient too.
        let _installed = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Builder::new_multi_thread();
        let builder = builder.worker_threads(THREADS).thread_name("spanwise-cloud").enable_all();
        builder.build().map_err(|error| error.to_string())
    });
    started.as_ref().map_err(|error| Error::storage("the threads for requests", error))
}

pub(super) fn start_runtime() -> Result<()> {
    runtime().map(drop)
}

/// Runs `work` and returns its output. Blocks the calling thread.
///
/// # Errors
/// [`Error::Storage`] if no threads could be started.
pub(super) fn run<T: Send + 'static>(
    path: &str,
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T> {
    spawn(work)?.recv().map_err(|_| Error::storage(path, "the request was aborted"))
}

/// Sends a read-only request, and repeats it if the response is interrupted. `object_store` itself retries
/// rejected requests.
pub(super) async fn retry_read<T, F: Future<Output = object_store::Result<T>>>(
    mut request: impl FnMut() -> F,
) -> object_store::Result<T> {
    for delay in RETRY_DELAYS {
        match request().await {
            Err(error) if is_interrupted(&error) => tokio::time::sleep(delay).await,
            outcome => return outcome,
        }
    }
    request().await
}

/// Starts `work` and returns a channel that receives its output.
pub(super) fn spawn<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<Receiver<T>> {
    let (done, outcome) = bounded(1);
    runtime()?.spawn(async move {
        let _receiver_gone = done.send(work.await);
    });
    Ok(outcome)
}
