//! The in-memory indexes of a head batch. As in a segment, they decide conditions on spans, texts and
//! attributes without document checks.

use std::sync::Arc;

use arrow_buffer::Buffer;

use crate::error::{Error, Result};
use crate::index::columns;
use crate::index::columns::{Index, Projection};
use crate::storage::head::batch::{HeadBatch, HeadEntry};
use crate::storage::options::Indexing;
use crate::storage::segment::PartIndexes;
use crate::storage::segment::indexes::{OpenIndexes, read_documents};

/// The source name of in-memory indexes, which are never opened for another source.
const SOURCE: &str = "head";

impl HeadBatch {
    /// Returns a batch of these traces, which must be distinct, with the requested indexes. An index that
    /// takes too much memory is omitted.
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

    /// Builds the indexes of the traces.
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
        // The documents of the head have no stored location.
        let nowhere = vec![0; sizes.len()];
        let built = columns::build(self.batch(), [&nowhere, &nowhere, &sizes], SOURCE, &mut content);
        built.map_err(|error| failed(error.to_string()))?;
        let index = Index::open(Buffer::from_vec(content), SOURCE);
        index
            .filter(|index| index.is_sound(Projection::ALL))
            .ok_or_else(|| failed("it does not have the rows of its batch".into()))
    }
}
