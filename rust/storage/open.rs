//! Opening: the store is claimed, swept, and brought to where it was.
//!
//! 1. The newest manifest is read, its segments are opened, and the write-ahead after
//!    `wal_folded_through` is replayed in order. A replay refuses nothing: what is written was
//!    validated. Damage and newer formats are refused here, before anything is written.
//! 2. The next manifest is created with a fresh writer id, then the next write-ahead object as a
//!    fence. From here on whoever wrote before finds its next number taken and stops. If it wrote
//!    while we read, a manifest makes us begin again, and write-ahead is replayed up to the fence.
//! 3. Objects that the manifest does not name are removed.
//!
//! # Why there is one writer, where no lock says so
//!
//! All that is asked of the storage: a create with a condition happens once, what is there is read and
//! listed by whoever asks later. No clock is trusted, and any request may arrive any time after it was
//! sent, given up by its sender or not.
//!
//! - **Write-ahead.** A writer puts one number at a time. Of two claims the later one lists after its
//!   manifest is there: either it finds what the writer before has put, and replays it, or its fence has
//!   that very number. So the next number of every writer that was replaced is a fence. Fences stay for
//!   ever (56 bytes an opening), so a put that was sent before two claims, or twenty, still finds its number
//!   taken. What was acknowledged is therefore below a fence of the next claim, and replayed by it.
//! - **Manifests.** The newest manifest is never removed, and a new one only follows what was the newest.
//!   Claims that are older may be removed, so the number of a writer that was replaced may be free again.
//!   Whoever has put a manifest therefore looks whether it is the newest ([`crate::storage::committer::manifest_commit`]) before it
//!   acts on it. If it was, whoever claims later builds on it; if not, nothing was removed because of it.
//! - **Removal.** A sweep lists first and looks at the newest manifest after that: what a later claim
//!   creates is not in its list. The name of a segment or of hidden rows is never given twice, so what is
//!   removed late, by name, is never what another writer has made since.
//! - **Openings that overlap.** An opening that finds a newer claim gives up. It may have put its fence
//!   after the newer claim did; that one finds the fence at its next number and steps over it
//!   ([`crate::storage::committer::wal_conflict`]), for an opening that was overtaken never acknowledges.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use ulid::Ulid;

use crate::error::{Error, Result};
use crate::otlp::wire;
use crate::storage::committer::Claim;
use crate::storage::manifest::{self, Manifest, SegmentRecord};
use crate::storage::objects::{ListedObject, Objects, PutError, PutOutcome, put_verified};
use crate::storage::options::Options;
use crate::storage::segment::index_cache::IndexCache;
use crate::storage::snapshot::Snapshot;
use crate::storage::state::State;
use crate::storage::state::merge_spans::{Arrival, gather};
use crate::storage::state::open_segments::open_segments;
use crate::storage::wal;
use crate::trace::Span;

/// So many writers may take a number between our look and our try.
const TRIES: usize = 64;

/// Replayed requests are merged in groups of about this size.
const GROUP_BYTES: usize = 16 << 20;

/// Claims the store and returns its state. `is_locked`: the operating system keeps other writers out.
///
/// # Errors
/// [`Error::Damage`] naming the object that is missing or not what was written, [`Error::Options`]
/// for a newer format or a storage without conditional create, [`Error::Locked`] if others claim the
/// store meanwhile, [`Error::Storage`].
pub(crate) fn recover(objects: &dyn Objects, options: &Options, is_locked: bool) -> Result<(Claim, State)> {
    let writer = Ulid::generate();
    for _ in 0..TRIES {
        let newest = match Manifest::newest(objects)? {
            Some(newest) => newest,
            None if options.existing => {
                return Err(Error::Options("expected a store, found no manifest".into()));
            }
            None => first_manifest(objects)?,
        };
        let mut state = match read_state(objects, newest.clone(), options) {
            Ok(state) => state,
            // What we miss may have been folded meanwhile by the writer before us.
            Err(_) if newest.is_superseded(objects) => continue,
            Err(fault) => return Err(fault),
        };
        state.manifest.number += 1;
        state.manifest.writer = writer.to_string();
        let (path, content) = (manifest::path(state.manifest.number), state.manifest.encode().into());
        match put_verified(objects, &path, &content) {
            PutOutcome::Created => {}
            PutOutcome::Conflict => continue,
            // Another claim had the number, and was removed by a newer one before it could be read.
            PutOutcome::Unknown(_) if newest.is_superseded(objects) => continue,
            PutOutcome::NotCreated(fault) | PutOutcome::Unknown(fault) => return Err(fault),
        }
        let claimed = state.manifest.clone();
        // Whatever is missing now, another claim has let go of.
        return take_over(objects, state, writer, options, is_locked)
            .map_err(|fault| if claimed.is_superseded(objects) { replaced() } else { fault });
    }
    Err(Error::Locked("others keep claiming the store".into()))
}

fn replaced() -> Error {
    Error::Locked("another writer has claimed the store".into())
}

/// Makes a store one's own whose newest manifest is one's own.
fn take_over(
    objects: &dyn Objects,
    mut state: State,
    writer: Ulid,
    options: &Options,
    is_locked: bool,
) -> Result<(Claim, State)> {
    refuse_unconditional(objects, &state.manifest)?;
    let fence = put_fence(objects, writer, state.manifest.wal_checkpoint)?;
    replay(objects, &mut state, fence, options)?;
    let fences = if is_locked { BTreeSet::new() } else { std::mem::take(&mut state.fences) };
    let claim = Claim { writer, manifest: state.manifest.number, fence, fences, is_locked };
    sweep(objects, &state.manifest, &claim)?;
    IndexCache::of(options).sweep(state.manifest.segments.iter().map(|segment| segment.id.as_str()))?;
    Ok((claim, state))
}

/// Refuses a storage that takes what must not be there a second time: it could not tell two writers
/// apart. What it is offered is what is there already.
fn refuse_unconditional(objects: &dyn Objects, claimed: &Manifest) -> Result<()> {
    match objects.put_new(&manifest::path(claimed.number), claimed.encode().into()) {
        Err(PutError::Exists) => Ok(()),
        Err(PutError::Failed(fault)) => Err(fault),
        Ok(()) => Err(Error::Options(
            "the storage creates an object although there is one of its name: it does not honour \
             `If-None-Match`, so two writers would destroy each other's data"
                .into(),
        )),
    }
}

/// Returns the present state of a store that may be at work in another process, writing nothing.
///
/// # Errors
/// As [`recover`]; [`Error::Options`] if there is no store, [`Error::Busy`] if the store moves on faster
/// than it can be read.
pub(crate) fn look(objects: &dyn Objects, options: &Options) -> Result<Snapshot> {
    for _ in 0..TRIES {
        let Some(newest) = Manifest::newest(objects)? else {
            return Err(Error::Options("expected a store, found no manifest".into()));
        };
        match read_state(objects, newest.clone(), options) {
            Ok(state) => return Ok(state.snapshot()),
            Err(_) if newest.is_superseded(objects) => {}
            Err(fault) => return Err(fault),
        }
    }
    Err(Error::Busy("the store moves on faster than it can be read".into()))
}

/// Reads what `manifest` and the write-ahead after it say, writing nothing.
fn read_state(objects: &dyn Objects, mut manifest: Manifest, options: &Options) -> Result<State> {
    let sealed = open_segments(objects, &mut manifest, options)?;
    let newest = wal::newest(objects, manifest.wal_checkpoint)?;
    let mut state = State::new(manifest, sealed);
    replay(objects, &mut state, newest, options)?;
    Ok(state)
}

/// Returns the manifest of a store that is new, and not one that lost its manifests.
fn first_manifest(objects: &dyn Objects) -> Result<Manifest> {
    let mut present = objects.list("wal")?;
    present.extend(objects.list("segments")?);
    match present.first() {
        None => Ok(Manifest::default()),
        Some(object) => {
            let message = format!("there is no manifest, but `{}`", object.path);
            Err(Error::damage(manifest::path(1), 0, message))
        }
    }
}

/// Takes the next write-ahead number with an object that holds nothing.
fn put_fence(objects: &dyn Objects, writer: Ulid, folded_through: u64) -> Result<u64> {
    let first = wal::newest(objects, folded_through)? + 1;
    for number in first..first + TRIES as u64 {
        let path = wal::path(number);
        match put_verified(objects, &path, &wal::encode(number, writer, &[])) {
            PutOutcome::Created => return Ok(number),
            // Written by the writer before us in the meantime; it is replayed like any other.
            PutOutcome::Conflict => {}
            PutOutcome::NotCreated(fault) | PutOutcome::Unknown(fault) => return Err(fault),
        }
    }
    Err(Error::Locked("another writer is at work in the store".into()))
}

/// Merges the write-ahead up to object `last` on top of what was merged before.
pub(crate) fn replay(objects: &dyn Objects, state: &mut State, last: u64, options: &Options) -> Result<()> {
    let (mut entries, mut group_bytes, mut object_bytes) = (Vec::new(), 0, 0);
    let numbers: Vec<u64> = (state.open_generation().wal_through + 1..=last).collect();
    let together = numbers.chunks(objects.read_concurrency());
    for found in together.flat_map(|numbers| wal::read_together(objects, numbers)) {
        let (object, bytes) = found?;
        let number = object.number;
        object_bytes += bytes;
        if object.entries.is_empty() {
            state.fences.insert(number);
        }
        for entry in object.entries {
            group_bytes += entry.spans.len();
            entries.push((number, entry));
        }
        if group_bytes < GROUP_BYTES && number < last {
            continue;
        }
        // `MAX_SPANS` was respected when these were accepted; it may have been another number then.
        let arrivals = std::mem::take(&mut entries).into_par_iter();
        let arrivals = arrivals.map(|(number, entry)| read_arrival(number, entry)).collect::<Result<_>>()?;
        let gathered = gather(state, arrivals, usize::MAX);
        gathered.outcomes.into_iter().try_for_each(|outcome| outcome.map(drop))?;
        state.apply(gathered.changes, number, object_bytes);
        (group_bytes, object_bytes) = (0, 0);
        let open = state.open_generation();
        if number < last && open.is_large(options) {
            state.cut();
        }
    }
    Ok(())
}

fn read_arrival(number: u64, entry: wal::Entry) -> Result<Arrival> {
    let damage = |fault: Error| Error::damage(wal::path(number), 0, fault.to_string());
    let spans = wire::split(entry.spans.clone()).map_err(damage)?;
    let spans = spans.into_iter().map(|span| Span::from_wire(span).map(Arc::new));
    let spans = spans.collect::<Result<Vec<_>>>().map_err(damage)?;
    Ok(Arrival::new(entry.received, spans, entry.spans))
}

/// Removes every object that neither the manifest nor the claim needs, unfinished ones included.
///
/// # Errors
/// [`Error::Locked`] if the store was claimed by another meanwhile, [`Error::Storage`].
pub(crate) fn sweep(objects: &dyn Objects, manifest: &Manifest, claim: &Claim) -> Result<()> {
    let (segments, wal) = (objects.list("segments")?, objects.list("wal")?);
    // In this order: what a later claim creates is not in the lists above.
    let manifests = objects.list("manifest")?;
    if manifests.iter().filter_map(|object| manifest::number_of(&object.path)).max() > Some(manifest.number) {
        return Err(replaced());
    }
    let aside = manifest.quarantined.iter().map(|record| &record.segment);
    let named = manifest.segments.iter().chain(aside);
    let live: HashSet<String> = named.flat_map(SegmentRecord::paths).collect();
    let is_needed = |object: &ListedObject| {
        let wal_number = wal::number_of(&object.path);
        live.contains(&object.path)
            || wal_number
                .is_some_and(|number| number > manifest.wal_checkpoint || claim.keeps(number, object.bytes))
            || manifest::number_of(&object.path)
                .is_some_and(|number| number == manifest.number || number == claim.manifest)
    };
    let present = [manifests, segments, wal];
    let mut unneeded = present.iter().flatten().filter(|object| !is_needed(object));
    unneeded.try_for_each(|object| objects.delete(&object.path))
}
