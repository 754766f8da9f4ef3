//! Deleting every object that is not needed.

use std::collections::HashSet;

use crate::error::Result;
use crate::storage::manifest::{self, Manifest, SegmentRecord};
use crate::storage::objects::{ListedObject, Objects};
use crate::storage::state::claim::{self, Claim};
use crate::storage::wal;

/// Deletes every object that neither the manifest nor the claim needs, unfinished ones included.
///
/// # Errors
/// As [`sweep_manifests`].
pub(crate) fn sweep(objects: &dyn Objects, manifest: &Manifest, claim: &Claim) -> Result<()> {
    sweep_manifests(objects, manifest, claim)?.iter().try_for_each(|path| objects.delete(path))
}

/// Deletes the manifests that are not needed, and returns the paths of the other objects that are not.
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
    // Manifests are listed last: what a later claim creates is then not in the lists above.
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
