//! The following thread: polls the store at regular intervals, and on request.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use super::following::Following;
use crate::error::Result;

/// The minimum delay after a failed poll.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// A poll request: receives the result after everything acknowledged before the request is published.
pub(super) type Refresh = Sender<Result<()>>;

/// Starts the following thread, which polls the store at this interval. It ends when the other end of
/// `requests` is dropped.
///
/// # Errors
/// The error of the operating system if no thread can be started.
pub(super) fn start(
    mut following: Following,
    interval: Duration,
    requests: Receiver<Refresh>,
) -> std::io::Result<JoinHandle<()>> {
    let run = move || {
        let mut next = Instant::now() + interval;
        loop {
            match requests.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(reply) => {
                    let _caller_is_gone = reply.send(following.catch_up());
                }
                Err(RecvTimeoutError::Timeout) => {
                    let began = Instant::now();
                    let failed = following.poll().is_err();
                    next = began + if failed { interval.max(RETRY_DELAY) } else { interval };
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    };
    std::thread::Builder::new().name("spanwise-follow".into()).spawn(run)
}
