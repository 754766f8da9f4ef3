//! Named, immutable blobs: what the store asks of a local folder or of an object store.
//!
//! Everything durable is created once and never changed. Two kinds of object differ in how they come
//! into being: `wal/` and `manifest/` by one conditional create ([`put`]), the files of a segment,
//! whose names are unique, as streams.

#[cfg(feature = "cloud")]
pub mod bucket;
pub mod local;
pub(crate) mod location;
pub(crate) mod lock;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
/// What a put writes: one piece after the other, none of them copied.
pub use object_store::PutPayload;

use crate::error::{Error, Result};

/// Why an object was not created.
#[derive(Debug)]
pub enum PutFault {
    /// An object of this name is there already.
    Exists,
    /// The storage failed; whether the object came into being is not known.
    Failed(Error),
}

/// An object of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The object's path inside the store.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
}

/// A place that keeps objects. All calls block; paths are relative to the store.
pub trait Objects: Send + Sync + Debug {
    /// Creates an object unless one of its name exists; durable once it returns.
    ///
    /// # Errors
    /// [`PutFault`].
    fn put_new(&self, path: &str, content: PutPayload) -> std::result::Result<(), PutFault>;

    /// Returns an object's content, or `None` if there is none of this name.
    ///
    /// # Errors
    /// [`Error::Storage`].
    fn get(&self, path: &str) -> Result<Option<Bytes>>;

    /// Returns every object below `folder`, unfinished ones included, in no order.
    ///
    /// # Errors
    /// [`Error::Storage`].
    fn list(&self, folder: &str) -> Result<Vec<Listed>>;

    /// Removes an object; none of this name is no fault.
    ///
    /// # Errors
    /// [`Error::Storage`].
    fn delete(&self, path: &str) -> Result<()>;

    /// Begins an object that is written piece by piece.
    ///
    /// # Errors
    /// [`Error::Storage`].
    fn create(&self, path: &str) -> Result<Box<dyn ObjectWriter>>;

    /// Opens an object for reading at any place; it stays readable after it was removed.
    ///
    /// # Errors
    /// [`Error::Damage`] if there is none of this name, [`Error::Storage`].
    fn open(&self, path: &str) -> Result<Arc<dyn ObjectReader>>;

    /// Returns how many bytes may still be written, or `None` if nobody counts them.
    ///
    /// # Errors
    /// [`Error::Storage`].
    fn free_bytes(&self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Returns how long there should be at least between two group commits.
    fn commit_interval(&self) -> Duration {
        Duration::ZERO
    }

    /// Whether what can be read back is durable. On a disk it is not: it may be in memory only, its `fsync`
    /// having failed.
    fn is_durable_once_seen(&self) -> bool {
        false
    }

    /// Returns how many objects are best read at once: more than one where each takes its time to begin.
    fn reads_at_once(&self) -> usize {
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

    /// Fills `buffer` with the bytes from `offset`.
    ///
    /// # Errors
    /// [`Error::Damage`] if the object ends before, [`Error::Storage`].
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()>;
}

/// What became of a conditional create, once looked into (design, section 4, "One writer").
#[derive(Debug)]
pub(crate) enum Put {
    /// The object is durable and ours.
    Done,
    /// Another writer's object has the name: we were replaced.
    Taken,
    /// It did not happen.
    Absent(Error),
    /// It may have happened: nothing more may be acknowledged.
    Unknown(Error),
}

/// Creates an object, and after a fault reads it back to learn what became of it. `content` names its
/// writer, so equal bytes are our own.
pub(crate) fn put(objects: &dyn Objects, path: &str, content: &PutPayload) -> Put {
    let is_ours = |present: &Bytes| *present == Bytes::from(content.clone());
    match objects.put_new(path, content.clone()) {
        Ok(()) => Put::Done,
        Err(PutFault::Exists) => match objects.get(path) {
            Ok(Some(present)) if is_ours(&present) => Put::Done,
            Ok(Some(_)) => Put::Taken,
            Ok(None) => Put::Unknown(Error::storage(path, "exists, but cannot be read back")),
            Err(fault) => Put::Unknown(fault),
        },
        Err(PutFault::Failed(fault)) => match objects.get(path) {
            Ok(None) => Put::Absent(fault),
            Ok(Some(present)) if !is_ours(&present) => Put::Taken,
            Ok(Some(_)) | Err(_) => Put::Unknown(fault),
        },
    }
}
