//! The next write-ahead number is taken: were we replaced?
//!
//! Not if a put of our own came late, which was given up and answered 503; nor if the fence of an
//! opening came late that had been overtaken by our claim. Both are replayed like any other object.

use crate::error::{Error, Result};
use crate::storage::committer::Committer;
use crate::storage::manifest::Manifest;
use crate::storage::open::replay;
use crate::storage::wal;

impl Committer {
    /// Returns if the object at our next number changes nothing and the next one may be tried.
    ///
    /// # Errors
    /// [`Error::Stopped`] if we were replaced, or that is not known. [`Error::Busy`] if it changed the
    /// state, so that what was to be written must be looked at anew.
    pub(crate) fn step_over(&mut self, number: u64) -> Result<()> {
        let path = wal::path(number);
        let found = wal::read(self.objects.as_ref(), number).and_then(|(object, _)| {
            let is_ours = object.writer == self.claim.writer;
            let newest = Manifest::newest_number(self.objects.as_ref())?;
            let is_fence = object.entries.is_empty() && newest == Some(self.state.manifest.number);
            if is_ours || is_fence {
                replay(self.objects.as_ref(), &mut self.state, number, &self.options)?;
                self.claim.fences.append(&mut self.state.fences);
            }
            Ok((is_ours, is_fence))
        });
        match found {
            Ok((false, true)) => Ok(()),
            Ok((true, _)) => {
                self.publish();
                Err(Error::Busy("nothing was stored: a write that was given up came late".into()))
            }
            Ok((false, false)) => {
                Err(self.stop(format!("another writer holds the store, found by `{path}`")))
            }
            Err(fault) if self.objects.reads_are_durable() => {
                Err(Error::Busy(format!("nothing was stored: {fault}")))
            }
            Err(fault) => Err(self.stop(format!("what stands at `{path}` is not known: {fault}"))),
        }
    }
}
