//! The claim by which one writer owns a store; see `docs/reference/storage.md#claim`.

use std::collections::BTreeSet;

use ulid::Ulid;

use crate::error::Error;
use crate::storage::wal;

/// The numbers with which this writer claimed the store. Their objects are kept while it lives, so that a writer that
/// slept through the claim still finds these numbers taken.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub(crate) writer: Ulid,
    pub(crate) manifest: u64,
    pub(crate) fence: u64,
    /// The fences of other writers that were found since this writer opened the store.
    pub(crate) fences: BTreeSet<u64>,
    /// Whether the operating system keeps other writers out, so that their fences are not needed.
    pub(crate) is_locked: bool,
}

impl Claim {
    /// Whether a manifest that is not the newest stays because this writer claimed the store with it. Where a lock keeps
    /// other writers out it does not: a store that has lost its newest manifest must not open with an older one.
    pub(crate) fn keeps_manifest(&self, number: u64) -> bool {
        !self.is_locked && number == self.manifest
    }

    /// Whether a WAL object at or below the checkpoint stays because it is a fence.
    pub(crate) fn keeps(&self, number: u64, bytes: u64) -> bool {
        number == self.fence || (!self.is_locked && bytes == wal::FENCE_BYTES)
    }
}

/// Returns how a writer that was replaced found that out: by the object at `path`, which is another's.
pub(crate) fn superseded_by(path: &str) -> String {
    format!("another writer holds the store, found by `{path}`")
}

/// Returns the error of a writer that finds a newer claim than its own.
pub(crate) fn superseded() -> Error {
    Error::Locked("another writer has claimed the store".into())
}
