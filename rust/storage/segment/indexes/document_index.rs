//! Document indexes of a segment as files of the cache.
//!
//! `<cache>/<ulid>/spans`, `<cache>/<ulid>/text` and `<cache>/<ulid>/attributes` are derived data, like the
//! row index. If the cache cannot be written, they are kept in memory.

use std::io;
use std::sync::Arc;

use arrow_buffer::Buffer;

use super::cache::{IndexCache, identity_of_documents};
use super::{Builders, OpenIndexes};
use crate::error::{Error, Result};
use crate::index::attributes::{AttributeIndex, AttributeIndexBuilder};
use crate::index::spans::{SpanTable, SpanTableBuilder};
use crate::index::texts::{TextIndex, TextIndexBuilder};
use crate::storage::manifest::SegmentRecord;
use crate::storage::options::IndexKind;

/// An index that is built from the documents of a segment.
pub(crate) trait DocumentIndex: Sized {
    const KIND: IndexKind;
    /// The builder that collects the index.
    type Builder;

    /// Writes the collected index of a segment with `rows` rows.
    fn write(builder: Self::Builder, source: &str, rows: u32, out: &mut Vec<u8>) -> io::Result<()>;

    /// Opens an index that was written for `source`; `None` if it is damaged or was written for another
    /// source.
    fn open(content: Buffer, source: &str) -> Option<Self>;

    /// Returns `true` if an index with this end can probably be opened for `source`. Only the end is checked.
    fn may_end_with(end: &[u8], source: &str) -> bool;

    /// Returns the number of indexed rows.
    fn rows(&self) -> u32;

    /// Returns the written bytes.
    fn content(&self) -> &[u8];
}

impl DocumentIndex for SpanTable {
    const KIND: IndexKind = IndexKind::Spans;
    type Builder = SpanTableBuilder;

    fn write(builder: SpanTableBuilder, source: &str, _rows: u32, out: &mut Vec<u8>) -> io::Result<()> {
        builder.finish(source, out)
    }

    fn open(content: Buffer, source: &str) -> Option<Self> {
        Self::open(content, source)
    }

    fn may_end_with(end: &[u8], source: &str) -> bool {
        Self::may_end_with(end, source)
    }

    fn rows(&self) -> u32 {
        self.rows()
    }

    fn content(&self) -> &[u8] {
        self.content()
    }
}

impl DocumentIndex for AttributeIndex {
    const KIND: IndexKind = IndexKind::Attributes;
    type Builder = AttributeIndexBuilder;

    fn write(builder: AttributeIndexBuilder, source: &str, _rows: u32, out: &mut Vec<u8>) -> io::Result<()> {
        builder.finish(source, out)
    }

    fn open(content: Buffer, source: &str) -> Option<Self> {
        Self::open(content, source)
    }

    fn may_end_with(end: &[u8], source: &str) -> bool {
        Self::may_end_with(end, source)
    }

    fn rows(&self) -> u32 {
        self.rows()
    }

    fn content(&self) -> &[u8] {
        self.content()
    }
}

impl DocumentIndex for TextIndex {
    const KIND: IndexKind = IndexKind::Texts;
    type Builder = TextIndexBuilder;

    fn write(builder: TextIndexBuilder, source: &str, rows: u32, out: &mut Vec<u8>) -> io::Result<()> {
        builder.finish(source, rows, out)
    }

    fn open(content: Buffer, source: &str) -> Option<Self> {
        Self::open(content, source).filter(Self::is_sound)
    }

    fn may_end_with(end: &[u8], source: &str) -> bool {
        Self::may_end_with(end, source)
    }

    fn rows(&self) -> u32 {
        self.rows()
    }

    fn content(&self) -> &[u8] {
        self.content()
    }
}

impl IndexCache {
    /// Opens a cached index of a segment; `None` if it is missing or damaged.
    pub(in crate::storage::segment) fn open_made<T: DocumentIndex>(
        &self,
        record: &SegmentRecord,
    ) -> Option<T> {
        open_made_content(self.map(record, T::KIND.name())?, record)
    }

    /// Writes and opens the collected index of a segment.
    ///
    /// # Errors
    /// [`Error::Storage`] if it would be too large.
    pub(in crate::storage::segment) fn build_made<T: DocumentIndex>(
        &self,
        record: &SegmentRecord,
        builder: T::Builder,
    ) -> Result<T> {
        let content = made_content::<T>(record, builder)?;
        self.write_made(record, &mut |_, out| out.write_all(&content))
    }

    /// Calls `write` to write an index of a segment for a given source, and opens it. If the cache cannot be
    /// written, `write` is called again to write to memory.
    ///
    /// # Errors
    /// [`Error::Storage`] if `write` fails, or writes an unreadable index.
    pub(in crate::storage::segment) fn write_made<T: DocumentIndex>(
        &self,
        record: &SegmentRecord,
        write: &mut dyn FnMut(&str, &mut dyn io::Write) -> io::Result<()>,
    ) -> Result<T> {
        let source = identity_of_documents(record);
        let written = self.write_with(record, T::KIND.name(), |out| write(&source, out));
        if let Some(index) = written.and_then(|()| self.open_made(record)) {
            return Ok(index);
        }
        let mut content = Vec::new();
        write(&source, &mut content).map_err(|error| failed::<T>(record, error))?;
        open_made_content(Buffer::from_vec(content), record)
            .ok_or_else(|| failed::<T>(record, "it does not have the rows of its segment"))
    }
}

impl Builders {
    /// Returns the collected indexes of `rows` rows in memory. An index that cannot be written is omitted.
    pub(in crate::storage) fn in_memory(self, rows: u32) -> OpenIndexes {
        OpenIndexes {
            spans: self.spans.and_then(|spans| in_memory(spans, rows)),
            texts: self.texts.and_then(|texts| in_memory(texts, rows)),
            attributes: self.attributes.and_then(|attributes| in_memory(attributes, rows)),
        }
    }
}

fn in_memory<T: DocumentIndex>(builder: T::Builder, rows: u32) -> Option<Arc<T>> {
    /// The source name of in-memory indexes, which are never opened for another source.
    const SOURCE: &str = "memory";
    let mut content = Vec::new();
    T::write(builder, SOURCE, rows, &mut content).ok()?;
    T::open(Buffer::from_vec(content), SOURCE).map(Arc::new)
}

/// Opens the content of a document index; `None` if it is damaged or belongs to another segment.
pub(in crate::storage::segment) fn open_made_content<T: DocumentIndex>(
    content: Buffer,
    record: &SegmentRecord,
) -> Option<T> {
    T::open(content, &identity_of_documents(record)).filter(|index| u64::from(index.rows()) == record.rows)
}

/// Returns the exact bytes of the collected index.
///
/// # Errors
/// [`Error::Storage`] if it would be too large.
pub(in crate::storage::segment) fn made_content<T: DocumentIndex>(
    record: &SegmentRecord,
    builder: T::Builder,
) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    let rows = u32::try_from(record.rows).map_err(|error| failed::<T>(record, error))?;
    let written = T::write(builder, &identity_of_documents(record), rows, &mut content);
    written.map_err(|error| failed::<T>(record, error))?;
    Ok(content)
}

fn failed<T: DocumentIndex>(record: &SegmentRecord, error: impl std::fmt::Display) -> Error {
    Error::storage(format!("the index `{}` of segment {}", T::KIND.name(), record.id), error)
}
