//! An open object of a bucket: read by ranges, and kept while it is open.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use crossbeam_channel::Receiver;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt as _};

use super::Shared;
use super::blocks::BLOCK;
use super::fault::told;
use super::requests::{again, begin, run};
use crate::error::{Error, Result};
use crate::storage::objects::ObjectReader;

/// So much is read with the question how large an object is. Most objects are not larger.
const FIRST: u64 = BLOCK;

/// A read of more blocks is no search, and its blocks are not kept.
const FEW_BLOCKS: u64 = 2;

/// A long read is parted into requests of this size, a few of them at once.
const PIECE: usize = 4 << 20;
const PIECES_AT_ONCE: usize = 4;

/// An open object.
#[derive(Debug)]
pub(super) struct BucketReader {
    shared: Arc<Shared>,
    path: String,
    location: Path,
    bytes: u64,
    /// The whole object, if it is small.
    whole: Option<Bytes>,
    /// The segment whose documents these are, if blocks of them are kept.
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
    /// [`Error::Damage`] if there is none, [`Error::Storage`].
    pub(super) fn open(shared: Arc<Shared>, path: &str) -> Result<Self> {
        let location = shared.location(path);
        shared.held().entry(path.to_owned()).or_default().readers += 1;
        // From here on the object is let go of when this is dropped.
        let segment = shared.blocks.as_ref().and_then(|_| segment_of(path)).map(str::to_owned);
        let mut opened = Self { shared, path: path.to_owned(), location, bytes: 0, whole: None, segment };
        let (bytes, first) = opened.first()?;
        opened.bytes = bytes;
        opened.keep(0, &first);
        opened.whole = Some(first).filter(|first| first.len() as u64 == bytes);
        Ok(opened)
    }

    /// Returns the size of the object and its first bytes.
    fn first(&self) -> Result<(u64, Bytes)> {
        let (store, location) = (self.shared.store.clone(), self.location.clone());
        let found = run(&self.path, async move {
            let read = || async {
                let range = Some(GetRange::Bounded(0..FIRST));
                let found = store.get_opts(&location, GetOptions { range, ..GetOptions::default() }).await?;
                Ok((found.meta.size, found.bytes().await?))
            };
            match again(read).await {
                Ok(found) => Ok(found),
                Err(fault @ object_store::Error::NotFound { .. }) => Err(fault),
                // Of an empty object no range can be had.
                Err(fault) => match store.head(&location).await {
                    Ok(meta) if meta.size == 0 => Ok((0, Bytes::new())),
                    _ => Err(fault),
                },
            }
        })?;
        found.map_err(|fault| match fault {
            object_store::Error::NotFound { .. } => Error::damage(&self.path, 0, "the object is missing"),
            fault => Error::storage(&self.path, told(&fault)),
        })
    }

    fn keep(&self, number: u64, content: &[u8]) {
        if let (Some(blocks), Some(segment)) = (&self.shared.blocks, &self.segment) {
            blocks.put(segment, number, content);
        }
    }

    fn kept(&self, number: u64) -> Option<Bytes> {
        let (blocks, segment) = self.shared.blocks.as_ref().zip(self.segment.as_deref())?;
        blocks.get(segment, number, BLOCK.min(self.bytes - number * BLOCK))
    }

    /// Fills `buffer` with the bytes from `offset` by way of whole blocks.
    fn read_blocks(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let (first, last) = (offset / BLOCK, (offset + buffer.len() as u64 - 1) / BLOCK);
        let mut awaited = Vec::new();
        for number in first..=last {
            let (start, end) = (number * BLOCK, self.bytes.min((number + 1) * BLOCK));
            let block = match self.kept(number) {
                Some(block) => Ok(block),
                None => Err(begin(fetch(self.shared.store.clone(), self.location.clone(), start..end))?),
            };
            awaited.push((number, start, end, block));
        }
        for (number, start, end, block) in awaited {
            let block = match block {
                Ok(kept) => kept,
                Err(fetched) => {
                    let fetched = self.fetched(&fetched, start, end - start)?;
                    self.keep(number, &fetched);
                    fetched
                }
            };
            let (from, to) = (offset.max(start), end.min(offset + buffer.len() as u64));
            let within = |place: u64, base: u64| {
                usize::try_from(place - base).map_err(|_| Error::damage(&self.path, place, "it is too large"))
            };
            buffer[within(from, offset)?..within(to, offset)?]
                .copy_from_slice(&block[within(from, start)?..within(to, start)?]);
        }
        Ok(())
    }

    /// Waits for `bytes` bytes that stand at `place`.
    fn fetched(
        &self,
        fetched: &Receiver<object_store::Result<Bytes>>,
        place: u64,
        bytes: u64,
    ) -> Result<Bytes> {
        let fetched = fetched.recv().map_err(|_| Error::storage(&self.path, "it was given up"))?;
        let fetched = fetched.map_err(|fault| self.failed(&fault))?;
        if fetched.len() as u64 == bytes {
            return Ok(fetched);
        }
        Err(Error::damage(&self.path, place, format!("expected {bytes} bytes, got {}", fetched.len())))
    }

    fn failed(&self, fault: &object_store::Error) -> Error {
        match fault {
            // What this process has open it does not remove.
            object_store::Error::NotFound { .. } => Error::Busy(format!(
                "`{}` was removed by another process, which has merged it or deleted from it; begin again",
                self.path
            )),
            // The same read may succeed later.
            fault => Error::Busy(format!("`{}`: {}", self.path, told(fault))),
        }
    }
}

async fn fetch(
    store: Arc<dyn ObjectStore>,
    location: Path,
    range: Range<u64>,
) -> object_store::Result<Bytes> {
    again(|| store.get_range(&location, range.clone())).await
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
        if self.segment.is_some() && buffer.len() as u64 <= FEW_BLOCKS * BLOCK {
            return self.read_blocks(offset, buffer);
        }
        let mut place = offset;
        for group in buffer.chunks_mut(PIECE * PIECES_AT_ONCE) {
            let mut pieces = Vec::with_capacity(PIECES_AT_ONCE);
            for piece in group.chunks_mut(PIECE) {
                let range = place..place + piece.len() as u64;
                let fetched = begin(fetch(self.shared.store.clone(), self.location.clone(), range))?;
                pieces.push((place, piece, fetched));
                place += PIECE as u64;
            }
            for (place, piece, fetched) in pieces {
                piece.copy_from_slice(&self.fetched(&fetched, place, piece.len() as u64)?);
            }
        }
        Ok(())
    }
}

impl Drop for BucketReader {
    fn drop(&mut self) {
        let mut held = self.shared.held();
        let Some(object) = held.get_mut(&self.path) else { return };
        object.readers -= 1;
        if object.readers > 0 {
            return;
        }
        let is_doomed = object.is_doomed;
        held.remove(&self.path);
        drop(held);
        if is_doomed {
            let (store, location) = (self.shared.store.clone(), self.location.clone());
            let _removed_at_next_open = begin(async move { store.delete(&location).await });
        }
    }
}
