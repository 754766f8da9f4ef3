//! The interval between repeated deletions, which would otherwise make requests wait continuously.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The ratio of the wait to the duration of a deletion, if requests had to wait for it. Requests then get two
/// thirds of the committer's time.
const WAIT_FACTOR: u32 = 2;
/// The maximum wait.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// Limits the rate of deletions.
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
    /// Calls `delete` when it is due. Callers take turns. `are_requests_waiting` is checked afterwards.
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
