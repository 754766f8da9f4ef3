//! Deletion: rows are deleted durably, in one manifest.
//!
//! The head is sealed first, and requests wait until the manifest is durable. So no WAL object that will be replayed
//! holds a span of a deleted trace, and spans that come later find no trace to join.

use crossbeam_channel::Receiver;
use rayon::prelude::*;
use roaring::RoaringBitmap;

use crate::error::Result;
use crate::filter::Filter;
use crate::storage::committer::Committer;
use crate::storage::snapshot::{RowKind, SnapshotPart};
use crate::storage::state::command::Command;

impl Committer {
    /// Deletes the rows of a kind that the filter matches and returns how many. Other commands are deferred.
    ///
    /// # Errors
    /// As [`Committer::seal_head`] and [`Committer::commit_manifest`].
    pub(super) fn delete(
        &mut self,
        filter: &Filter,
        kind: RowKind,
        commands: &Receiver<Command>,
    ) -> Result<u64> {
        self.seal_head(commands)?;
        let segments = self.state.segments.par_iter();
        let matched = segments.map(|live| {
            let part = SnapshotPart::sealed(live.segment.clone(), live.deletion_vector.clone());
            part.rows_of(kind, filter)
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
}
