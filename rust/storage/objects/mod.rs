//! Named, immutable objects: the interface that the store needs of a local folder or an object store.
//!
//! Every durable object is created once and never changed. Objects of `wal/` and `manifest/` are created by one
//! conditional put (`put_verified`); the files of a segment, whose names are unique, are written as streams.

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
/// The content of a put: a list of chunks that are written in order without being copied.
pub use object_store::PutPayload;

use crate::error::{Error, Result};

/// Why an object was not created.
#[derive(Debug)]
pub enum PutError {
    /// An object of this name exists.
    Exists,
    /// The storage failed. Whether the object was created is not known.
    Failed(Error),
    /// A sync failed, of this object or of an earlier one. What is durable is not known until the store is opened again,
    /// whatever can be read: the system may have dropped what it could not write.
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
    /// Creates an object unless one of this name exists. It is durable once this returns. After a sync has failed this
    /// fails until the storage is opened again.
    ///
    /// # Errors
    /// [`PutError`].
    fn put_new(&self, path: &str, content: PutPayload) -> std::result::Result<(), PutError>;

    /// Returns the content of an object, or `None` if there is none of this name.
    ///
    /// # Errors
    /// [`Error::Storage`].
    fn get(&self, path: &str) -> Result<Option<Bytes>>;

    /// Returns all objects below `folder`, unfinished ones included, in no particular order.
    ///
    /// # Errors
    /// [`Error::Storage`].
    fn list(&self, folder: &str) -> Result<Vec<ListedObject>>;

    /// Removes an object. Succeeds if there is none of this name.
    ///
    /// # Errors
    /// [`Error::Storage`].
    fn delete(&self, path: &str) -> Result<()>;

    /// Starts an object that is written as a stream.
    ///
    /// # Errors
    /// [`Error::Storage`].
    fn create(&self, path: &str) -> Result<Box<dyn ObjectWriter>>;

    /// Opens an object for random reads. It stays readable after it is removed.
    ///
    /// # Errors
    /// [`Error::Damage`] if there is none of this name, [`Error::Storage`].
    fn open(&self, path: &str) -> Result<Arc<dyn ObjectReader>>;

    /// Returns how many bytes may still be written, or `None` if there is no known limit.
    ///
    /// # Errors
    /// [`Error::Storage`].
    fn free_bytes(&self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Whether the storage is still where it was opened: what is created now is beside what was created then.
    ///
    /// # Errors
    /// [`Error::Storage`] if that is not known.
    fn is_in_place(&self) -> Result<bool> {
        Ok(true)
    }

    /// Returns the minimum interval between two group commits.
    fn commit_interval(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns whether an object that can be read back is durable. Not so on a disk: after a failed `fsync` the
    /// content may be in the page cache only.
    fn reads_are_durable(&self) -> bool {
        false
    }

    /// Whether the indexes of segments are objects, too, because the cache is on another disk, and a machine whose cache
    /// is empty would have to build them.
    fn keeps_indexes(&self) -> bool {
        false
    }

    /// Returns how many objects to read concurrently: more than one where each read has a high latency.
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

    /// Fills `buffer` with the bytes from `offset` on.
    ///
    /// # Errors
    /// [`Error::Damage`] if the object ends before, [`Error::Storage`].
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()>;

    /// Says that bytes will be read soon, so that they can be fetched meanwhile.
    fn will_read(&self, _offset: u64, _length: u64) {}
}

/// The verified outcome of a conditional put (docs/reference/storage.md#one-writer).
#[derive(Debug)]
pub(crate) enum PutOutcome {
    /// The object is durable, and this writer created it.
    Created,
    /// The name holds another writer's object, which has replaced this writer.
    Conflict,
    /// The object was not created.
    NotCreated(Error),
    /// The object may have been created. Nothing more may be acknowledged.
    Unknown(Error),
}

/// Creates an object and, after an error, reads it back to find out whether it was created. `content` names its
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
