//! The pace of group commits: where each put costs money and time, more requests share one.

use std::time::{Duration, Instant};

/// When the next group may be written.
#[derive(Debug)]
pub(crate) struct Pace {
    interval: Duration,
    due: Instant,
}

impl Pace {
    /// Returns a pace of one commit in each `interval`; the first may come at once.
    pub(crate) fn new(interval: Duration) -> Self {
        Self { interval, due: Instant::now() }
    }

    /// Returns how long a group may still gather.
    pub(crate) fn remaining(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// Waits until the next group may be written, and takes its turn.
    pub(crate) fn wait(&mut self) {
        let remaining = self.remaining();
        if !remaining.is_zero() {
            std::thread::sleep(remaining);
        }
        self.due = Instant::now() + self.interval;
    }
}
