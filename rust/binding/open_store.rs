//! What the Python class `TraceStore` holds: a store that it writes to or follows, or the state of one that it reads.

use std::sync::Arc;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::storage::objects::store_folder::store_at;
use crate::storage::{Changes, Follower, Options, Snapshot, Stats, TraceStore};

/// How the store is open.
pub(super) enum OpenStore {
    /// As its single writer.
    Writer(TraceStore),
    /// As one of its readers.
    Follower(Follower),
    /// As a snapshot, which another process may have moved past.
    Reader(Arc<Snapshot>),
}

impl OpenStore {
    /// Opens the store at `url` as its writer, with options as JSON. `progress` counts the objects that are read.
    ///
    /// # Errors
    /// As [`store_at`], [`TraceStore::open`].
    pub(super) fn open(url: &str, options: Option<&[u8]>, progress: Progress) -> Result<Self> {
        TraceStore::open(&store_at(url)?, Options { progress, ..options_of(options)? }).map(Self::Writer)
    }

    /// Follows the store at `url`, with options as JSON.
    ///
    /// # Errors
    /// As [`store_at`], [`TraceStore::follow`].
    pub(super) fn follow(url: &str, options: Option<&[u8]>) -> Result<Self> {
        TraceStore::follow(&store_at(url)?, options_of(options)?).map(Self::Follower)
    }

    /// Opens the present state of the store at `url` for reading. `progress` counts the objects that are read.
    ///
    /// # Errors
    /// As [`store_at`], [`TraceStore::open_read_only_watched`].
    pub(super) fn read(url: &str, progress: &Progress) -> Result<Self> {
        TraceStore::open_read_only_watched(&store_at(url)?, progress).map(Self::Reader)
    }

    /// Returns the state to answer from.
    ///
    /// # Errors
    /// As [`TraceStore::present`], [`Follower::present`].
    pub(super) fn present(&self) -> Result<Arc<Snapshot>> {
        match self {
            Self::Writer(store) => store.present(),
            Self::Follower(follower) => follower.present(),
            Self::Reader(snapshot) => Ok(snapshot.clone()),
        }
    }

    /// Returns the answer of the present state. If it cannot be read because the writer has removed what it merged or
    /// deleted since, returns that of the newest state.
    ///
    /// # Errors
    /// Those of `ask`; as [`OpenStore::present`].
    pub(super) fn answer<T>(&self, ask: impl Fn(&Snapshot) -> Result<T>) -> Result<T> {
        let snapshot = self.present()?;
        let answer = ask(&snapshot);
        match self.successor_of(&snapshot, &answer)? {
            Some(newest) => ask(&newest),
            None => answer,
        }
    }

    /// Returns the newest state, if an answer of `snapshot` failed because it cannot be read any more.
    ///
    /// # Errors
    /// As [`OpenStore::present`].
    pub(super) fn successor_of<T>(
        &self,
        snapshot: &Snapshot,
        answer: &Result<T>,
    ) -> Result<Option<Arc<Snapshot>>> {
        if !matches!(answer, Err(Error::Busy(_) | Error::Damage { .. } | Error::Storage { .. })) {
            return Ok(None);
        }
        if let Self::Follower(follower) = self {
            // What cannot be refreshed cannot be answered better either.
            let _as_it_was = follower.refresh();
        }
        let newest = self.present()?;
        Ok((!newest.has_segments_of(snapshot)).then_some(newest))
    }

    /// Returns the state as it is known, whoever holds the store.
    pub(super) fn known(&self) -> Arc<Snapshot> {
        match self {
            Self::Writer(store) => store.snapshot(),
            Self::Follower(follower) => follower.snapshot(),
            Self::Reader(snapshot) => snapshot.clone(),
        }
    }

    /// Returns which traces change; none do in a store that is open for reading.
    pub(super) fn changes(&self) -> Arc<Changes> {
        match self {
            Self::Writer(store) => store.changes(),
            Self::Follower(follower) => follower.changes(),
            Self::Reader(_) => Arc::default(),
        }
    }

    /// Returns up to when everything is known, if the store is followed and was read.
    pub(super) fn as_of(&self) -> Option<i64> {
        if let Self::Follower(follower) = self { follower.as_of() } else { None }
    }

    /// Reads what is new; a store that is not followed has nothing to read.
    ///
    /// # Errors
    /// As [`Follower::refresh`].
    pub(super) fn refresh(&self) -> Result<()> {
        if let Self::Follower(follower) = self { follower.refresh() } else { Ok(()) }
    }

    /// Returns the statistics.
    ///
    /// # Errors
    /// [`Error::Options`] of a snapshot.
    pub(super) fn stats(&self) -> Result<Stats> {
        if let Self::Follower(follower) = self { Ok(follower.stats()) } else { Ok(self.writer()?.stats()) }
    }

    /// Closes the store.
    ///
    /// # Errors
    /// [`Error::Stopped`] if one of its threads had died.
    pub(super) fn close(&self) -> Result<()> {
        match self {
            Self::Writer(store) => store.close(),
            Self::Follower(follower) => follower.close(),
            Self::Reader(_) => Ok(()),
        }
    }

    /// Returns the store.
    ///
    /// # Errors
    /// [`Error::Options`] if it is open for reading only.
    pub(super) fn writer(&self) -> Result<&TraceStore> {
        match self {
            Self::Writer(store) => Ok(store),
            Self::Follower(_) | Self::Reader(_) => {
                Err(Error::Options("the store was opened for reading only".into()))
            }
        }
    }
}

/// Returns a report about `object` as JSON.
///
/// # Errors
/// None for reports that can be written as JSON.
pub(super) fn as_json(object: &str, report: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(report).map_err(|error| Error::storage(object, error))
}

fn options_of(json: Option<&[u8]>) -> Result<Options> {
    serde_json::from_slice(json.unwrap_or(b"{}"))
        .map_err(|error| Error::Options(format!("expected store options as JSON: {error}")))
}
