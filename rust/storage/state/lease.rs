//! The lease of this process on the store.
//!
//! A replaced writer has outdated data. The storage rejects its writes
//! (`docs/reference/storage.md#one-writer`), but cannot prevent stale search results. So a result is only
//! returned if the claim was confirmed by a check that started at most [`MAX_AGE`] ago
//! ([`crate::storage::workers::claim_watch`] checks). A process that was suspended therefore checks the claim
//! first.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// The maximum age of a claim check, measured from its start.
pub(crate) const MAX_AGE: Duration = Duration::from_secs(2);

/// The maximum time that a search waits for an overdue check.
const PATIENCE: Duration = Duration::from_secs(3);

/// The results of the claim checks.
#[derive(Debug)]
pub(crate) struct Lease {
    last: Mutex<LeaseState>,
    checked: Condvar,
}

#[derive(Debug)]
struct LeaseState {
    /// The start of the last check that confirmed the claim.
    held_at: Instant,
    /// The error of the failed checks since then.
    error: Option<String>,
    /// The evidence that another process owns the store. This is final.
    lost: Option<String>,
}

impl Default for Lease {
    /// Returns the lease of a process that has just claimed the store.
    fn default() -> Self {
        let last = LeaseState { held_at: Instant::now(), error: None, lost: None };
        Self { last: Mutex::new(last), checked: Condvar::new() }
    }
}

impl Lease {
    /// Records that a check that started at `began` confirmed the claim.
    pub(crate) fn confirm(&self, began: Instant) {
        let mut last = self.last();
        (last.held_at, last.error) = (began, None);
        self.checked.notify_all();
    }

    /// Records a failed check.
    pub(crate) fn fail(&self, error: &Error) {
        self.last().error = Some(error.to_string());
    }

    /// Records that this process has lost the store, with the evidence.
    pub(crate) fn lose(&self, reason: &str) {
        self.last().lost.get_or_insert_with(|| reason.to_owned());
        self.checked.notify_all();
    }

    /// Returns the evidence that this process has lost the store, if any.
    pub(crate) fn lost(&self) -> Option<String> {
        self.last().lost.clone()
    }

    /// Returns the reason why the ownership is not confirmed at the moment.
    pub(crate) fn doubt(&self) -> Option<String> {
        let last = self.last();
        last.lost.clone().or_else(|| (last.held_at.elapsed() > MAX_AGE).then(|| last.unknown()))
    }

    /// Returns `Ok` if a check that started at most [`MAX_AGE`] ago confirmed the claim. Waits for such a
    /// check.
    ///
    /// # Errors
    /// [`Error::Stopped`] if another process owns the store, [`Error::Busy`] if there is no result in time.
    pub(crate) fn expect(&self) -> Result<()> {
        let mut last = self.last();
        let start = Instant::now();
        loop {
            if let Some(reason) = &last.lost {
                return Err(Error::Stopped(reason.clone()));
            }
            if last.held_at.elapsed() <= MAX_AGE {
                return Ok(());
            }
            let Some(rest) = PATIENCE.checked_sub(start.elapsed()) else {
                return Err(Error::Busy(last.unknown()));
            };
            last = self.checked.wait_timeout(last, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn last(&self) -> MutexGuard<'_, LeaseState> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LeaseState {
    fn unknown(&self) -> String {
        let why = self.error.as_deref().unwrap_or("the storage does not answer");
        let seconds = self.held_at.elapsed().as_secs();
        format!("it is not known for {seconds} s whether this process still holds the store: {why}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked_before(age: Duration) -> Lease {
        let lease = Lease::default();
        lease.confirm(Instant::now().checked_sub(age).expect("a machine that runs for some seconds"));
        lease
    }

    #[test]
    fn a_fresh_check_is_trusted_and_a_stale_one_is_not() {
        assert!(checked_before(Duration::ZERO).expect().is_ok());
        let stale = checked_before(MAX_AGE + Duration::from_secs(1));
        assert!(stale.doubt().is_some());
        stale.fail(&Error::Busy("no route to the bucket".into()));
        let error = stale.expect().expect_err("no check is running");
        assert!(matches!(&error, Error::Busy(why) if why.contains("no route to the bucket")), "{error}");
    }

    #[test]
    fn a_request_waits_for_an_overdue_check() {
        let stale = checked_before(MAX_AGE * 2);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| stale.expect());
            stale.confirm(Instant::now());
            assert!(waiting.join().expect("no panic").is_ok());
        });
    }

    #[test]
    fn what_is_lost_stays_lost() {
        let lease = Lease::default();
        lease.lose("found by `manifest/7`");
        lease.lose("found later");
        lease.confirm(Instant::now());
        assert_eq!(lease.lost().as_deref(), Some("found by `manifest/7`"));
        assert!(matches!(lease.expect(), Err(Error::Stopped(reason)) if reason == "found by `manifest/7`"));
    }
}
