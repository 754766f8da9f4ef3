//! Range reads of an object in a bucket. An open object is not removed.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use crossbeam_channel::Receiver;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt as _};

use super::blocks::BLOCK_BYTES;
use super::client::BucketClient;
use super::error::describe;
use super::requests::{retry_read, run, spawn};
use crate::error::{Error, Result};
use crate::storage::objects::ObjectReader;

/// The size of the first read, which also returns the object's size. Most objects are smaller.
const FIRST_READ_BYTES: u64 = BLOCK_BYTES;

/// The maximum number of blocks of a cached read. Larger reads do not come from searches.
const MAX_CACHED_READ_BLOCKS: u64 = 2;

/// The size of the requests that a long read is split into. Several are sent concurrently.
const CHUNK_BYTES: usize = 4 << 20;
const CONCURRENT_CHUNKS: usize = 4;

/// An open object.
#[derive(Debug)]
pub(super) struct BucketReader {
    client: Arc<BucketClient>,
    path: String,
    location: Path,
    bytes: u64,
    /// The whole content, if the object is small.
    whole: Option<Bytes>,
    /// The segment whose documents these are, if their blocks are cached.
    segment: Option<String>,
}

/// Returns the segment whose documents are at `path`.
fn segment_of(path: &str) -> Option<&str> {
    path.strip_prefix("segments/")?.strip_suffix("/spans.otlp.zst")
}

impl BucketReader {
    /// Opens the object at `path`.
    ///
    /// # Errors
    /// [`Error::Damage`] if it does not exist, [`Error::Storage`].
    pub(super) fn open(client: Arc<BucketClient>, path: &str) -> Result<Self> {
        let location = client.location(path);
        client.open_objects().entry(path.to_owned()).or_default().readers += 1;
        // From here on, dropping the reader closes the object.
        let segment = client.blocks.as_ref().and_then(|_| segment_of(path)).map(str::to_owned);
        let mut opened = Self { client, path: path.to_owned(), location, bytes: 0, whole: None, segment };
        let (bytes, first) = opened.read_first()?;
        opened.bytes = bytes;
        opened.cache_block(0, &first);
        opened.whole = Some(first).filter(|first| first.len() as u64 == bytes);
        Ok(opened)
    }

    /// Returns the size of the object and its first bytes.
    fn read_first(&self) -> Result<(u64, Bytes)> {
        let (store, location) = (self.client.store.clone(), self.location.clone());
        let found = run(&self.path, async move {
            let read = || async {
                let range = Some(GetRange::Bounded(0..FIRST_READ_BYTES));
                let found = store.get_opts(&location, GetOptions { range, ..GetOptions::default() }).await?;
                Ok((found.meta.size, found.bytes().await?))
            };
            match retry_read(read).await {
                Ok(found) => Ok(found),
                Err(error @ object_store::Error::NotFound { .. }) => Err(error),
                // An empty object has no ranges.
                Err(error) => match store.head(&location).await {
                    Ok(meta) if meta.size == 0 => Ok((0, Bytes::new())),
                    _ => Err(error),
                },
            }
        })?;
        found.map_err(|error| match error {
            object_store::Error::NotFound { .. } => Error::damage(&self.path, 0, "the object is missing"),
            error => Error::storage(&self.path, describe(&error)),
        })
    }

    /// Adds a block of documents to the cache, if a cache is configured.
    fn cache_block(&self, number: u64, content: &[u8]) {
        if let (Some(blocks), Some(segment)) = (&self.client.blocks, &self.segment) {
            blocks.put(segment, number, content);
        }
    }

    /// Returns a block of documents from the cache.
    fn cached_block(&self, number: u64) -> Option<Bytes> {
        let (blocks, segment) = self.client.blocks.as_ref().zip(self.segment.as_deref())?;
        blocks.get(segment, number, BLOCK_BYTES.min(self.bytes - number * BLOCK_BYTES))
    }

    /// Fills `buffer` with the bytes at `offset` by reading whole blocks, from the cache if possible.
    fn read_blocks(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let (first, last) = (offset / BLOCK_BYTES, (offset + buffer.len() as u64 - 1) / BLOCK_BYTES);
        let mut pending = Vec::new();
        for number in first..=last {
            let (start, end) = (number * BLOCK_BYTES, self.bytes.min((number + 1) * BLOCK_BYTES));
            let block = match self.cached_block(number) {
                Some(block) => Ok(block),
                None => Err(spawn(fetch(self.client.store.clone(), self.location.clone(), start..end))?),
            };
            pending.push((number, start, end, block));
        }
        for (number, start, end, block) in pending {
            let block = match block {
                Ok(cached) => cached,
                Err(fetched) => {
                    let fetched = self.receive(&fetched, start, end - start)?;
                    self.cache_block(number, &fetched);
                    fetched
                }
            };
            let (from, to) = (offset.max(start), end.min(offset + buffer.len() as u64));
            let within = |position: u64, base: u64| {
                usize::try_from(position - base)
                    .map_err(|_| Error::damage(&self.path, position, "it is too large"))
            };
            buffer[within(from, offset)?..within(to, offset)?]
                .copy_from_slice(&block[within(from, start)?..within(to, start)?]);
        }
        Ok(())
    }

    /// Waits for a response with the `bytes` bytes at `offset`.
    fn receive(
        &self,
        fetched: &Receiver<object_store::Result<Bytes>>,
        offset: u64,
        bytes: u64,
    ) -> Result<Bytes> {
        let fetched = fetched.recv().map_err(|_| Error::storage(&self.path, "the request was aborted"))?;
        let fetched = fetched.map_err(|error| self.failed(&error))?;
        if fetched.len() as u64 == bytes {
            return Ok(fetched);
        }
        Err(Error::damage(&self.path, offset, format!("expected {bytes} bytes, got {}", fetched.len())))
    }

    /// Returns the error for a failed read.
    fn failed(&self, error: &object_store::Error) -> Error {
        match error {
            // This process does not remove open objects, so another process removed it.
            object_store::Error::NotFound { .. } => Error::Busy(format!(
                "`{}` was removed by another process, which has merged it or deleted from it; start again",
                self.path
            )),
            // The same read may succeed later.
            error => Error::Busy(format!("`{}`: {}", self.path, describe(error))),
        }
    }
}

async fn fetch(
    store: Arc<dyn ObjectStore>,
    location: Path,
    range: Range<u64>,
) -> object_store::Result<Bytes> {
    retry_read(|| store.get_range(&location, range.clone())).await
}

impl ObjectReader for BucketReader {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let short = || Error::damage(&self.path, offset, format!("expected {} more bytes", buffer.len()));
        let end = offset.checked_add(buffer.len() as u64).filter(|end| *end <= self.bytes);
        end.ok_or_else(short)?;
        if let Some(whole) = &self.whole {
            let start = usize::try_from(offset).map_err(|_| short())?;
            buffer.copy_from_slice(&whole[start..start + buffer.len()]);
            return Ok(());
        }
        if buffer.is_empty() {
            return Ok(());
        }
        if self.segment.is_some() && buffer.len() as u64 <= MAX_CACHED_READ_BLOCKS * BLOCK_BYTES {
            return self.read_blocks(offset, buffer);
        }
        let mut position = offset;
        for group in buffer.chunks_mut(CHUNK_BYTES * CONCURRENT_CHUNKS) {
            let mut chunks = Vec::with_capacity(CONCURRENT_CHUNKS);
            for chunk in group.chunks_mut(CHUNK_BYTES) {
                let range = position..position + chunk.len() as u64;
                let fetched = spawn(fetch(self.client.store.clone(), self.location.clone(), range))?;
                chunks.push((position, chunk, fetched));
                position += CHUNK_BYTES as u64;
            }
            for (position, chunk, fetched) in chunks {
                chunk.copy_from_slice(&self.receive(&fetched, position, chunk.len() as u64)?);
            }
        }
        Ok(())
    }
}

impl Drop for BucketReader {
    fn drop(&mut self) {
        let mut open_objects = self.client.open_objects();
        let Some(object) = open_objects.get_mut(&self.path) else { return };
        object.readers -= 1;
        if object.readers > 0 {
            return;
        }
        let is_removal_pending = object.is_removal_pending;
        open_objects.remove(&self.path);
        drop(open_objects);
        if is_removal_pending {
            let (store, location) = (self.client.store.clone(), self.location.clone());
            let _removed_at_next_open = spawn(async move { store.delete(&location).await });
        }
    }
}
