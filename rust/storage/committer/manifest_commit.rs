//! The step from one manifest to the next.
//!
//! One manifest changes everything at once: the live segments, their deleted rows, and the WAL checkpoint.
//! The old manifest defines the store until the new one is durable. After that, objects that only the old one
//! named are deleted. So adding rows and deleting the rows that they replace is one atomic step.

use std::collections::HashSet;

use crate::error::Result;
use crate::storage::committer::Committer;
use crate::storage::manifest::{self, ImportRecord, Manifest, SegmentRecord};
use crate::storage::objects::{PutOutcome, PutPayload, put_verified};
use crate::storage::segment::builder::discard;
use crate::storage::state::command::Reply;
use crate::storage::state::deletion_vectors::write_deletion_vectors;
use crate::storage::state::live_segment::LiveSegment;
use crate::storage::wal;

/// The maximum number of attempts for a request whose outcome must be known. Each attempt takes seconds.
const MAX_TRIES: usize = 12;

impl Committer {
    /// Makes `segments` the live segments, which contain the WAL up to `wal_checkpoint`, durably. A segment
    /// whose rows are all deleted is dropped. Does not publish a snapshot.
    ///
    /// # Errors
    /// [`Error::Storage`] if nothing changed, [`Error::Stopped`] if the outcome is unknown.
    pub(super) fn commit_manifest(&mut self, segments: Vec<LiveSegment>, wal_checkpoint: u64) -> Result<()> {
        self.commit_manifest_with(segments, wal_checkpoint, self.state.manifest.imports.clone())
    }

    /// Like [`Committer::commit_manifest`], but also makes the progress of imports durable.
    ///
    /// # Errors
    /// The errors of [`Committer::commit_manifest`].
    pub(super) fn commit_manifest_with(
        &mut self,
        mut segments: Vec<LiveSegment>,
        wal_checkpoint: u64,
        imports: Vec<ImportRecord>,
    ) -> Result<()> {
        segments.retain(|live| live.durable_deletion_vector.len() < live.record.rows);
        write_deletion_vectors(self.objects.as_ref(), &mut segments)?;
        let mut next = Manifest {
            wal_checkpoint,
            segments: segments.iter().map(|live| live.record.clone()).collect(),
            imports,
            ..self.next_manifest()
        };
        next.quarantined_wal.retain(|record| record.is_needed(wal_checkpoint));
        let path = manifest::path(next.number);
        match self.put_until_known(&path, &next.encode().into()) {
            PutOutcome::Created => self.expect_newest(&next)?,
            PutOutcome::NotCreated(error) => return Err(error),
            PutOutcome::Conflict => return Err(self.stop_superseded(&path)),
            PutOutcome::Unknown(error) => {
                return Err(self.stop(format!("it is not known whether `{path}` is durable: {error}")));
            }
        }
        self.state.segments = segments;
        self.index_records_since = None;
        let previous = std::mem::replace(&mut self.state.manifest, next);
        self.reclaim_what_only(&previous);
        self.compaction.may_be_due = true;
        Ok(())
    }

    /// Records the last index objects and the end of the log in a manifest, if one can be written at once.
    /// Then the next opening detects missing log objects. Otherwise the store is in the same state as after a
    /// kill: complete, but a loss of its last log objects is undetectable.
    pub(super) fn record_end_of_log(&mut self) {
        let next = self.next_manifest();
        let is_recorded =
            next.wal_through == self.state.manifest.wal_through && self.index_records_since.is_none();
        if self.stopped.is_some() || is_recorded {
            return self.reclaim_claim();
        }
        let put = put_verified(self.objects.as_ref(), &manifest::path(next.number), &next.encode().into());
        if matches!(put, PutOutcome::Created) && self.expect_newest(&next).is_ok() {
            let previous = std::mem::replace(&mut self.state.manifest, next);
            self.reclaim_what_only(&previous);
            self.reclaim_claim();
        }
    }

    /// Deletes the manifest of this writer's claim, which is no longer needed. If the newest manifest is
    /// lost, the store must not open with an older one.
    fn reclaim_claim(&self) {
        if self.stopped.is_none() && self.claim.manifest != self.state.manifest.number {
            self.workers.reclaimer.delete_objects(vec![manifest::path(self.claim.manifest)]);
        }
    }

    /// Returns the next manifest, which only differs in its index records.
    fn next_manifest(&self) -> Manifest {
        Manifest {
            number: self.state.manifest.number + 1,
            writer: self.claim.writer.to_string(),
            wal_through: self.state.wal_through(),
            segments: self.state.segments.iter().map(|live| live.record.clone()).collect(),
            ..self.state.manifest.clone()
        }
    }

    /// Deletes the files of a new segment after a commit attempt, unless the segment is or may be live. In
    /// the latter case the next opening decides.
    pub(super) fn discard_unless_live(&self, segment: Option<&SegmentRecord>, outcome: &Result<()>) {
        let Some(segment) = segment else { return };
        let is_known = outcome.is_ok() || self.stopped.is_none();
        if is_known && self.state.position_of(&segment.id).is_none() {
            discard(self.objects.as_ref(), &self.index_cache(), segment);
        }
    }

    /// Sends `outcome` after all pending deletions of objects are done.
    pub(super) fn reply_after_reclaim<T: Send + 'static>(&self, reply: Reply<T>, outcome: Result<T>) {
        self.workers.reclaimer.when_done(move || {
            let _caller_is_gone = reply.send(outcome);
        });
    }

    /// Puts a manifest. If the outcome is unknown and a retry is possible, the put is retried. No manifest
    /// can follow one that may or may not be the newest.
    fn put_until_known(&self, path: &str, content: &PutPayload) -> PutOutcome {
        let mut outcome = put_verified(self.objects.as_ref(), path, content);
        for _ in 1..MAX_TRIES {
            if !(matches!(outcome, PutOutcome::Unknown(_)) && self.objects.reads_are_durable()) {
                break;
            }
            outcome = put_verified(self.objects.as_ref(), path, content);
        }
        outcome
    }

    /// Stops unless the manifest of the last put is the newest one. Its number may have belonged to the claim
    /// of another writer that a third writer has deleted (see [`crate::storage::open`]).
    fn expect_newest(&mut self, put: &Manifest) -> Result<()> {
        if self.claim.is_locked {
            return Ok(());
        }
        match self.newest_manifest_number() {
            Ok(newest) if newest == Some(put.number) => Ok(()),
            Ok(newest) => {
                let newest = newest.map_or("none".into(), manifest::path);
                Err(self.stop_superseded(&newest))
            }
            Err(error) => {
                Err(self.stop(format!("it is not known whether another writer holds the store: {error}")))
            }
        }
    }

    fn newest_manifest_number(&self) -> Result<Option<u64>> {
        let mut newest = Manifest::newest_number(self.objects.as_ref());
        for _ in 1..MAX_TRIES {
            if newest.is_ok() || !self.objects.reads_are_durable() {
                break;
            }
            newest = Manifest::newest_number(self.objects.as_ref());
        }
        newest
    }

    /// Deletes the objects that `previous` needed and the current manifest does not. Failed deletions are
    /// repeated when the store is next opened. Held snapshots keep their files open. Readers in other
    /// processes can use superseded objects for the linger time.
    fn reclaim_what_only(&self, previous: &Manifest) {
        let now = &self.state.manifest;
        let needed: HashSet<String> = now.segments.iter().flat_map(SegmentRecord::paths).collect();
        let segments = previous.segments.iter().flat_map(SegmentRecord::paths);
        let wal = previous.wal_checkpoint + 1..=now.wal_checkpoint;
        let is_fence = |number: &u64| *number == self.claim.fence || self.claim.fences.contains(number);
        let stays = |number: &u64| is_fence(number) || now.quarantined_wal(*number).is_some();
        let wal = wal.filter(|number| !stays(number)).map(wal::path);
        let manifest = Some(previous.number).filter(|number| !self.claim.keeps_manifest(*number));
        let unneeded = segments.filter(|path| !needed.contains(path)).chain(wal);
        let reclaimer = &self.workers.reclaimer;
        reclaimer.delete_superseded(unneeded.collect());
        // Manifests do not linger: if the newest one is lost, the store must not open with an older one.
        reclaimer.delete_objects(manifest.map(manifest::path).into_iter().collect());
        let live: HashSet<&str> = now.segments.iter().map(|segment| segment.id.as_str()).collect();
        let gone = previous.segments.iter().filter(|segment| !live.contains(segment.id.as_str()));
        reclaimer.delete_indexes(gone.map(|segment| segment.id.clone()).collect());
    }
}
