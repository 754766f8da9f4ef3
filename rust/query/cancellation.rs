//! Ends a running search if its caller cancels it or if it would check too many documents.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Error, Result};

/// The maximum number of documents that one search checks. This many checks take 12 to 40 seconds of one core.
pub(crate) const MAX_DOCUMENT_CHECKS: usize = 1_000_000;

/// Cancels a running search from another thread.
#[derive(Debug, Default)]
pub struct CancellationToken {
    is_cancelled: Arc<AtomicBool>,
    /// `None` for a search of one store, which may check [`MAX_DOCUMENT_CHECKS`] documents.
    quota: Option<CheckQuota>,
}

/// The limit on the document checks of one leaf of several, and the number of documents in each check so far.
#[derive(Debug)]
struct CheckQuota {
    max: usize,
    counts: Mutex<Vec<usize>>,
}

impl CancellationToken {
    /// Cancels the search, which soon ends with [`Error::Cancelled`].
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns a token that is cancelled with this one and allows at most `max` documents per check.
    pub(crate) fn with_max_document_checks(&self, max: usize) -> Self {
        let quota = CheckQuota { max, counts: Mutex::default() };
        Self { is_cancelled: self.is_cancelled.clone(), quota: Some(quota) }
    }

    /// Returns `true` if the search was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// Returns [`Error::Cancelled`] if the search was cancelled.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Returns the maximum number of documents per check.
    pub(crate) fn max_document_checks(&self) -> usize {
        self.quota.as_ref().map_or(MAX_DOCUMENT_CHECKS, |quota| quota.max)
    }

    /// Records a check of `documents` documents before it starts.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if it exceeds [`Self::max_document_checks`].
    pub(crate) fn admit_checks(&self, documents: usize) -> Result<()> {
        if let Some(quota) = &self.quota {
            quota.counts.lock().unwrap_or_else(PoisonError::into_inner).push(documents);
        }
        if documents <= self.max_document_checks() { Ok(()) } else { Err(too_many_checks(documents)) }
    }

    /// Returns the number of documents of each check, and whether one of them exceeded the limit.
    pub(crate) fn checks(&self) -> (Vec<usize>, bool) {
        let Some(quota) = &self.quota else { return (Vec::new(), false) };
        let counts = quota.counts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let exceeds_limit = counts.iter().any(|documents| *documents > quota.max);
        (counts, exceeds_limit)
    }
}

/// Returns the error of a search that would check too many documents.
pub(crate) fn too_many_checks(documents: usize) -> Error {
    Error::TooLarge(format!(
        "the filter must check the documents of {documents} traces, more than the limit of {MAX_DOCUMENT_CHECKS}; narrow the \
         time range or add a condition on another field"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_names_the_number_of_documents() {
        let token = CancellationToken::default();
        token.admit_checks(MAX_DOCUMENT_CHECKS).expect("as many as allowed");
        let error = token.admit_checks(MAX_DOCUMENT_CHECKS + 1).expect_err("rejected");
        assert!(
            matches!(&error, Error::TooLarge(message) if message.contains("1000001 traces")),
            "{error:?}"
        );
    }

    #[test]
    fn a_quota_records_checks_and_is_cancelled_with_its_search() {
        let token = CancellationToken::default();
        let quota = token.with_max_document_checks(2);
        quota.admit_checks(2).expect("as many as allowed");
        assert_eq!(quota.checks(), (vec![2], false));
        quota.admit_checks(3).expect_err("too many");
        assert_eq!(quota.checks(), (vec![2, 3], true));
        token.cancel();
        assert!(quota.is_cancelled());
    }
}
