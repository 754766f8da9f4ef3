//! Opening: the store is claimed, swept, and brought to where it was.
//!
//! 1. The newest manifest is read, its segments are opened, and the write-ahead after
//!    `wal_folded_through` is replayed in order. A replay refuses nothing: what is written was
//!    validated. Damage and newer formats are refused here, before anything is written.
//! 2. The next manifest is created with a fresh writer id, then the next write-ahead object as a
//!    fence. From here on whoever wrote before finds its next number taken and stops. If it wrote
//!    while we read, a manifest makes us begin again, and write-ahead is replayed up to the fence.
//! 3. Objects that the manifest does not name are removed.

use std::collections::HashSet;
use std::sync::Arc;

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use ulid::Ulid;

use super::arrivals::{Arrival, gather};
use super::aside::open_segments;
use super::cache::Cache;
use super::commit::Claim;
use super::manifest::{self, Manifest, SegmentRecord};
use super::objects::{Objects, Put, put};
use super::options::Options;
use super::snapshot::Snapshot;
use super::state::State;
use super::wal;
use crate::error::{Error, Result};
use crate::otlp::wire;
use crate::trace::Span;

/// So many writers may take a number between our look and our try.
const TRIES: usize = 64;

/// Replayed requests are merged in groups of about this size.
const GROUP_BYTES: usize = 16 << 20;

/// Claims the store and returns its state.
///
/// # Errors
/// [`Error::Damage`] naming the object that is missing or not what was written, [`Error::Options`]
/// for a newer format, [`Error::Locked`] if others keep claiming the store, [`Error::Storage`].
pub(super) fn recover(objects: &dyn Objects, options: &Options) -> Result<(Claim, State)> {
    let writer = Ulid::generate();
    for _ in 0..TRIES {
        let newest = match Manifest::newest(objects)? {
            Some(newest) => newest,
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
        match put(objects, &manifest::path(state.manifest.number), &state.manifest.encode()) {
            Put::Done => {}
            Put::Taken => continue,
            Put::Absent(fault) | Put::Unknown(fault) => return Err(fault),
        }
        let fence = put_fence(objects, writer, state.manifest.wal_folded_through)?;
        replay(objects, &mut state, fence, options)?;
        let claim = Claim { writer, manifest: state.manifest.number, fence };
        sweep(objects, &state.manifest, &claim)?;
        Cache::of(options).sweep(state.manifest.segments.iter().map(|segment| segment.id.as_str()))?;
        return Ok((claim, state));
    }
    Err(Error::Locked("others keep claiming the store".into()))
}

/// Returns the present state of a store that may be at work in another process, writing nothing.
///
/// # Errors
/// As [`recover`]; [`Error::Options`] if there is no store, [`Error::Busy`] if the store moves on faster
/// than it can be read.
pub(super) fn look(objects: &dyn Objects, options: &Options) -> Result<Snapshot> {
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
    let newest = wal::newest(objects, manifest.wal_folded_through)?;
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
        match put(objects, &path, &wal::encode(number, writer, &[])) {
            Put::Done => return Ok(number),
            // Written by the writer before us in the meantime; it is replayed like any other.
            Put::Taken => {}
            Put::Absent(fault) | Put::Unknown(fault) => return Err(fault),
        }
    }
    Err(Error::Locked("another writer is at work in the store".into()))
}

/// Merges the write-ahead up to object `last` on top of what was merged before.
fn replay(objects: &dyn Objects, state: &mut State, last: u64, options: &Options) -> Result<()> {
    let (mut entries, mut group_bytes, mut object_bytes) = (Vec::new(), 0, 0);
    for number in state.open_generation().wal_through + 1..=last {
        let (object, bytes) = wal::read(objects, number)?;
        object_bytes += bytes;
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
        if number < last && (open.bytes >= options.seal_bytes || open.objects >= options.seal_objects) {
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
    Ok(Arrival { received: entry.received, spans, encoded: entry.spans })
}

/// Removes every object that neither the manifest nor the claim needs, unfinished ones included.
///
/// # Errors
/// [`Error::Locked`] if the store was claimed by another meanwhile, [`Error::Storage`].
pub(super) fn sweep(objects: &dyn Objects, manifest: &Manifest, claim: &Claim) -> Result<()> {
    let manifests = objects.list("manifest")?;
    if manifests.iter().filter_map(|object| manifest::number_of(&object.path)).max() > Some(manifest.number) {
        return Err(Error::Locked("another writer has claimed the store".into()));
    }
    let aside = manifest.aside.iter().map(|record| &record.segment);
    let named = manifest.segments.iter().chain(aside);
    let segments: HashSet<String> = named.flat_map(SegmentRecord::paths).collect();
    let is_needed = |path: &str| {
        segments.contains(path)
            || wal::number_of(path)
                .is_some_and(|number| number > manifest.wal_folded_through || number == claim.fence)
            || manifest::number_of(path)
                .is_some_and(|number| number == manifest.number || number == claim.manifest)
    };
    let present = [manifests, objects.list("segments")?, objects.list("wal")?];
    let mut unneeded = present.iter().flatten().filter(|object| !is_needed(&object.path));
    unneeded.try_for_each(|object| objects.delete(&object.path))
}
