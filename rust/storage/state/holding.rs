//! Whether this process still holds the store.
//!
//! A writer that was replaced knows only what was written until then. Its writes are refused by the storage
//! (`docs/reference/storage.md#one-writer`), but nothing refuses its answers. So an answer is given only from a look at
//! the claim that began at most [`MAX_AGE`] ago ([`crate::storage::workers::claim_watch`] looks). A process that slept
//! therefore looks before it answers.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// How long ago the look may have begun that an answer relies on.
pub(crate) const MAX_AGE: Duration = Duration::from_secs(2);

/// How long an answer waits for a look that is overdue.
const PATIENCE: Duration = Duration::from_secs(3);

/// What the looks at the claim have found.
#[derive(Debug)]
pub(crate) struct Holding {
    last: Mutex<LastLook>,
    looked: Condvar,
}

#[derive(Debug)]
struct LastLook {
    /// When the last look began that found this process to hold the store.
    held_at: Instant,
    /// Why the looks since then did not tell.
    error: Option<String>,
    /// How another process was found to hold the store, which is for ever.
    lost: Option<String>,
}

impl Default for Holding {
    /// Returns the holding of a process that has claimed the store just now.
    fn default() -> Self {
        let last = LastLook { held_at: Instant::now(), error: None, lost: None };
        Self { last: Mutex::new(last), looked: Condvar::new() }
    }
}

impl Holding {
    /// Notes that a look that began at `began` found this process to hold the store.
    pub(crate) fn confirm(&self, began: Instant) {
        let mut last = self.last();
        (last.held_at, last.error) = (began, None);
        self.looked.notify_all();
    }

    /// Notes that a look failed.
    pub(crate) fn fail(&self, error: &Error) {
        self.last().error = Some(error.to_string());
    }

    /// Notes that this process does not hold the store any more, and how that was found.
    pub(crate) fn lose(&self, reason: &str) {
        self.last().lost.get_or_insert_with(|| reason.to_owned());
        self.looked.notify_all();
    }

    /// Returns how it was found that this process does not hold the store any more, if it was.
    pub(crate) fn lost(&self) -> Option<String> {
        self.last().lost.clone()
    }

    /// Returns why this process cannot be said to hold the store now.
    pub(crate) fn doubt(&self) -> Option<String> {
        let last = self.last();
        last.lost.clone().or_else(|| (last.held_at.elapsed() > MAX_AGE).then(|| last.unknown()))
    }

    /// Returns if this process holds the store, after a look that began at most [`MAX_AGE`] ago, for which it waits.
    ///
    /// # Errors
    /// [`Error::Stopped`] if another process holds it, [`Error::Busy`] if that is not known in time.
    pub(crate) fn expect(&self) -> Result<()> {
        let mut last = self.last();
        let asked = Instant::now();
        loop {
            if let Some(reason) = &last.lost {
                return Err(Error::Stopped(reason.clone()));
            }
            if last.held_at.elapsed() <= MAX_AGE {
                return Ok(());
            }
            let Some(rest) = PATIENCE.checked_sub(asked.elapsed()) else {
                return Err(Error::Busy(last.unknown()));
            };
            last = self.looked.wait_timeout(last, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn last(&self) -> MutexGuard<'_, LastLook> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LastLook {
    fn unknown(&self) -> String {
        let why = self.error.as_deref().unwrap_or("the storage does not answer");
        let seconds = self.held_at.elapsed().as_secs();
        format!("it is not known for {seconds} s whether this process still holds the store: {why}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looked_before(age: Duration) -> Holding {
        let holding = Holding::default();
        holding.confirm(Instant::now().checked_sub(age).expect("a machine that runs for some seconds"));
        holding
    }

    #[test]
    fn a_fresh_look_is_relied_on_and_a_stale_one_is_not() {
        assert!(looked_before(Duration::ZERO).expect().is_ok());
        let stale = looked_before(MAX_AGE + Duration::from_secs(1));
        assert!(stale.doubt().is_some());
        stale.fail(&Error::Busy("no route to the bucket".into()));
        let error = stale.expect().expect_err("nobody looks");
        assert!(matches!(&error, Error::Busy(why) if why.contains("no route to the bucket")), "{error}");
    }

    #[test]
    fn an_answer_waits_for_a_look_that_is_overdue() {
        let stale = looked_before(MAX_AGE * 2);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| stale.expect());
            stale.confirm(Instant::now());
            assert!(waiting.join().expect("no panic").is_ok());
        });
    }

    #[test]
    fn what_is_lost_stays_lost() {
        let holding = Holding::default();
        holding.lose("found by `manifest/7`");
        holding.lose("found later");
        holding.confirm(Instant::now());
        assert_eq!(holding.lost().as_deref(), Some("found by `manifest/7`"));
        assert!(matches!(holding.expect(), Err(Error::Stopped(reason)) if reason == "found by `manifest/7`"));
    }
}
