//! Recording index objects in manifests.
//!
//! Index objects can be rebuilt, so their records wait for the next manifest that is needed anyway. The wait
//! is limited, because machines that open the store meanwhile build the indexes again.

use std::sync::{MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::storage::committer::Committer;
use crate::storage::manifest::IndexRecord;
use crate::storage::snapshot::published::Published;

/// The maximum delay before index objects are recorded in a manifest.
const MAX_DELAY: Duration = Duration::from_secs(10);

impl Committer {
    /// Takes over the written indexes, unless more are being written now. In that case
    /// [`crate::storage::state::command::Command::Indexed`] follows.
    pub(super) fn take_index_records(&mut self) {
        let published = self.published.clone();
        if let Some(mut written) = written_indexes(&published) {
            self.add_index_records(&mut written);
        }
    }

    /// Waits until running index writes finish or are cancelled by the close, and takes over the written
    /// indexes. No writes follow.
    pub(super) fn take_last_index_records(&mut self) {
        let published = self.published.clone();
        let mut written = published.index_records.lock().unwrap_or_else(PoisonError::into_inner);
        self.add_index_records(&mut written);
    }

    /// Takes over the written indexes.
    pub(super) fn add_index_records(&mut self, written: &mut Vec<IndexRecord>) {
        let mut unneeded = Vec::new();
        for record in written.drain(..) {
            let name = record.object.as_ref().map(|(name, _)| name.clone());
            let Some(position) = self.state.position_of(&record.segment_id) else {
                // The segment was merged or deleted meanwhile.
                unneeded.extend(name.map(|name| format!("segments/{}/{name}", record.segment_id)));
                continue;
            };
            let own = &mut self.state.segments[position].record;
            let replaced = own.record_index(record.index, record.object);
            // Objects that the current manifest names are deleted after the next manifest.
            let named = self.state.manifest.segments.get(position).map(|named| &named.files);
            let is_named = |name: &String| named.is_some_and(|files| files.contains_key(name));
            unneeded.extend(replaced.filter(|name| !is_named(name)).map(|name| own.file_path(&name)));
            self.index_records_since.get_or_insert_with(Instant::now);
        }
        if !unneeded.is_empty() {
            self.workers.reclaimer.delete_objects(unneeded);
        }
    }

    /// Returns the time by which a manifest must record the indexes, if any are waiting.
    pub(super) fn index_records_due(&self) -> Option<Instant> {
        self.index_records_since.and_then(|since| since.checked_add(MAX_DELAY))
    }

    /// Writes a manifest that records the waiting indexes, if any.
    ///
    /// # Errors
    /// The errors of [`Committer::commit_manifest`]. The write is retried later.
    pub(super) fn commit_index_records(&mut self) -> Result<()> {
        if self.index_records_since.is_none() {
            return Ok(());
        }
        self.index_records_since = Some(Instant::now());
        self.commit_manifest(self.state.segments.clone(), self.state.manifest.wal_checkpoint)?;
        self.publish_progress();
        Ok(())
    }
}

/// Returns the written indexes that are not recorded yet; `None` if more are being written now. The returned
/// guard blocks further writes.
pub(super) fn written_indexes(published: &Published) -> Option<MutexGuard<'_, Vec<IndexRecord>>> {
    match published.index_records.try_lock() {
        Ok(written) => Some(written),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
