//! What to do when the next WAL number is taken.
//!
//! It means that another writer has replaced this one, unless the object there is a put of our own that was given up
//! and arrived late, or the fence of an opening that our claim had overtaken. Those are replayed like any other object.

use crate::error::{Error, Result};
use crate::storage::committer::Committer;
use crate::storage::manifest::Manifest;
use crate::storage::state::replay::replay;
use crate::storage::wal;

impl Committer {
    /// Returns if the object at our next number changes nothing, so that the number after it may be tried.
    ///
    /// # Errors
    /// [`Error::Stopped`] if this writer was replaced, or may have been. [`Error::Busy`] if the object changed the
    /// state, so that what was to be written must be merged anew.
    pub(super) fn step_over(&mut self, number: u64) -> Result<()> {
        let path = wal::path(number);
        let read = wal::read(self.objects.as_ref(), number).and_then(|(object, _)| {
            let is_ours = object.writer == self.claim.writer;
            let newest = Manifest::newest_number(self.objects.as_ref())?;
            let is_fence = object.entries.is_empty() && newest == Some(self.state.manifest.number);
            if is_ours || is_fence {
                replay(self.objects.as_ref(), &mut self.state, number, &self.options)?;
                self.claim.fences.append(&mut self.state.fences);
            }
            Ok((is_ours, is_fence))
        });
        match read {
            Ok((false, true)) => Ok(()),
            Ok((true, _)) => {
                self.publish();
                Err(Error::Busy("nothing was stored: a write that was given up arrived late".into()))
            }
            Ok((false, false)) => Err(self.stop_superseded(&path)),
            Err(error) if self.objects.reads_are_durable() => {
                Err(Error::Busy(format!("nothing was stored: {error}")))
            }
            Err(error) => Err(self.stop(format!("cannot read `{path}` to check for a conflict: {error}"))),
        }
    }
}
