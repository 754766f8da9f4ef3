//! Deletion: deletes rows durably, in one manifest.
//!
//! Replay restores the content of a WAL object, so only rows of segments can be deleted. The caller first
//! flushes the head if it has a matching trace ([`crate::storage::TraceStore::delete`]). Requests continue
//! meanwhile. Traces that are in the head when the deletion runs came later and stay. The exception is a
//! matching trace that also has an earlier row in a segment: then the rest of the head is flushed too, while
//! requests wait.
//!
//! So no WAL object that will be replayed holds a span of a deleted trace: every trace of such an object has
//! a row in the head ([`crate::storage::state::merge_spans`]). Later spans start a new trace.

use crossbeam_channel::Receiver;
use rayon::prelude::*;
use roaring::RoaringBitmap;

use crate::error::Result;
use crate::filter::Filter;
use crate::storage::committer::Committer;
use crate::storage::snapshot::{RowKind, SnapshotPart};
use crate::storage::state::command::Command;

impl Committer {
    /// Deletes the rows of `kind` in segments that match the filter, and returns their number. Other commands
    /// are deferred.
    ///
    /// # Errors
    /// The errors of [`Committer::flush_head`] and [`Committer::commit_manifest`].
    pub(super) fn delete(
        &mut self,
        filter: &Filter,
        kind: RowKind,
        commands: &Receiver<Command>,
    ) -> Result<u64> {
        if self.has_more_of_a_match(filter, kind)? {
            self.flush_head(commands)?;
        }
        let segments = self.state.segments.par_iter();
        let matched = segments.map(|live| {
            let part = SnapshotPart::of_segment(live.segment.clone(), live.deletion_vector.clone());
            let rows = part.rows_of(kind, filter);
            self.options.progress.add(part.count() as u64);
            rows
        });
        let matched = matched.collect::<Result<Vec<_>>>()?;
        let count = matched.iter().map(RoaringBitmap::len).sum();
        if count > 0 {
            let mut segments = self.state.segments.clone();
            segments.iter_mut().zip(&matched).for_each(|(live, rows)| live.delete(rows));
            self.commit_manifest(segments, self.state.manifest.wal_checkpoint)?;
            self.publish();
        }
        Ok(count)
    }

    /// Returns `true` if the head has a matching trace with an earlier row in a segment.
    fn has_more_of_a_match(&self, filter: &Filter, kind: RowKind) -> Result<bool> {
        for part in self.state.generations.iter().flat_map(|generation| &generation.parts) {
            let rows = SnapshotPart::head(part.batch.clone(), part.deletion_vector.clone());
            let mut matching = rows.rows_of(kind, filter)?.into_iter();
            if matching.any(|row| self.state.is_in_segment(part.batch.trace(row as usize).trace_id)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
