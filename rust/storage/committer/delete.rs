//! Deletion: rows are deleted durably, in one manifest.
//!
//! What a WAL object holds comes back when it is replayed, so only rows of segments can be deleted. Whoever deletes
//! flushes the head first if it has a matching trace ([`crate::storage::TraceStore::delete`]); requests go on meanwhile.
//! What the head has by the time the deletion is executed came later. It stays, unless it is more of a trace that the
//! deletion has to delete: then the rest of the head is sealed too, while requests wait.
//!
//! So no WAL object that will be replayed holds a span of a deleted trace: every trace of such an object has a row in the
//! head ([`crate::storage::state::merge_spans`]). Spans that come later find no trace to join.

use crossbeam_channel::Receiver;
use rayon::prelude::*;
use roaring::RoaringBitmap;

use crate::error::Result;
use crate::filter::Filter;
use crate::storage::committer::Committer;
use crate::storage::snapshot::{RowKind, SnapshotPart};
use crate::storage::state::command::Command;

impl Committer {
    /// Deletes the rows of a kind that segments have and the filter matches, and returns how many. Other commands are
    /// deferred.
    ///
    /// # Errors
    /// As [`Committer::seal_head`] and [`Committer::commit_manifest`].
    pub(super) fn delete(
        &mut self,
        filter: &Filter,
        kind: RowKind,
        commands: &Receiver<Command>,
    ) -> Result<u64> {
        if self.has_more_of_a_match(filter, kind)? {
            self.seal_head(commands)?;
        }
        let segments = self.state.segments.par_iter();
        let matched = segments.map(|live| {
            let part = SnapshotPart::sealed(live.segment.clone(), live.deletion_vector.clone());
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

    /// Whether the head has a matching trace of which a segment has an earlier row.
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
