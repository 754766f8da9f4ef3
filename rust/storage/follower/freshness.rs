//! How old the state is that a reader answers from.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::time::now_micros;

/// One instant, on the clock that only goes forward and on that of the wall.
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

/// Up to when everything that was acknowledged is known, and why not up to now.
#[derive(Debug)]
pub(super) struct Freshness {
    since: Instant,
    last: Mutex<Last>,
}

#[derive(Debug, Default)]
struct Last {
    /// When the last look at the store began after which nothing was left to read.
    as_of: Option<Moment>,
    /// Why the looks since then failed.
    error: Option<Error>,
}

impl Freshness {
    pub(super) fn new() -> Self {
        Self { since: Instant::now(), last: Mutex::default() }
    }

    /// Notes that all is known that was acknowledged before `began`.
    pub(super) fn confirm(&self, began: Moment) {
        let mut last = self.last();
        let is_newer = last.as_of.is_none_or(|as_of| as_of.instant < began.instant);
        last.as_of = last.as_of.filter(|_| !is_newer).or(Some(began));
    }

    /// Notes how a look ended.
    pub(super) fn note(&self, looked: &Result<()>) {
        self.last().error = looked.as_ref().err().cloned();
    }

    /// Whether all is known that was acknowledged before `instant`.
    pub(super) fn reaches(&self, instant: Instant) -> bool {
        self.last().as_of.is_some_and(|as_of| as_of.instant >= instant)
    }

    /// Returns up to when everything is known, in microseconds since 1970; `None` if the store was never read.
    pub(super) fn as_of(&self) -> Option<i64> {
        self.last().as_of.map(|as_of| as_of.micros)
    }

    /// Returns how long ago that was; if the store was never read, how long it has been tried.
    pub(super) fn lag(&self) -> Duration {
        self.last().as_of.map_or(self.since, |as_of| as_of.instant).elapsed()
    }

    /// Returns why the last look at the store failed, if it did.
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
