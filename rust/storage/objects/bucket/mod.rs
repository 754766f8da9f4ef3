//! Objects in a bucket, or in a folder within one: S3, Google Cloud Storage, Azure Blob Storage.
//!
//! The guarantees that the store needs, and how a bucket provides them:
//! - An object is created once, by one conditional request (`If-None-Match: *`). If the response is lost, the
//!   object is read back. While it does not exist, the request is sent again; only one request can succeed.
//! - An existing object is durable, so a writer that reads it back may acknowledge it. Reads and listings are
//!   consistent in all three services.
//! - An open object stays readable after its removal, because the removal is delayed until the last reader is
//!   dropped. If that never happens, the next opening of the store removes the object.
//!
//! Rejected and throttled requests and broken connections are retried for a limited time, with increasing
//! delays.

mod blocks;
mod client;
mod connect;
mod error;
mod reader;
mod requests;
mod writer;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use object_store::{PutMode, PutPayload};

pub(super) use self::blocks::BlockCache;
use self::client::BucketClient;
use self::error::describe;
use self::reader::BucketReader;
use self::requests::{retry_read, run};
use self::writer::BucketWriter;
use crate::error::{Error, Result};
use crate::storage::objects::{ListedObject, ObjectReader, ObjectWriter, Objects, PutError};

/// The URL schemes of buckets.
pub(super) const SCHEMES: [&str; 3] = ["s3", "gs", "az"];

/// The maximum time for retries of a put.
const PUT_DEADLINE: Duration = Duration::from_secs(5);
const PUT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Limits group commits to ten per second, because each is a request that costs money.
const COMMIT_INTERVAL: Duration = Duration::from_millis(100);

/// Enough concurrent reads to hide the latency of each.
const READ_CONCURRENCY: usize = 8;

/// A folder within a bucket.
#[derive(Debug)]
pub struct Bucket {
    client: Arc<BucketClient>,
}

impl Bucket {
    /// Returns the bucket that `url` names, configured from the environment. Sends no request. Blocks of
    /// documents that are read are cached in `blocks`.
    ///
    /// # Errors
    /// [`Error::Options`] if the address or the environment is invalid. The message contains no secret.
    pub(super) fn connect(url: &str, blocks: Option<BlockCache>) -> Result<Self> {
        let (store, root) = connect::connect(url)?;
        let client = BucketClient { store, root, blocks, open_objects: Mutex::default() };
        Ok(Self { client: Arc::new(client) })
    }
}

impl Objects for Bucket {
    fn put_new(&self, path: &str, content: PutPayload) -> std::result::Result<(), PutError> {
        let deadline = Instant::now() + PUT_DEADLINE;
        loop {
            let sent = self.client.put(path, content.clone(), PutMode::Create).map_err(PutError::Failed)?;
            let error = match sent {
                Ok(()) => return Ok(()),
                // Also returned while another request for this name is in progress.
                Err(error @ object_store::Error::AlreadyExists { .. }) => {
                    if self.client.verify_put(path, &content).is_some() {
                        return Err(PutError::Exists);
                    }
                    error
                }
                Err(object_store::Error::NotImplemented { .. }) => {
                    return Err(PutError::Failed(Error::Options(
                        "a store needs conditional puts, and they are switched off".into(),
                    )));
                }
                Err(error) if error::is_permanent(&error) => {
                    return Err(PutError::Failed(Error::storage(path, describe(&error))));
                }
                Err(error) => {
                    if let Some(outcome) = self.client.verify_put(path, &content) {
                        return outcome;
                    }
                    error
                }
            };
            if Instant::now() >= deadline {
                return Err(PutError::Failed(Error::storage(path, describe(&error))));
            }
            std::thread::sleep(PUT_RETRY_DELAY);
        }
    }

    fn get(&self, path: &str) -> Result<Option<Bytes>> {
        self.client.get(path)
    }

    fn list(&self, folder: &str) -> Result<Vec<ListedObject>> {
        let (store, location) = (self.client.store.clone(), self.client.location(folder));
        let list = async move {
            retry_read(|| async { store.list(Some(&location)).try_collect::<Vec<_>>().await }).await
        };
        let listed = run(folder, list)?;
        let listed = listed.map_err(|error| Error::storage(folder, describe(&error)))?;
        let relative = |object: &object_store::ObjectMeta| {
            let parts = object.location.prefix_match(&self.client.root)?;
            let path = parts.map(|part| part.as_ref().to_owned()).collect::<Vec<_>>().join("/");
            Some(ListedObject { path, bytes: object.size })
        };
        Ok(listed.iter().filter_map(relative).collect())
    }

    fn delete(&self, path: &str) -> Result<()> {
        if let Some(open) = self.client.open_objects().get_mut(path) {
            open.is_removal_pending = true;
            return Ok(());
        }
        self.client.remove(path)
    }

    fn create(&self, path: &str) -> Result<Box<dyn ObjectWriter>> {
        Ok(Box::new(BucketWriter::new(self.client.clone(), path)))
    }

    fn open(&self, path: &str) -> Result<Arc<dyn ObjectReader>> {
        Ok(Arc::new(BucketReader::open(self.client.clone(), path)?))
    }

    fn commit_interval(&self) -> Duration {
        COMMIT_INTERVAL
    }

    fn reads_are_durable(&self) -> bool {
        true
    }

    fn keeps_indexes(&self) -> bool {
        true
    }

    fn read_concurrency(&self) -> usize {
        READ_CONCURRENCY
    }
}
