//! What the Python class `TraceStore` holds: a store that it writes to, or the state of one that it reads.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::storage::{Changes, Snapshot, TraceStore};

/// How the store is open.
pub(super) enum OpenStore {
    /// As its single writer.
    Writer(TraceStore),
    /// As a snapshot, which another process may have moved past.
    Reader(Arc<Snapshot>),
}

impl OpenStore {
    /// Returns the state to answer from.
    ///
    /// # Errors
    /// As [`TraceStore::present`].
    pub(super) fn present(&self) -> Result<Arc<Snapshot>> {
        match self {
            Self::Writer(store) => store.present(),
            Self::Reader(snapshot) => Ok(snapshot.clone()),
        }
    }

    /// Returns the state as it is known, whoever holds the store.
    pub(super) fn known(&self) -> Arc<Snapshot> {
        match self {
            Self::Writer(store) => store.snapshot(),
            Self::Reader(snapshot) => snapshot.clone(),
        }
    }

    /// Returns which traces change; none do in a store that is open for reading.
    pub(super) fn changes(&self) -> Arc<Changes> {
        match self {
            Self::Writer(store) => store.changes(),
            Self::Reader(_) => Arc::default(),
        }
    }

    /// Returns the store.
    ///
    /// # Errors
    /// [`Error::Options`] if it is open for reading only.
    pub(super) fn writer(&self) -> Result<&TraceStore> {
        match self {
            Self::Writer(store) => Ok(store),
            Self::Reader(_) => Err(Error::Options("the store was opened for reading only".into())),
        }
    }
}
