//! The time between deletions in a loop, which otherwise would have requests wait all the time.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many times as long as a deletion took, the next one waits if requests had to wait for it: requests then have two
/// thirds of the time of the committer.
const WAIT_FACTOR: u32 = 2;
/// The longest wait.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// When the next deletion may begin.
#[derive(Debug)]
pub(crate) struct DeletionInterval {
    due: Mutex<Instant>,
}

impl Default for DeletionInterval {
    fn default() -> Self {
        Self { due: Mutex::new(Instant::now()) }
    }
}

impl DeletionInterval {
    /// Calls `delete` once it is due, one caller at a time. `are_requests_waiting` is asked after it.
    pub(crate) fn run<T>(
        &self,
        delete: impl FnOnce() -> T,
        are_requests_waiting: impl FnOnce() -> bool,
    ) -> T {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let begun = Instant::now();
        let deleted = delete();
        if are_requests_waiting() {
            *due = Instant::now() + (begun.elapsed() * WAIT_FACTOR).min(MAX_WAIT);
        }
        deleted
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::DeletionInterval;

    #[test]
    fn the_next_deletion_waits_only_if_requests_did() {
        let interval = DeletionInterval::default();
        let due = || *interval.due.lock().expect("a sound lock");
        let first = due();
        interval.run(|| (), || false);
        assert_eq!(due(), first, "no caller waited for it");
        let ended = interval.run(
            || {
                std::thread::yield_now();
                Instant::now()
            },
            || true,
        );
        let second = due();
        assert!(second > ended);
        let begun = interval.run(Instant::now, || false);
        assert!(begun >= second);
    }
}
