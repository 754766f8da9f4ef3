//! The client of one bucket: requests below a root folder. The bucket, its readers and its writers share it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload};

use super::blocks::BlockCache;
use super::error::describe;
use super::requests::{retry_read, run};
use crate::error::{Error, Result};
use crate::storage::objects::PutError;

/// The client and the open objects of a bucket.
#[derive(Debug)]
pub(super) struct BucketClient {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) root: Path,
    pub(super) blocks: Option<BlockCache>,
    pub(super) open_objects: Mutex<HashMap<String, OpenObject>>,
}

#[derive(Debug, Default)]
pub(super) struct OpenObject {
    pub(super) readers: usize,
    /// True if the object is removed when its last reader is dropped.
    pub(super) is_removal_pending: bool,
}

impl BucketClient {
    /// Returns the location of an object inside the bucket.
    pub(super) fn location(&self, path: &str) -> Path {
        self.root.parts().chain(Path::from(path).parts()).collect()
    }

    /// Returns the objects that have readers, by path.
    pub(super) fn open_objects(&self) -> MutexGuard<'_, HashMap<String, OpenObject>> {
        self.open_objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends one put.
    pub(super) fn put(
        &self,
        path: &str,
        content: PutPayload,
        mode: PutMode,
    ) -> Result<object_store::Result<()>> {
        let (store, location) = (self.store.clone(), self.location(path));
        let options = PutOptions { mode, ..PutOptions::default() };
        run(path, async move { store.put_opts(&location, content, options).await.map(drop) })
    }

    /// Returns the content of an object; `None` if it does not exist.
    pub(super) fn get(&self, path: &str) -> Result<Option<Bytes>> {
        let (store, location) = (self.store.clone(), self.location(path));
        let read = async move { retry_read(|| async { store.get(&location).await?.bytes().await }).await };
        match run(path, read)? {
            Ok(content) => Ok(Some(content)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(Error::storage(path, describe(&error))),
        }
    }

    /// Removes an object. Succeeds if it does not exist.
    pub(super) fn remove(&self, path: &str) -> Result<()> {
        let (store, location) = (self.store.clone(), self.location(path));
        match run(path, async move { store.delete(&location).await })? {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(Error::storage(path, describe(&error))),
        }
    }

    /// Determines the outcome of a rejected or unanswered put by reading the object back; `None` if no object
    /// is found.
    pub(super) fn verify_put(
        &self,
        path: &str,
        content: &PutPayload,
    ) -> Option<std::result::Result<(), PutError>> {
        match self.get(path) {
            Ok(Some(present)) if present == Bytes::from(content.clone()) => Some(Ok(())),
            Ok(Some(_)) => Some(Err(PutError::Exists)),
            Ok(None) | Err(_) => None,
        }
    }
}
