//! The store behind the Python class `TraceStore`: written, followed, or opened as a snapshot.

use std::sync::Arc;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::storage::objects::store_folder::store_at;
use crate::storage::{Changes, Follower, Options, Snapshot, Stats, TraceStore};

/// An open store, by access mode.
pub(super) enum OpenStore {
    /// The single writer.
    Writer(TraceStore),
    /// A follower.
    Follower(Follower),
    /// A snapshot, which may be outdated.
    Reader(Arc<Snapshot>),
}

impl OpenStore {
    /// Opens the store at `url` as its writer, with options as JSON. `progress` counts the objects that are
    /// read.
    ///
    /// # Errors
    /// The errors of [`store_at`] and [`TraceStore::open`].
    pub(super) fn open(url: &str, options: Option<&[u8]>, progress: Progress) -> Result<Self> {
        TraceStore::open(&store_at(url)?, Options { progress, ..options_of(options)? }).map(Self::Writer)
    }

    /// Follows the store at `url`, with options as JSON.
    ///
    /// # Errors
    /// The errors of [`store_at`] and [`TraceStore::follow`].
    pub(super) fn follow(url: &str, options: Option<&[u8]>) -> Result<Self> {
        TraceStore::follow(&store_at(url)?, options_of(options)?).map(Self::Follower)
    }

    /// Opens the current state of the store at `url` for reading. `progress` counts the objects that are
    /// read.
    ///
    /// # Errors
    /// The errors of [`store_at`] and [`TraceStore::open_read_only_watched`].
    pub(super) fn read(url: &str, progress: &Progress) -> Result<Self> {
        TraceStore::open_read_only_watched(&store_at(url)?, progress).map(Self::Reader)
    }

    /// Returns the state for searches.
    ///
    /// # Errors
    /// The errors of [`TraceStore::present`] and [`Follower::present`].
    pub(super) fn present(&self) -> Result<Arc<Snapshot>> {
        match self {
            Self::Writer(store) => store.present(),
            Self::Follower(follower) => follower.present(),
            Self::Reader(snapshot) => Ok(snapshot.clone()),
        }
    }

    /// Returns the result of `ask` on the current state. If that state is no longer readable because the
    /// writer has deleted merged or deleted data, the newest state is used.
    ///
    /// # Errors
    /// The errors of `ask` and of [`OpenStore::present`].
    pub(super) fn answer<T>(&self, ask: impl Fn(&Snapshot) -> Result<T>) -> Result<T> {
        let snapshot = self.present()?;
        let answer = ask(&snapshot);
        match self.successor_of(&snapshot, &answer)? {
            Some(newest) => ask(&newest),
            None => answer,
        }
    }

    /// Returns the newest state if an answer failed because `snapshot` is no longer readable.
    ///
    /// # Errors
    /// The errors of [`OpenStore::present`].
    pub(super) fn successor_of<T>(
        &self,
        snapshot: &Snapshot,
        answer: &Result<T>,
    ) -> Result<Option<Arc<Snapshot>>> {
        if !matches!(answer, Err(Error::Busy(_) | Error::Damage { .. } | Error::Storage { .. })) {
            return Ok(None);
        }
        if let Self::Follower(follower) = self {
            // If the refresh fails, the original error is the best answer.
            let _as_it_was = follower.refresh();
        }
        let newest = self.present()?;
        Ok((!newest.has_segments_of(snapshot)).then_some(newest))
    }

    /// Returns the state that this process knows, even if another process owns the store.
    pub(super) fn known(&self) -> Arc<Snapshot> {
        match self {
            Self::Writer(store) => store.snapshot(),
            Self::Follower(follower) => follower.snapshot(),
            Self::Reader(snapshot) => snapshot.clone(),
        }
    }

    /// Returns the changed traces; empty for a store that is open for reading.
    pub(super) fn changes(&self) -> Arc<Changes> {
        match self {
            Self::Writer(store) => store.changes(),
            Self::Follower(follower) => follower.changes(),
            Self::Reader(_) => Arc::default(),
        }
    }

    /// Returns the time through which the state is complete, if the store is followed and was read.
    pub(super) fn as_of(&self) -> Option<i64> {
        if let Self::Follower(follower) = self { follower.as_of() } else { None }
    }

    /// Reads new data of a followed store. Does nothing for other stores.
    ///
    /// # Errors
    /// The errors of [`Follower::refresh`].
    pub(super) fn refresh(&self) -> Result<()> {
        if let Self::Follower(follower) = self { follower.refresh() } else { Ok(()) }
    }

    /// Returns the statistics.
    ///
    /// # Errors
    /// [`Error::Options`] for a snapshot.
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

    /// Returns the store for writing.
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
/// [`Error::Storage`] if the report cannot be written as JSON.
pub(super) fn as_json(object: &str, report: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(report).map_err(|error| Error::storage(object, error))
}

fn options_of(json: Option<&[u8]>) -> Result<Options> {
    serde_json::from_slice(json.unwrap_or(b"{}"))
        .map_err(|error| Error::Options(format!("expected store options as JSON: {error}")))
}
