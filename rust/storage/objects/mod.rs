//! Named, immutable objects: the storage interface of the store, for local folders and object stores.
//!
//! Every durable object is created once and never changed. Objects of `wal/` and `manifest/` are created by
//! one conditional put (`put_verified`). The files of a segment have unique names and are written as streams.

#[cfg(feature = "cloud")]
pub mod bucket;
pub mod local;
pub(crate) mod location;
pub(crate) mod lock;
pub(crate) mod metered;
pub mod single;
#[cfg_attr(not(feature = "python"), allow(dead_code, reason = "only users of Python name folders"))]
pub(crate) mod store_folder;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
/// The content of a put: a list of chunks that are written in order without copying.
pub use object_store::PutPayload;

use crate::error::{Error, Result};

/// The reason why an object was not created.
#[derive(Debug)]
pub enum PutError {
    /// An object with this name exists.
    Exists,
    /// The storage failed. It is unknown if the object was created.
    Failed(Error),
    /// A sync of this object or of an earlier one failed. Until the store is reopened, it is unknown which
    /// objects are durable, even if they can be read. The system may have dropped unwritten data.
    NotSynced(Error),
}

/// An entry of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedObject {
    /// The object's path, relative to the store.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Storage for objects. All calls block; paths are relative to the store.
pub trait Objects: Send + Sync + Debug {
    /// Creates an object unless an object with this name exists. The object is durable when this returns.
    /// After a failed sync, all further calls fail until the storage is reopened.
    ///
    /// # Errors
    /// [`PutError`].
    fn put_new(&self, path: &str, content: PutPayload) -> std::result::Result<(), PutError>;

    /// Returns the content of an object; `None` if it does not exist.
    ///
    /// # Errors
    /// [`Error::Storage`].
    fn get(&self, path: &str) -> Result<Option<Bytes>>;

    /// Returns all objects below `folder`, including unfinished ones, in no particular order.
    ///
    /// # Errors
    /// [`Error::Storage`].
    fn list(&self, folder: &str) -> Result<Vec<ListedObject>>;

    /// Removes an object. Succeeds if it does not exist.
    ///
    /// # Errors
    /// [`Error::Storage`].
    fn delete(&self, path: &str) -> Result<()>;

    /// Starts an object that is written as a stream.
    ///
    /// # Errors
    /// [`Error::Storage`].
    fn create(&self, path: &str) -> Result<Box<dyn ObjectWriter>>;

    /// Opens an object for random reads. It stays readable after its removal.
    ///
    /// # Errors
    /// [`Error::Damage`] if it does not exist, [`Error::Storage`].
    fn open(&self, path: &str) -> Result<Arc<dyn ObjectReader>>;

    /// Returns the free space in bytes; `None` if there is no known limit.
    ///
    /// # Errors
    /// [`Error::Storage`].
    fn free_bytes(&self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Returns `true` if the storage is still at the location where it was opened. Otherwise new objects
    /// would not be next to the earlier ones.
    ///
    /// # Errors
    /// [`Error::Storage`] if this is unknown.
    fn is_at_location(&self) -> Result<bool> {
        Ok(true)
    }

    /// Returns the minimum interval between two group commits.
    fn commit_interval(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns `true` if an object that can be read back is durable. This is false on a disk: after a failed
    /// `fsync` the content may only be in the page cache.
    fn reads_are_durable(&self) -> bool {
        false
    }

    /// Returns `true` if the indexes of segments are also stored as objects. This is useful if the cache is
    /// on another disk, because a machine with an empty cache would have to build them.
    fn keeps_indexes(&self) -> bool {
        false
    }

    /// Returns the number of objects to read concurrently; more than one if each read has a high latency.
    fn read_concurrency(&self) -> usize {
        1
    }
}

/// An object that is being written.
pub trait ObjectWriter: Send {
    /// Appends to the object.
    ///
    /// # Errors
    /// [`Error::Storage`].
    fn write(&mut self, content: &[u8]) -> Result<()>;

    /// Makes the object durable under its name.
    ///
    /// # Errors
    /// [`Error::Storage`].
    fn finish(self: Box<Self>) -> Result<()>;
}

/// An open object.
pub trait ObjectReader: Send + Sync + Debug {
    /// Returns the object's size in bytes.
    fn bytes(&self) -> u64;

    /// Fills `buffer` with the bytes at `offset`.
    ///
    /// # Errors
    /// [`Error::Damage`] if the object is too short, [`Error::Storage`].
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()>;

    /// Announces a read, so that the bytes can be prefetched.
    fn will_read(&self, _offset: u64, _length: u64) {}
}

/// The verified outcome of a conditional put (docs/reference/storage.md#one-writer).
#[derive(Debug)]
pub(crate) enum PutOutcome {
    /// The object is durable, and this writer created it.
    Created,
    /// Another writer's object has this name. That writer has replaced this one.
    Conflict,
    /// The object was not created.
    NotCreated(Error),
    /// It is unknown if the object was created. No more requests may be acknowledged.
    Unknown(Error),
}

/// Creates an object. After an error, reads it back to determine if it was created. `content` names its
/// writer, so an object with the same bytes is this writer's own.
pub(crate) fn put_verified(objects: &dyn Objects, path: &str, content: &PutPayload) -> PutOutcome {
    let is_own = |present: &Bytes| *present == Bytes::from(content.clone());
    match objects.put_new(path, content.clone()) {
        Ok(()) => PutOutcome::Created,
        Err(PutError::Exists) => match objects.get(path) {
            Ok(Some(present)) if is_own(&present) => PutOutcome::Created,
            Ok(Some(_)) => PutOutcome::Conflict,
            Ok(None) => PutOutcome::Unknown(Error::storage(path, "exists, but cannot be read back")),
            Err(error) => PutOutcome::Unknown(error),
        },
        Err(PutError::NotSynced(error)) => PutOutcome::Unknown(error),
        Err(PutError::Failed(error)) => match objects.get(path) {
            Ok(None) => PutOutcome::NotCreated(error),
            Ok(Some(present)) if !is_own(&present) => PutOutcome::Conflict,
            Ok(Some(_)) | Err(_) => PutOutcome::Unknown(error),
        },
    }
}
