//! An object of a bucket that is being written: it appears when it is whole.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use crossbeam_channel::Receiver;
use object_store::{MultipartUpload, ObjectStoreExt as _, PutMode, PutPayload};

use super::Shared;
use super::fault::told;
use super::requests::{begin, run};
use crate::error::{Error, Result};
use crate::storage::objects::ObjectWriter;

/// All parts but the last have this size, as one of the services wants it.
const PART: usize = 8 << 20;
const PARTS_AT_ONCE: usize = 3;

/// An object that is being written.
pub(super) struct BucketWriter {
    shared: Arc<Shared>,
    path: String,
    part: Vec<u8>,
    /// Begun with the first part that is full.
    upload: Option<Box<dyn MultipartUpload>>,
    under_way: VecDeque<Receiver<object_store::Result<()>>>,
}

impl BucketWriter {
    pub(super) fn new(shared: Arc<Shared>, path: &str) -> Self {
        Self { shared, path: path.to_owned(), part: Vec::new(), upload: None, under_way: VecDeque::new() }
    }

    fn failed(&self, fault: &object_store::Error) -> Error {
        Error::storage(&self.path, told(fault))
    }

    /// Sends the part that was gathered.
    fn send(&mut self) -> Result<()> {
        if self.upload.is_none() {
            let (store, location) = (self.shared.store.clone(), self.shared.location(&self.path));
            let begun = run(&self.path, async move { store.put_multipart(&location).await })?;
            self.upload = Some(begun.map_err(|fault| self.failed(&fault))?);
        }
        let content = PutPayload::from_bytes(Bytes::from(std::mem::take(&mut self.part)));
        if let Some(upload) = &mut self.upload {
            self.under_way.push_back(begin(upload.put_part(content))?);
        }
        self.wait_for_all_but(PARTS_AT_ONCE)
    }

    fn wait_for_all_but(&mut self, count: usize) -> Result<()> {
        while self.under_way.len() > count {
            let Some(part) = self.under_way.pop_front() else { break };
            let sent = part.recv().map_err(|_| Error::storage(&self.path, "a part was given up"))?;
            sent.map_err(|fault| self.failed(&fault))?;
        }
        Ok(())
    }
}

impl ObjectWriter for BucketWriter {
    fn write(&mut self, mut content: &[u8]) -> Result<()> {
        while self.part.len() + content.len() >= PART {
            let (head, rest) = content.split_at(PART - self.part.len());
            self.part.extend_from_slice(head);
            self.send()?;
            content = rest;
        }
        self.part.extend_from_slice(content);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        if self.upload.is_none() {
            let content = Bytes::from(std::mem::take(&mut self.part));
            let put = self.shared.put(&self.path, content.into(), PutMode::Overwrite)?;
            return put.map_err(|fault| self.failed(&fault));
        }
        if !self.part.is_empty() {
            self.send()?;
        }
        self.wait_for_all_but(0)?;
        let Some(mut upload) = self.upload.take() else { return Ok(()) };
        let completed = run(&self.path, async move { upload.complete().await })?;
        completed.map(drop).map_err(|fault| self.failed(&fault))
    }
}

impl Drop for BucketWriter {
    fn drop(&mut self) {
        if let Some(mut upload) = self.upload.take() {
            // What stays behind is for the bucket's own rule about uploads that were not completed.
            let _abandoned = begin(async move { upload.abort().await });
        }
    }
}
