//! Opening a store: claims it, recovers its state, and sweeps it.
//!
//! 1. The newest manifest is read, its segments are opened, and the WAL after its checkpoint is replayed in
//!    order. A replay rejects nothing, because everything was validated before it was written. Damage and
//!    newer formats are rejected here, before anything is written.
//! 2. The next manifest is created with a fresh writer id, then the next WAL object as a fence. From here on,
//!    any earlier writer finds its next number taken and stops. If it wrote during our read, we restart with
//!    the newer manifest, and the WAL is replayed up to the fence.
//! 3. Objects that the manifest does not name are deleted at once, or after the linger time.
//!
//! # Why there is one writer, without a lock
//!
//! The storage must guarantee two things only: a conditional create succeeds once, and later reads and
//! listings return existing objects. No clock is trusted. A request may arrive any time after it was sent,
//! even if its sender has given up. See `docs/reference/storage.md#one-writer`.
//!
//! - **WAL.** A writer puts one number at a time. The later of two claims lists the WAL after its manifest
//!   exists. It either finds the last put of the earlier writer and replays it, or its fence takes that
//!   number. So the next number of every replaced writer is a fence. Fences are kept forever (56 bytes per
//!   opening), so a put that was sent before several claims still finds its number taken. Therefore
//!   everything acknowledged is below a fence of the next claim, which replays it.
//! - **Manifests.** The newest manifest is never deleted, and a new one only follows the newest. Older claims
//!   may be deleted, so the number of a replaced writer may be free again. Therefore a writer that has put a
//!   manifest checks that it is the newest ([`crate::storage::committer`]) before acting on it. If it is the
//!   newest, any later claim builds on it. If it is not, nothing was deleted because of it.
//! - **Deletions.** A sweep first lists objects, then reads the number of the newest manifest, so its list
//!   has no object of a later claim. The name of a segment or of a deletion vector is never reused. So a late
//!   deletion by name never hits an object that another writer has created since.
//! - **Overlapping openings.** An opening that finds a newer claim gives up. It may have put its fence after
//!   the fence of the newer claim. The newer claim finds that fence at its next number and steps over it,
//!   because an opening that was overtaken never acknowledged anything.

use std::collections::BTreeSet;

use ulid::Ulid;

use crate::error::{Error, Result};
use crate::storage::manifest::quarantined::QuarantinedWal;
use crate::storage::manifest::{self, Manifest, expect_no_objects};
use crate::storage::objects::{Objects, PutError, PutOutcome, put_verified};
use crate::storage::options::Options;
use crate::storage::segment::indexes::cache::IndexCache;
use crate::storage::snapshot::Snapshot;
use crate::storage::state::StoreState;
use crate::storage::state::claim::{self, Claim};
use crate::storage::state::open_segments::open_segments;
use crate::storage::state::replay::replay;
use crate::storage::state::sweep::sweep_manifests;
use crate::storage::wal;

/// The maximum number of other writers that may take a number between our listing and our put.
const MAX_TRIES: usize = 64;

/// Claims the store and returns its state. `is_locked`: the operating system excludes other writers.
///
/// # Errors
/// [`Error::Damage`] with the missing or changed object, [`Error::Options`] for a newer format or a storage
/// without conditional create, [`Error::Locked`] if others claim the store meanwhile, [`Error::Storage`].
pub(crate) fn recover(
    objects: &dyn Objects,
    options: &Options,
    is_locked: bool,
) -> Result<(Claim, StoreState)> {
    let writer = Ulid::generate();
    for _ in 0..MAX_TRIES {
        let newest = match Manifest::newest(objects)? {
            Some(newest) => newest,
            None if options.existing => Manifest::newest_of_store(objects)?,
            None => expect_no_objects(objects).map(|()| Manifest::default())?,
        };
        let mut state = match read_state(objects, newest.clone(), options) {
            Ok(state) => state,
            // The previous writer may have flushed and deleted the missing object.
            Err(_) if newest.is_superseded(objects) => continue,
            Err(error) => return Err(error),
        };
        state.manifest.number += 1;
        state.manifest.writer = writer.to_string();
        state.manifest.wal_through = state.wal_through();
        let (path, content) = (manifest::path(state.manifest.number), state.manifest.encode().into());
        match put_verified(objects, &path, &content) {
            PutOutcome::Created => {}
            PutOutcome::Conflict => continue,
            // Another claim had the number, and a newer one deleted it before it could be read.
            PutOutcome::Unknown(_) if newest.is_superseded(objects) => continue,
            PutOutcome::NotCreated(error) | PutOutcome::Unknown(error) => return Err(error),
        }
        let claimed = state.manifest.clone();
        // The number was free again, because other writers have used it since the newest manifest was read.
        if claimed.is_superseded(objects) {
            continue;
        }
        // If there is a newer claim, it has deleted the missing object.
        return take_over(objects, state, writer, options, is_locked)
            .map_err(|error| if claimed.is_superseded(objects) { claim::superseded() } else { error });
    }
    Err(Error::Locked("others keep claiming the store".into()))
}

/// Completes the claim after its manifest is durable: puts the fence, replays up to it, and sweeps.
fn take_over(
    objects: &dyn Objects,
    mut state: StoreState,
    writer: Ulid,
    options: &Options,
    is_locked: bool,
) -> Result<(Claim, StoreState)> {
    expect_conditional_create(objects, &state.manifest)?;
    let fence = put_fence(objects, writer, state.manifest.wal_through)?;
    replay(objects, &mut state, fence, options)?;
    state.quarantined_wal = QuarantinedWal::all_of(objects, &state.manifest)?.into();
    let fences = if is_locked { BTreeSet::new() } else { std::mem::take(&mut state.fences) };
    let claim = Claim { writer, manifest: state.manifest.number, fence, fences, is_locked };
    let superseded = sweep_manifests(objects, &state.manifest, &claim)?;
    if options.linger().is_zero() {
        superseded.iter().try_for_each(|path| objects.delete(path))?;
    } else {
        state.superseded = superseded;
    }
    IndexCache::of(options).sweep(state.manifest.segments.iter().map(|segment| segment.id.as_str()))?;
    Ok((claim, state))
}

/// Rejects a storage that overwrites an existing object in a conditional create, because it cannot
/// distinguish two writers. The put has the same content as the existing object, so an overwrite does no
/// harm.
fn expect_conditional_create(objects: &dyn Objects, claimed: &Manifest) -> Result<()> {
    match objects.put_new(&manifest::path(claimed.number), claimed.encode().into()) {
        Err(PutError::Exists) => Ok(()),
        Err(PutError::Failed(error) | PutError::NotSynced(error)) => Err(error),
        Ok(()) => Err(Error::Options(
            "the storage creates an object although there is one of its name: it does not honour \
             `If-None-Match`, so two writers would destroy each other's data"
                .into(),
        )),
    }
}

/// Returns the current state of a store that another process may be writing to. Writes nothing.
///
/// # Errors
/// The errors of [`recover`]; [`Error::Options`] if there is no store, [`Error::Busy`] if the store changes
/// faster than it can be read.
pub(crate) fn open_read_only(objects: &dyn Objects, options: &Options) -> Result<Snapshot> {
    for _ in 0..MAX_TRIES {
        let newest = Manifest::newest_of_store(objects)?;
        match read_state(objects, newest.clone(), options) {
            Ok(state) => return Ok(state.snapshot()),
            Err(_) if newest.is_superseded(objects) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::Busy("the store changes faster than it can be read".into()))
}

/// Returns the state of `manifest` and the WAL after it. Writes nothing.
fn read_state(objects: &dyn Objects, mut manifest: Manifest, options: &Options) -> Result<StoreState> {
    options.progress.begin(manifest.segments.len() as u64);
    let segments = open_segments(objects, &mut manifest, options, &[])?;
    let newest = wal::newest(objects, manifest.wal_through)?;
    options.progress.expect(newest.saturating_sub(manifest.wal_checkpoint));
    let mut state = StoreState::new(manifest, segments);
    replay(objects, &mut state, newest, options)?;
    Ok(state)
}

/// Takes the next WAL number with an empty object.
fn put_fence(objects: &dyn Objects, writer: Ulid, wal_through: u64) -> Result<u64> {
    let first = wal::newest(objects, wal_through)? + 1;
    for number in first..first + MAX_TRIES as u64 {
        let path = wal::path(number);
        match put_verified(objects, &path, &wal::encode(number, writer, &[])) {
            PutOutcome::Created => return Ok(number),
            // The previous writer has put it in the meantime. It is replayed like any other object.
            PutOutcome::Conflict => {}
            PutOutcome::NotCreated(error) | PutOutcome::Unknown(error) => return Err(error),
        }
    }
    Err(Error::Locked("another writer is writing to the store".into()))
}
