//! The minimum time between two group commits, for storage where each put costs money and time.

use std::time::{Duration, Instant};

/// A limit on the rate of group commits.
#[derive(Debug)]
pub(super) struct CommitInterval {
    interval: Duration,
    due: Instant,
}

impl CommitInterval {
    /// Allows one commit per `interval`. The first commit need not wait.
    pub(super) fn new(interval: Duration) -> Self {
        Self { interval, due: Instant::now() }
    }

    /// Returns the time until the next group may be written.
    pub(super) fn remaining(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// Waits until the next group may be written, and starts the next interval.
    pub(super) fn wait(&mut self) {
        let remaining = self.remaining();
        if !remaining.is_zero() {
            std::thread::sleep(remaining);
        }
        self.due = Instant::now() + self.interval;
    }
}
