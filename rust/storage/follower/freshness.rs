//! The freshness of a follower's state.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::time::now_micros;

/// One instant on the monotonic clock and on the wall clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) instant: Instant,
    /// Microseconds since 1970.
    pub(super) micros: i64,
}

impl Moment {
    pub(super) fn now() -> Self {
        Self { instant: Instant::now(), micros: now_micros() }
    }
}

/// The time up to which the follower has everything acknowledged, and the reason why it is not newer.
#[derive(Debug)]
pub(super) struct Freshness {
    since: Instant,
    last: Mutex<Last>,
}

#[derive(Debug, Default)]
struct Last {
    /// The start of the last poll that read everything.
    as_of: Option<Moment>,
    /// The error of the polls since then.
    error: Option<Error>,
}

impl Freshness {
    pub(super) fn new() -> Self {
        Self { since: Instant::now(), last: Mutex::default() }
    }

    /// Records that the state contains everything acknowledged before `began`.
    pub(super) fn confirm(&self, began: Moment) {
        let mut last = self.last();
        let is_newer = last.as_of.is_none_or(|as_of| as_of.instant < began.instant);
        last.as_of = last.as_of.filter(|_| !is_newer).or(Some(began));
    }

    /// Records the result of a poll.
    pub(super) fn note(&self, polled: &Result<()>) {
        self.last().error = polled.as_ref().err().cloned();
    }

    /// Returns `true` if the state contains everything acknowledged before `instant`.
    pub(super) fn reaches(&self, instant: Instant) -> bool {
        self.last().as_of.is_some_and(|as_of| as_of.instant >= instant)
    }

    /// Returns the time through which the state is complete, in microseconds since 1970; `None` if the store
    /// was never read.
    pub(super) fn as_of(&self) -> Option<i64> {
        self.last().as_of.map(|as_of| as_of.micros)
    }

    /// Returns the time since then. If the store was never read, the time since the first attempt.
    pub(super) fn lag(&self) -> Duration {
        self.last().as_of.map_or(self.since, |as_of| as_of.instant).elapsed()
    }

    /// Returns the error of the last poll, if it failed.
    pub(super) fn error(&self) -> Option<Error> {
        self.last().error.clone()
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_never_goes_back() {
        let freshness = Freshness::new();
        assert_eq!(freshness.as_of(), None);
        let (earlier, later) = (Moment::now(), Moment::now());
        freshness.confirm(later);
        freshness.confirm(earlier);
        assert!(freshness.reaches(later.instant));
        assert_eq!(freshness.as_of(), Some(later.micros));
    }
}
