//! A flag that ends a running search.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

/// Cancels a running search from another thread.
#[derive(Debug, Default)]
pub struct CancellationToken(AtomicBool);

impl CancellationToken {
    /// Cancels the search; it soon ends with [`Error::Cancelled`].
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the search was cancelled.
    pub(super) fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns [`Error::Cancelled`] if the search was cancelled.
    pub(super) fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }
}
