//! Object storage that forwards every operation, except those that a test intercepts.

use std::fmt::Debug;
use std::sync::Arc;

use bytes::Bytes;
use spanwise::error::Result;
use spanwise::storage::objects::{ListedObject, ObjectReader, ObjectWriter, Objects, PutError, PutPayload};

/// The operations that a test may intercept. By default they are forwarded to `inner`.
pub(crate) trait Intercept: Debug + Send + Sync {
    fn put_new(
        &self,
        inner: &dyn Objects,
        path: &str,
        content: PutPayload,
    ) -> std::result::Result<(), PutError> {
        inner.put_new(path, content)
    }

    fn list(&self, inner: &dyn Objects, folder: &str) -> Result<Vec<ListedObject>> {
        inner.list(folder)
    }

    fn create(&self, inner: &dyn Objects, path: &str) -> Result<Box<dyn ObjectWriter>> {
        inner.create(path)
    }

    fn free_bytes(&self, inner: &dyn Objects) -> Result<Option<u64>> {
        inner.free_bytes()
    }

    fn reads_are_durable(&self, inner: &dyn Objects) -> bool {
        inner.reads_are_durable()
    }
}

/// Object storage `inner` whose operations pass through `intercept`.
#[derive(Debug)]
pub(crate) struct Layer<I, O> {
    pub(crate) intercept: I,
    pub(crate) inner: O,
}

impl<I: Intercept, O: Objects> Objects for Layer<I, O> {
    fn put_new(&self, path: &str, content: PutPayload) -> std::result::Result<(), PutError> {
        self.intercept.put_new(&self.inner, path, content)
    }

    fn get(&self, path: &str) -> Result<Option<Bytes>> {
        self.inner.get(path)
    }

    fn list(&self, folder: &str) -> Result<Vec<ListedObject>> {
        self.intercept.list(&self.inner, folder)
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.inner.delete(path)
    }

    fn create(&self, path: &str) -> Result<Box<dyn ObjectWriter>> {
        self.intercept.create(&self.inner, path)
    }

    fn open(&self, path: &str) -> Result<Arc<dyn ObjectReader>> {
        self.inner.open(path)
    }

    fn keeps_indexes(&self) -> bool {
        self.inner.keeps_indexes()
    }

    fn free_bytes(&self) -> Result<Option<u64>> {
        self.intercept.free_bytes(&self.inner)
    }

    fn reads_are_durable(&self) -> bool {
        self.intercept.reads_are_durable(&self.inner)
    }
}
