//! The indexes of a batch of the head, in memory: conditions on spans, texts and attributes are decided by them, as in a segment,
//! instead of a look at each trace.

use std::sync::Arc;

use arrow_buffer::Buffer;

use crate::error::{Error, Result};
use crate::index::{self, Index, Projection};
use crate::storage::head::batch::{HeadBatch, HeadEntry};
use crate::storage::options::Indexing;
use crate::storage::segment::PartIndexes;
use crate::storage::segment::indexes::{OpenIndexes, read_documents};

/// What names the source of an index of rows in memory, which is never opened for another one.
const SOURCE: &str = "head";

impl HeadBatch {
    /// Returns a batch of these traces, which must be distinct, with the indexes that are asked for. One that takes too much memory
    /// is left out.
    ///
    /// # Errors
    /// [`Error::Cancelled`]; [`Error::Storage`] if the rows cannot be indexed.
    pub(crate) fn indexed(
        entries: Vec<Arc<HeadEntry>>,
        indexing: &Indexing,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Self> {
        let batch = Self::new(entries);
        let (rows, of_documents) = (batch.index_of_rows()?, batch.index_documents(indexing, is_cancelled)?);
        Ok(batch.with_indexes(PartIndexes { rows: Arc::new(rows), of_documents }))
    }

    /// Returns indexes of the traces.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub(super) fn index_documents(
        &self,
        indexing: &Indexing,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<OpenIndexes> {
        let sizes: Vec<u64> = self.entries().iter().map(|entry| entry.bytes).collect();
        let read = |row: usize| Ok(Some(self.trace(row).clone()));
        let collected = read_documents(&sizes, indexing, read, is_cancelled)?;
        Ok(collected.in_memory(u32::try_from(sizes.len()).unwrap_or(u32::MAX)))
    }

    fn index_of_rows(&self) -> Result<Index> {
        let failed = |reason: String| Error::storage("the index of the head", reason);
        let sizes: Vec<u64> = self.entries().iter().map(|entry| entry.bytes).collect();
        let mut content = Vec::new();
        // The documents of the head are nowhere stored.
        let nowhere = vec![0; sizes.len()];
        let built = index::build(self.batch(), [&nowhere, &nowhere, &sizes], SOURCE, &mut content);
        built.map_err(|error| failed(error.to_string()))?;
        let index = Index::open(Buffer::from_vec(content), SOURCE);
        index
            .filter(|index| index.is_sound(Projection::ALL))
            .ok_or_else(|| failed("it does not have the rows of its batch".into()))
    }
}
