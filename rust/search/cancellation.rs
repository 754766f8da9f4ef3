//! What ends a running search: its caller, or too many looks at documents.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Error, Result};

/// The most documents that one search looks at: 12 to 40 seconds of one core.
pub(super) const MAX_VERIFIED: usize = 1_000_000;

/// Cancels a running search from another thread.
#[derive(Debug, Default)]
pub struct CancellationToken {
    is_cancelled: Arc<AtomicBool>,
    /// `None` for a search of one store, which may look at [`MAX_VERIFIED`] documents.
    share: Option<LookShare>,
}

/// What a search of one of several stores may look at, and the looks that it asked for, in order.
#[derive(Debug)]
struct LookShare {
    max: usize,
    asked: Mutex<Vec<usize>>,
}

impl CancellationToken {
    /// Cancels the search; it soon ends with [`Error::Cancelled`].
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns a token that is cancelled with this one, of a search that looks at no more than `max` documents at a time.
    pub(super) fn with_looks(&self, max: usize) -> Self {
        let share = LookShare { max, asked: Mutex::default() };
        Self { is_cancelled: self.is_cancelled.clone(), share: Some(share) }
    }

    /// Whether the search was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// Returns [`Error::Cancelled`] if the search was cancelled.
    pub(super) fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Returns how many documents the search may look at.
    pub(super) fn max_looks(&self) -> usize {
        self.share.as_ref().map_or(MAX_VERIFIED, |share| share.max)
    }

    /// Checks that a search does not look at too many documents.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if it would.
    pub(super) fn expect_few(&self, documents: usize) -> Result<()> {
        if let Some(share) = &self.share {
            share.asked.lock().unwrap_or_else(PoisonError::into_inner).push(documents);
        }
        if documents <= self.max_looks() { Ok(()) } else { Err(too_many_looks(documents)) }
    }

    /// Returns how many documents the search wanted to look at, each time that it did, and whether that was too many.
    pub(super) fn looks(&self) -> (Vec<usize>, bool) {
        let Some(share) = &self.share else { return (Vec::new(), false) };
        let asked = share.asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let is_too_many = asked.iter().any(|documents| *documents > share.max);
        (asked, is_too_many)
    }
}

/// Returns the error of a search that would look at too many documents.
pub(super) fn too_many_looks(documents: usize) -> Error {
    Error::TooLarge(format!(
        "the filter asks for a look at the documents of {documents} traces, expected at most {MAX_VERIFIED}; a range of \
         times, or a condition on another field, narrows it"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_documents_are_named_with_what_helps() {
        let token = CancellationToken::default();
        token.expect_few(MAX_VERIFIED).expect("as many as allowed");
        let error = token.expect_few(MAX_VERIFIED + 1).expect_err("rejected");
        assert!(
            matches!(&error, Error::TooLarge(message) if message.contains("1000001 traces")),
            "{error:?}"
        );
    }

    #[test]
    fn a_share_counts_what_was_asked_for_and_ends_with_its_search() {
        let token = CancellationToken::default();
        let share = token.with_looks(2);
        share.expect_few(2).expect("as many as allowed");
        assert_eq!(share.looks(), (vec![2], false));
        share.expect_few(3).expect_err("too many");
        assert_eq!(share.looks(), (vec![2, 3], true));
        token.cancel();
        assert!(share.is_cancelled());
    }
}
