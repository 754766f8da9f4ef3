//! The committer's step from one manifest to the next, whatever it is that changes.
//!
//! One manifest says it all at once: which segments are live, which of their rows are hidden, and how
//! far the write-ahead is folded. Before it is durable the old manifest holds the truth; after, what
//! only the old one named is removed. Adding rows and hiding those they replace is one step.

use std::collections::HashSet;
use std::sync::Arc;

use crossbeam_channel::Sender;
use roaring::RoaringBitmap;
use ulid::Ulid;

use crate::error::{Error, Result};
use crate::storage::committer::Committer;
use crate::storage::manifest::{
    self, DeletionVectorRecord, FileRecord, ImportRecord, Manifest, SegmentRecord,
};
use crate::storage::objects::{PutOutcome, PutPayload, put_verified};
use crate::storage::state::Sealed;
use crate::storage::wal;

/// So often is asked what must be known before anything else can be done. Each time takes seconds.
const TRIES: usize = 12;

impl Committer {
    /// Makes `sealed` the live segments and the write-ahead folded up to `folded_through`, durably.
    /// A segment whose rows are all hidden is not among them. Nothing is published yet.
    ///
    /// # Errors
    /// [`Error::Storage`] if nothing changed, [`Error::Stopped`] if that is not known.
    pub(crate) fn install(&mut self, sealed: Vec<Sealed>, folded_through: u64) -> Result<()> {
        self.install_with(sealed, folded_through, self.state.manifest.imports.clone())
    }

    /// As [`Committer::install`], and makes durable with it how far imports are.
    ///
    /// # Errors
    /// As [`Committer::install`].
    pub(crate) fn install_with(
        &mut self,
        mut sealed: Vec<Sealed>,
        folded_through: u64,
        imports: Vec<ImportRecord>,
    ) -> Result<()> {
        sealed.retain(|sealed| sealed.durably_hidden.len() < sealed.record.rows);
        for sealed in &mut sealed {
            let recorded = sealed.record.deletion_vector.map_or(0, |hidden| hidden.rows);
            if sealed.durably_hidden.len() > recorded {
                sealed.record.deletion_vector =
                    Some(self.write_hidden(&sealed.record, &sealed.durably_hidden)?);
            }
        }
        let next = Manifest {
            number: self.state.manifest.number + 1,
            writer: self.claim.writer.to_string(),
            wal_checkpoint: folded_through,
            segments: sealed.iter().map(|sealed| sealed.record.clone()).collect(),
            quarantined: self.state.manifest.quarantined.clone(),
            imports,
        };
        let path = manifest::path(next.number);
        match self.put_until_known(&path, &next.encode().into()) {
            PutOutcome::Created => self.expect_newest(&next)?,
            PutOutcome::NotCreated(fault) => return Err(fault),
            PutOutcome::Conflict => {
                return Err(self.stop(format!("another writer holds the store, found by `{path}`")));
            }
            PutOutcome::Unknown(fault) => {
                return Err(self.stop(format!("whether `{path}` is durable is not known: {fault}")));
            }
        }
        self.state.sealed = sealed;
        let previous = std::mem::replace(&mut self.state.manifest, next);
        self.remove_what_only(&previous);
        self.compaction.may_be_due = true;
        Ok(())
    }

    fn newest_once_known(&self) -> Result<Option<u64>> {
        let mut newest = Manifest::newest_number(self.objects.as_ref());
        for _ in 1..TRIES {
            if newest.is_ok() || !self.objects.reads_are_durable() {
                break;
            }
            newest = Manifest::newest_number(self.objects.as_ref());
        }
        newest
    }

    /// Puts a manifest. Where a put may be sent again, one that is in doubt is: nothing can follow a
    /// manifest of which it is not known whether it holds.
    fn put_until_known(&self, path: &str, content: &PutPayload) -> PutOutcome {
        let mut outcome = put_verified(self.objects.as_ref(), path, content);
        for _ in 1..TRIES {
            if !(matches!(outcome, PutOutcome::Unknown(_)) && self.objects.reads_are_durable()) {
                break;
            }
            outcome = put_verified(self.objects.as_ref(), path, content);
        }
        outcome
    }

    /// Stops unless the manifest that was just put is the newest one. Its number may have been that of
    /// another writer's claim, which a third one has removed (see [`crate::storage::open`]).
    fn expect_newest(&mut self, put: &Manifest) -> Result<()> {
        if self.claim.is_locked {
            return Ok(());
        }
        match self.newest_once_known() {
            Ok(newest) if newest == Some(put.number) => Ok(()),
            Ok(newest) => {
                let newest = newest.map_or("none".into(), manifest::path);
                Err(self.stop(format!("another writer holds the store, found by `{newest}`")))
            }
            Err(fault) => {
                Err(self.stop(format!("whether another writer holds the store is not known: {fault}")))
            }
        }
    }

    /// Writes a set of hidden rows under a number that was never given and never will be: a writer that
    /// was replaced may still remove what it knew by name.
    fn write_hidden(&self, segment: &SegmentRecord, rows: &RoaringBitmap) -> Result<DeletionVectorRecord> {
        let mut content = Vec::with_capacity(rows.serialized_size());
        let path = segment.deletion_vector_path(0);
        rows.serialize_into(&mut content).map_err(|fault| Error::storage(&path, fault))?;
        let file = FileRecord::of(&content);
        // The time, then chance.
        let number = u64::try_from(Ulid::generate().0 >> 64).expect("the upper half");
        match put_verified(self.objects.as_ref(), &segment.deletion_vector_path(number), &content.into()) {
            PutOutcome::Created => Ok(DeletionVectorRecord { number, rows: rows.len(), file }),
            PutOutcome::Conflict => Err(Error::storage(path, "another set of hidden rows has the number")),
            PutOutcome::NotCreated(fault) | PutOutcome::Unknown(fault) => Err(fault),
        }
    }

    /// Answers once what nothing needs any more is removed.
    pub(crate) fn answer_after_removal<T: Send + 'static>(
        &self,
        answer: Sender<Result<T>>,
        outcome: Result<T>,
    ) {
        self.removal.then(move || {
            let _gone = answer.send(outcome);
        });
    }

    /// Has removed what `previous` needed and the present manifest does not. What cannot be removed now is
    /// removed when the store is opened next. Snapshots that are held keep their files open.
    fn remove_what_only(&self, previous: &Manifest) {
        let now = &self.state.manifest;
        let needed: HashSet<String> = now.segments.iter().flat_map(SegmentRecord::paths).collect();
        let segments = previous.segments.iter().flat_map(SegmentRecord::paths);
        let folded = previous.wal_checkpoint + 1..=now.wal_checkpoint;
        let stays = |number: &u64| *number == self.claim.fence || self.claim.fences.contains(number);
        let folded = folded.filter(|number| !stays(number)).map(wal::path);
        let manifest = Some(previous.number).filter(|number| *number != self.claim.manifest);
        let unneeded = segments.filter(|path| !needed.contains(path)).chain(folded);
        self.removal.objects(unneeded.chain(manifest.map(manifest::path)).collect());
        let live: HashSet<&str> = now.segments.iter().map(|segment| segment.id.as_str()).collect();
        let gone = previous.segments.iter().filter(|segment| !live.contains(segment.id.as_str()));
        self.removal.indexes(gone.map(|segment| segment.id.clone()).collect());
    }
}

impl Sealed {
    /// Hides rows of this segment, now and after a crash.
    pub(crate) fn hide(&mut self, rows: &RoaringBitmap) {
        if !rows.is_empty() {
            *Arc::make_mut(&mut self.durably_hidden) |= rows;
            *Arc::make_mut(&mut self.hidden) |= rows;
        }
    }
}
