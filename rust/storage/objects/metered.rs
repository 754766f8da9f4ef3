//! Objects that count the bytes that are read.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::error::Result;
use crate::progress::Progress;
use crate::storage::objects::{ListedObject, ObjectReader, ObjectWriter, Objects, PutError, PutPayload};

/// Objects of a store. All bytes read count as progress.
#[derive(Debug)]
pub(crate) struct MeteredObjects {
    objects: Arc<dyn Objects>,
    progress: Progress,
}

impl MeteredObjects {
    pub(crate) fn new(objects: Arc<dyn Objects>, progress: &Progress) -> Self {
        Self { objects, progress: progress.clone() }
    }
}

impl Objects for MeteredObjects {
    fn put_new(&self, path: &str, content: PutPayload) -> std::result::Result<(), PutError> {
        self.objects.put_new(path, content)
    }

    fn get(&self, path: &str) -> Result<Option<Bytes>> {
        let content = self.objects.get(path)?;
        self.progress.add(content.as_ref().map_or(0, |content| content.len() as u64));
        Ok(content)
    }

    fn list(&self, folder: &str) -> Result<Vec<ListedObject>> {
        self.objects.list(folder)
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.objects.delete(path)
    }

    fn create(&self, path: &str) -> Result<Box<dyn ObjectWriter>> {
        self.objects.create(path)
    }

    fn open(&self, path: &str) -> Result<Arc<dyn ObjectReader>> {
        let reader = self.objects.open(path)?;
        Ok(Arc::new(MeteredReader { reader, progress: self.progress.clone() }))
    }

    fn free_bytes(&self) -> Result<Option<u64>> {
        self.objects.free_bytes()
    }

    fn is_at_location(&self) -> Result<bool> {
        self.objects.is_at_location()
    }

    fn commit_interval(&self) -> Duration {
        self.objects.commit_interval()
    }

    fn reads_are_durable(&self) -> bool {
        self.objects.reads_are_durable()
    }

    fn keeps_indexes(&self) -> bool {
        self.objects.keeps_indexes()
    }

    fn read_concurrency(&self) -> usize {
        self.objects.read_concurrency()
    }
}

#[derive(Debug)]
struct MeteredReader {
    reader: Arc<dyn ObjectReader>,
    progress: Progress,
}

impl ObjectReader for MeteredReader {
    fn bytes(&self) -> u64 {
        self.reader.bytes()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.reader.read_at(offset, buffer)?;
        self.progress.add(buffer.len() as u64);
        Ok(())
    }

    fn will_read(&self, offset: u64, length: u64) {
        self.reader.will_read(offset, length);
    }
}
