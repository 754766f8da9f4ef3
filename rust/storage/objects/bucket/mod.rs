//! A bucket, or a folder within one, as a place of objects: S3, Google Cloud Storage, Azure Blob Storage.
//!
//! What the store builds on, and how it holds here:
//! - An object is created once: by one request with a condition (`If-None-Match: *`). A request whose
//!   answer was lost is looked into and, as long as nothing is there, sent again: it can only succeed once.
//! - What is there is durable: whoever reads it back may acknowledge it. Reading and listing are
//!   consistent in all three services.
//! - What is open stays readable after it was removed: an object that somebody holds open is removed when
//!   the last one lets go of it. If that never comes, the next opening of the store sweeps it.
//!
//! Refusals, throttling and broken connections are tried again for a while, with growing pauses.

mod blocks;
mod connect;
mod fault;
mod reader;
mod requests;
mod writer;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload};

pub(super) use self::blocks::Blocks;
use self::fault::told;
use self::reader::BucketReader;
use self::requests::{again, run};
use self::writer::BucketWriter;
use crate::error::{Error, Result};
use crate::storage::objects::{Listed, ObjectReader, ObjectWriter, Objects, PutFault};

/// The schemes of the addresses that are served.
pub(super) const SCHEMES: [&str; 3] = ["s3", "gs", "az"];

/// A put is tried again for so long.
const PUT_DEADLINE: Duration = Duration::from_secs(5);
const PUT_PAUSE: Duration = Duration::from_millis(100);

/// At most ten group commits a second: each is a request that costs money.
const COMMIT_INTERVAL: Duration = Duration::from_millis(100);

/// Enough to hide that each request takes its time to begin.
const READS_AT_ONCE: usize = 8;

/// A folder within a bucket.
#[derive(Debug)]
pub struct Bucket {
    shared: Arc<Shared>,
}

/// What readers and writers of a bucket have in common with it.
#[derive(Debug)]
struct Shared {
    store: Arc<dyn ObjectStore>,
    root: Path,
    blocks: Option<Blocks>,
    held: Mutex<HashMap<String, Held>>,
}

/// An object that is open.
#[derive(Debug, Default)]
struct Held {
    readers: usize,
    /// To be removed when nobody reads it any more.
    is_doomed: bool,
}

impl Bucket {
    /// Returns the bucket that `url` names, reached with what the environment says. Nothing is sent. Of
    /// documents that are read, `blocks` keeps copies.
    ///
    /// # Errors
    /// [`Error::Options`] if the address or the environment is not usable; no secret is repeated.
    pub(super) fn at(url: &str, blocks: Option<Blocks>) -> Result<Self> {
        let (store, root) = connect::connect(url)?;
        Ok(Self { shared: Arc::new(Shared { store, root, blocks, held: Mutex::default() }) })
    }
}

impl Shared {
    fn location(&self, path: &str) -> Path {
        self.root.parts().chain(Path::from(path).parts()).collect()
    }

    fn held(&self) -> MutexGuard<'_, HashMap<String, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, path: &str, content: PutPayload, mode: PutMode) -> Result<object_store::Result<()>> {
        let (store, location) = (self.store.clone(), self.location(path));
        let options = PutOptions { mode, ..PutOptions::default() };
        run(path, async move { store.put_opts(&location, content, options).await.map(drop) })
    }

    fn get(&self, path: &str) -> Result<Option<Bytes>> {
        let (store, location) = (self.store.clone(), self.location(path));
        let read = async move { again(|| async { store.get(&location).await?.bytes().await }).await };
        match run(path, read)? {
            Ok(content) => Ok(Some(content)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(fault) => Err(Error::storage(path, told(&fault))),
        }
    }

    fn remove(&self, path: &str) -> Result<()> {
        let (store, location) = (self.store.clone(), self.location(path));
        match run(path, async move { store.delete(&location).await })? {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(fault) => Err(Error::storage(path, told(&fault))),
        }
    }

    /// What became of a put that was refused or not answered; `None`: it did not happen as far as is known.
    fn looked_into(&self, path: &str, content: &PutPayload) -> Option<std::result::Result<(), PutFault>> {
        match self.get(path) {
            Ok(Some(present)) if present == Bytes::from(content.clone()) => Some(Ok(())),
            Ok(Some(_)) => Some(Err(PutFault::Exists)),
            Ok(None) | Err(_) => None,
        }
    }
}

impl Objects for Bucket {
    fn put_new(&self, path: &str, content: PutPayload) -> std::result::Result<(), PutFault> {
        let until = Instant::now() + PUT_DEADLINE;
        loop {
            let sent = self.shared.put(path, content.clone(), PutMode::Create).map_err(PutFault::Failed)?;
            let fault = match sent {
                Ok(()) => return Ok(()),
                // Also said while another request for this name is under way.
                Err(fault @ object_store::Error::AlreadyExists { .. }) => {
                    if self.shared.looked_into(path, &content).is_some() {
                        return Err(PutFault::Exists);
                    }
                    fault
                }
                Err(object_store::Error::NotImplemented { .. }) => {
                    return Err(PutFault::Failed(Error::Options(
                        "a store needs conditional puts, and they are switched off".into(),
                    )));
                }
                Err(fault) if fault::is_final(&fault) => {
                    return Err(PutFault::Failed(Error::storage(path, told(&fault))));
                }
                Err(fault) => {
                    if let Some(outcome) = self.shared.looked_into(path, &content) {
                        return outcome;
                    }
                    fault
                }
            };
            if Instant::now() >= until {
                return Err(PutFault::Failed(Error::storage(path, told(&fault))));
            }
            std::thread::sleep(PUT_PAUSE);
        }
    }

    fn get(&self, path: &str) -> Result<Option<Bytes>> {
        self.shared.get(path)
    }

    fn list(&self, folder: &str) -> Result<Vec<Listed>> {
        let (store, location) = (self.shared.store.clone(), self.shared.location(folder));
        let list = async move {
            again(|| async { store.list(Some(&location)).try_collect::<Vec<_>>().await }).await
        };
        let listed = run(folder, list)?;
        let listed = listed.map_err(|fault| Error::storage(folder, told(&fault)))?;
        let within = |object: &object_store::ObjectMeta| {
            let parts = object.location.prefix_match(&self.shared.root)?;
            let path = parts.map(|part| part.as_ref().to_owned()).collect::<Vec<_>>().join("/");
            Some(Listed { path, bytes: object.size })
        };
        Ok(listed.iter().filter_map(within).collect())
    }

    fn delete(&self, path: &str) -> Result<()> {
        if let Some(held) = self.shared.held().get_mut(path) {
            held.is_doomed = true;
            return Ok(());
        }
        self.shared.remove(path)
    }

    fn create(&self, path: &str) -> Result<Box<dyn ObjectWriter>> {
        Ok(Box::new(BucketWriter::new(self.shared.clone(), path)))
    }

    fn open(&self, path: &str) -> Result<Arc<dyn ObjectReader>> {
        Ok(Arc::new(BucketReader::open(self.shared.clone(), path)?))
    }

    fn commit_interval(&self) -> Duration {
        COMMIT_INTERVAL
    }

    fn is_durable_once_seen(&self) -> bool {
        true
    }

    fn reads_at_once(&self) -> usize {
        READS_AT_ONCE
    }
}
