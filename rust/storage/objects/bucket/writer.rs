//! Writing an object to a bucket as a multipart upload. The object appears after the upload is complete.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use crossbeam_channel::Receiver;
use object_store::{MultipartUpload, ObjectStoreExt as _, PutMode, PutPayload};

use super::client::BucketClient;
use super::error::describe;
use super::requests::{run, spawn};
use crate::error::{Error, Result};
use crate::storage::objects::ObjectWriter;

/// The size of all parts except the last. One of the services requires equal parts.
const PART_BYTES: usize = 8 << 20;
const CONCURRENT_PARTS: usize = 3;

pub(super) struct BucketWriter {
    client: Arc<BucketClient>,
    path: String,
    part: Vec<u8>,
    /// Started with the first full part.
    upload: Option<Box<dyn MultipartUpload>>,
    pending: VecDeque<Receiver<object_store::Result<()>>>,
}

impl BucketWriter {
    pub(super) fn new(client: Arc<BucketClient>, path: &str) -> Self {
        Self { client, path: path.to_owned(), part: Vec::new(), upload: None, pending: VecDeque::new() }
    }

    fn failed(&self, error: &object_store::Error) -> Error {
        Error::storage(&self.path, describe(error))
    }

    /// Sends the buffered part.
    fn send_part(&mut self) -> Result<()> {
        if self.upload.is_none() {
            let (store, location) = (self.client.store.clone(), self.client.location(&self.path));
            let started = run(&self.path, async move { store.put_multipart(&location).await })?;
            self.upload = Some(started.map_err(|error| self.failed(&error))?);
        }
        let content = PutPayload::from_bytes(Bytes::from(std::mem::take(&mut self.part)));
        if let Some(upload) = &mut self.upload {
            self.pending.push_back(spawn(upload.put_part(content))?);
        }
        self.wait_until_pending(CONCURRENT_PARTS)
    }

    /// Waits until at most `max` parts are in flight.
    fn wait_until_pending(&mut self, max: usize) -> Result<()> {
        while self.pending.len() > max {
            let Some(part) = self.pending.pop_front() else { break };
            let sent =
                part.recv().map_err(|_| Error::storage(&self.path, "the upload of a part was aborted"))?;
            sent.map_err(|error| self.failed(&error))?;
        }
        Ok(())
    }
}

impl ObjectWriter for BucketWriter {
    fn write(&mut self, mut content: &[u8]) -> Result<()> {
        while self.part.len() + content.len() >= PART_BYTES {
            let (head, rest) = content.split_at(PART_BYTES - self.part.len());
            self.part.extend_from_slice(head);
            self.send_part()?;
            content = rest;
        }
        self.part.extend_from_slice(content);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        if self.upload.is_none() {
            let content = Bytes::from(std::mem::take(&mut self.part));
            let put = self.client.put(&self.path, content.into(), PutMode::Overwrite)?;
            return put.map_err(|error| self.failed(&error));
        }
        if !self.part.is_empty() {
            self.send_part()?;
        }
        self.wait_until_pending(0)?;
        let Some(mut upload) = self.upload.take() else { return Ok(()) };
        let completed = run(&self.path, async move { upload.complete().await })?;
        completed.map(drop).map_err(|error| self.failed(&error))
    }
}

impl Drop for BucketWriter {
    fn drop(&mut self) {
        if let Some(mut upload) = self.upload.take() {
            // If this fails, the bucket's lifecycle rule for incomplete uploads removes the parts.
            let _abandoned = spawn(async move { upload.abort().await });
        }
    }
}
