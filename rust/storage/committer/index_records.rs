//! Recording the objects of indexes in manifests.
//!
//! They are no part of the truth, so they wait for the next manifest that is needed anyway, but not for long: machines
//! that open the store meanwhile make them again.

use std::sync::{MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::storage::committer::Committer;
use crate::storage::manifest::IndexRecord;
use crate::storage::snapshot::published::Published;

/// How long what is to be recorded waits for a manifest.
const MAX_DELAY: Duration = Duration::from_secs(10);

impl Committer {
    /// Takes over what was written of indexes, unless more is being written now: then
    /// [`crate::storage::state::command::Command::Indexed`] comes once it is.
    pub(super) fn take_index_records(&mut self) {
        let published = self.published.clone();
        if let Some(mut written) = written_indexes(&published) {
            self.add_index_records(&mut written);
        }
    }

    /// Waits until what is being written of indexes is there or was given up, as it is while the store closes, and takes over
    /// what was written: nothing comes after it.
    pub(super) fn take_last_index_records(&mut self) {
        let published = self.published.clone();
        let mut written = published.index_records.lock().unwrap_or_else(PoisonError::into_inner);
        self.add_index_records(&mut written);
    }

    /// Takes over what was written of indexes.
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
            // What the present manifest names is removed with the next one.
            let named = self.state.manifest.segments.get(position).map(|named| &named.files);
            let is_named = |name: &String| named.is_some_and(|files| files.contains_key(name));
            unneeded.extend(replaced.filter(|name| !is_named(name)).map(|name| own.file_path(&name)));
            self.index_records_since.get_or_insert_with(Instant::now);
        }
        if !unneeded.is_empty() {
            self.workers.reclaimer.delete_objects(unneeded);
        }
    }

    /// Returns when a manifest is put for indexes alone, if any are to be recorded.
    pub(super) fn index_records_due(&self) -> Option<Instant> {
        self.index_records_since.and_then(|since| since.checked_add(MAX_DELAY))
    }

    /// Puts a manifest for what is to be recorded of indexes, if there is anything.
    ///
    /// # Errors
    /// As [`Committer::commit_manifest`]; it is tried again later.
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

/// Returns what was written of indexes and is not recorded yet; `None` if more is being written now. While the returned
/// value is held, nothing is.
pub(super) fn written_indexes(published: &Published) -> Option<MutexGuard<'_, Vec<IndexRecord>>> {
    match published.index_records.try_lock() {
        Ok(written) => Some(written),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
