//! Handles an occupied WAL number.
//!
//! Usually another writer has replaced this one. There are two exceptions: a put of this writer that timed
//! out and arrived late, and the fence of an opening that was older than this writer's claim. These objects
//! are replayed like any other.

use crate::error::{Error, Result};
use crate::storage::committer::Committer;
use crate::storage::manifest::Manifest;
use crate::storage::state::replay::replay;
use crate::storage::wal;

impl Committer {
    /// Returns `Ok` if the object at the next number changes nothing, so that the following number can be
    /// tried.
    ///
    /// # Errors
    /// [`Error::Stopped`] if this writer was or may have been replaced. [`Error::Busy`] if the object changed
    /// the state, so that the group must be merged again.
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
