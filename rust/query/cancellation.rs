//! Ends a running search: its caller cancelled it, or it would check too many documents.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Error, Result};

/// The maximum number of documents that one search checks: 12 to 40 seconds of one core.
pub(in crate::query) const MAX_CHECKS: usize = 1_000_000;

/// Cancels a running search from another thread.
#[derive(Debug, Default)]
pub struct CancellationToken {
    is_cancelled: Arc<AtomicBool>,
    /// `None` for a search of one store, which may check [`MAX_CHECKS`] documents.
    share: Option<CheckShare>,
}

/// The checks that a search of one of several stores may do, and the checks that it needed, in order.
#[derive(Debug)]
struct CheckShare {
    max: usize,
    needed: Mutex<Vec<usize>>,
}

impl CancellationToken {
    /// Cancels the search, which soon ends with [`Error::Cancelled`].
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns a token that is cancelled with this one, for a search that may check at most `max` documents at a time.
    pub(in crate::query) fn with_max_checks(&self, max: usize) -> Self {
        let share = CheckShare { max, needed: Mutex::default() };
        Self { is_cancelled: self.is_cancelled.clone(), share: Some(share) }
    }

    /// Returns `true` if the search was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// Returns [`Error::Cancelled`] if the search was cancelled.
    pub(in crate::query) fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Returns the maximum number of documents per check.
    pub(in crate::query) fn max_checks(&self) -> usize {
        self.share.as_ref().map_or(MAX_CHECKS, |share| share.max)
    }

    /// Checks that a search does not need too many documents.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if it would.
    pub(in crate::query) fn expect_few(&self, documents: usize) -> Result<()> {
        if let Some(share) = &self.share {
            share.needed.lock().unwrap_or_else(PoisonError::into_inner).push(documents);
        }
        if documents <= self.max_checks() { Ok(()) } else { Err(too_many_checks(documents)) }
    }

    /// Returns the number of documents of each check, and `true` if one exceeded the maximum.
    pub(in crate::query) fn checks(&self) -> (Vec<usize>, bool) {
        let Some(share) = &self.share else { return (Vec::new(), false) };
        let needed = share.needed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let is_too_many = needed.iter().any(|documents| *documents > share.max);
        (needed, is_too_many)
    }
}

/// Returns the error of a search that would check too many documents.
pub(in crate::query) fn too_many_checks(documents: usize) -> Error {
    Error::TooLarge(format!(
        "the filter asks for a look at the documents of {documents} traces, expected at most {MAX_CHECKS}; a range of \
         times, or a condition on another field, narrows it"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_documents_are_named_with_what_helps() {
        let token = CancellationToken::default();
        token.expect_few(MAX_CHECKS).expect("as many as allowed");
        let error = token.expect_few(MAX_CHECKS + 1).expect_err("rejected");
        assert!(
            matches!(&error, Error::TooLarge(message) if message.contains("1000001 traces")),
            "{error:?}"
        );
    }

    #[test]
    fn a_share_counts_what_was_asked_for_and_ends_with_its_search() {
        let token = CancellationToken::default();
        let share = token.with_max_checks(2);
        share.expect_few(2).expect("as many as allowed");
        assert_eq!(share.checks(), (vec![2], false));
        share.expect_few(3).expect_err("too many");
        assert_eq!(share.checks(), (vec![2, 3], true));
        token.cancel();
        assert!(share.is_cancelled());
    }
}
