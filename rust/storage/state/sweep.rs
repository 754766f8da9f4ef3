//! Deletes every unneeded object.

use std::collections::HashSet;

use crate::error::Result;
use crate::storage::manifest::{self, Manifest, SegmentRecord};
use crate::storage::objects::{ListedObject, Objects};
use crate::storage::state::claim::{self, Claim};
use crate::storage::wal;

/// Deletes every object that neither the manifest nor the claim needs, including unfinished ones.
///
/// # Errors
/// The errors of [`sweep_manifests`].
pub(crate) fn sweep(objects: &dyn Objects, manifest: &Manifest, claim: &Claim) -> Result<()> {
    sweep_manifests(objects, manifest, claim)?.iter().try_for_each(|path| objects.delete(path))
}

/// Deletes the unneeded manifests, and returns the paths of the other unneeded objects.
///
/// # Errors
/// [`crate::error::Error::Locked`] if another writer has claimed the store meanwhile,
/// [`crate::error::Error::Storage`].
pub(crate) fn sweep_manifests(
    objects: &dyn Objects,
    manifest: &Manifest,
    claim: &Claim,
) -> Result<Vec<String>> {
    let (segments, wal) = (objects.list("segments")?, objects.list("wal")?);
    // Manifests are listed last, so that the lists above have no objects of a later claim.
    let manifests = objects.list("manifest")?;
    if manifests.iter().filter_map(|object| manifest::number_of(&object.path)).max() > Some(manifest.number) {
        return Err(claim::superseded());
    }
    let quarantined = manifest.quarantined.iter().map(|record| &record.segment);
    let named = manifest.segments.iter().chain(quarantined);
    let live: HashSet<String> = named.flat_map(SegmentRecord::paths).collect();
    let is_needed = |object: &ListedObject| {
        let wal_number = wal::number_of(&object.path);
        live.contains(&object.path)
            || wal_number.is_some_and(|number| {
                number > manifest.wal_checkpoint
                    || claim.keeps(number, object.bytes)
                    || manifest.quarantined_wal(number).is_some()
            })
            || manifest::number_of(&object.path)
                .is_some_and(|number| number == manifest.number || claim.keeps_manifest(number))
    };
    manifests
        .iter()
        .filter(|object| !is_needed(object))
        .try_for_each(|object| objects.delete(&object.path))?;
    let others = segments.into_iter().chain(wal).filter(|object| !is_needed(object));
    Ok(others.map(|object| object.path).collect())
}
