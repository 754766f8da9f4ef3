//! The claim: the proof that one writer owns a store. See `docs/reference/storage.md#claim`.

use std::collections::BTreeSet;

use ulid::Ulid;

use crate::error::Error;
use crate::storage::wal;

/// The numbers with which this writer claimed the store. Their objects are kept while it lives. A writer that
/// was suspended during the claim then still finds these numbers taken.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub(crate) writer: Ulid,
    pub(crate) manifest: u64,
    pub(crate) fence: u64,
    /// The fences of other writers that were found since this writer opened the store.
    pub(crate) fences: BTreeSet<u64>,
    /// True if the operating system excludes other writers. Then their fences are not needed.
    pub(crate) is_locked: bool,
}

impl Claim {
    /// Returns `true` if an old manifest must be kept because this writer claimed the store with it. With a
    /// lock it is not kept, because a store that has lost its newest manifest must not open with an older
    /// one.
    pub(crate) fn keeps_manifest(&self, number: u64) -> bool {
        !self.is_locked && number == self.manifest
    }

    /// Returns `true` if a WAL object at or below the checkpoint must be kept as a fence.
    pub(crate) fn keeps(&self, number: u64, bytes: u64) -> bool {
        number == self.fence || (!self.is_locked && bytes == wal::FENCE_BYTES)
    }
}

/// Returns the message of a replaced writer, which found another writer's object at `path`.
pub(crate) fn superseded_by(path: &str) -> String {
    format!("another writer holds the store, found by `{path}`")
}

/// Returns the error of a writer that finds a newer claim.
pub(crate) fn superseded() -> Error {
    Error::Locked("another writer has claimed the store".into())
}
