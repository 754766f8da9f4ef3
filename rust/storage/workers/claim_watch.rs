//! The claim watch thread: checks that this process still owns the store.
//!
//! In a bucket, the next owner puts a newer manifest. A folder is locked, so no other process can claim it.
//! But it may be moved or removed, and then its path may refer to another store.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};

use crate::error::{Error, Result};
use crate::storage::manifest::{self, Manifest};
use crate::storage::objects::Objects;
use crate::storage::snapshot::published::Published;
use crate::storage::state::claim::{self, Claim};

/// The interval between two checks. Together with the duration of a check it is less than
/// [`crate::storage::state::lease::MAX_AGE`].
const INTERVAL: Duration = Duration::from_millis(750);

/// Starts the thread. It ends when the other end of `closing` is dropped, or when the store is lost.
pub(crate) fn start(
    objects: Arc<dyn Objects>,
    claim: &Claim,
    published: Arc<Published>,
    closing: Receiver<()>,
) -> std::io::Result<JoinHandle<()>> {
    let watch =
        ClaimWatch { objects, writer: claim.writer.to_string(), is_locked: claim.is_locked, published };
    let run = move || {
        let mut wait = Duration::ZERO;
        while closing.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
            wait = INTERVAL;
            let (began, lease) = (Instant::now(), &watch.published.lease);
            match watch.check() {
                Ok(None) => lease.confirm(began),
                Ok(Some(reason)) => return lease.lose(&reason),
                Err(error) => lease.fail(&error),
            }
        }
    };
    std::thread::Builder::new().name("spanwise-watch".into()).spawn(run)
}

struct ClaimWatch {
    objects: Arc<dyn Objects>,
    writer: String,
    /// True if the operating system excludes other writers.
    is_locked: bool,
    published: Arc<Published>,
}

impl ClaimWatch {
    /// Returns the evidence that this process has lost the store; `None` if it still owns it.
    ///
    /// # Errors
    /// [`Error::Storage`] or [`Error::Damage`]: unknown.
    fn check(&self) -> Result<Option<String>> {
        if !self.objects.is_at_location()? {
            return Ok(Some("the folder of the store was moved or removed since it was opened".into()));
        }
        if self.is_locked {
            return Ok(None);
        }
        let known = self.published.progress.load().manifest;
        match Manifest::newest_number(self.objects.as_ref())? {
            Some(newest) if newest == known => Ok(None),
            Some(newest) if newest > known => self.check_newer(newest),
            _ => Ok(Some(format!("`{}` was removed from the storage", manifest::path(known)))),
        }
    }

    /// Checks a manifest that is newer than the published state: it is our own, or belongs to another claim.
    fn check_newer(&self, number: u64) -> Result<Option<String>> {
        let path = manifest::path(number);
        let Some(content) = self.objects.get(&path)? else {
            return Err(Error::storage(&path, "it was replaced while it was read"));
        };
        let is_own = Manifest::decode(number, &content)?.writer == self.writer;
        Ok((!is_own).then(|| claim::superseded_by(&path)))
    }
}
