//! The following thread: looks at the store at regular times, and when somebody asks for it.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use super::following::Following;
use crate::error::Result;

/// The least time after a failed look until the next one.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Receives the outcome once everything is published that was acknowledged before the request.
pub(super) type Refresh = Sender<Result<()>>;

/// Starts the following thread, which looks at the store in this interval. It ends when the other end of `requests` is
/// dropped.
///
/// # Errors
/// The operating system starts no more threads.
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
