//! An index that is made of the documents of a segment, as a file of the cache.
//!
//! `<cache>/<ulid>/spans`, `<cache>/<ulid>/text` and `<cache>/<ulid>/attributes` are derived data, as the index of the rows is. If
//! the cache cannot be written, they are kept in memory.

use std::io;
use std::sync::Arc;

use arrow_buffer::Buffer;

use super::cache::{IndexCache, identity_of_documents};
use super::{Builders, OpenIndexes};
use crate::attribute_index::{AttributeIndex, AttributeIndexBuilder};
use crate::error::{Error, Result};
use crate::span_table::{SpanTable, SpanTableBuilder};
use crate::storage::manifest::SegmentRecord;
use crate::storage::options::IndexKind;
use crate::text_index::{TextIndex, TextIndexBuilder};

/// An index that is made of the documents of a segment.
pub(crate) trait DocumentIndex: Sized {
    /// Which one.
    const KIND: IndexKind;
    /// What collects it.
    type Builder;

    /// Writes what was collected of a segment with so many rows.
    fn write(builder: Self::Builder, source: &str, rows: u32, out: &mut Vec<u8>) -> io::Result<()>;

    /// Opens what was written for `source`; `None` if it is damaged or was written for something else.
    fn open(content: Buffer, source: &str) -> Option<Self>;

    /// Whether what ends with `end` can be opened for `source`, as far as its end says.
    fn may_end_with(end: &[u8], source: &str) -> bool;

    /// Returns how many rows it knows.
    fn rows(&self) -> u32;

    /// Returns what was written.
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
    /// Opens what is cached of a segment; `None` if it is not there, or damaged.
    pub(in crate::storage::segment) fn open_made<T: DocumentIndex>(
        &self,
        record: &SegmentRecord,
    ) -> Option<T> {
        open_made_content(self.map(record, T::KIND.name())?, record)
    }

    /// Writes what was collected of a segment, and opens it.
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

    /// Has `write` write an index of a segment, for the source that it is given, and opens it. It is called again to write to
    /// memory if the cache cannot be written.
    ///
    /// # Errors
    /// [`Error::Storage`] if `write` fails, or writes something else.
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
    /// Returns what was collected of so many rows as indexes in memory. One that cannot be written is left out.
    pub(in crate::storage) fn in_memory(self, rows: u32) -> OpenIndexes {
        OpenIndexes {
            spans: self.spans.and_then(|spans| in_memory(spans, rows)),
            texts: self.texts.and_then(|texts| in_memory(texts, rows)),
            attributes: self.attributes.and_then(|attributes| in_memory(attributes, rows)),
        }
    }
}

fn in_memory<T: DocumentIndex>(builder: T::Builder, rows: u32) -> Option<Arc<T>> {
    /// What names the source of an index in memory, which is never opened for another one.
    const SOURCE: &str = "memory";
    let mut content = Vec::new();
    T::write(builder, SOURCE, rows, &mut content).ok()?;
    T::open(Buffer::from_vec(content), SOURCE).map(Arc::new)
}

/// Opens what is or is to be an index of a segment; `None` if it is damaged or belongs to something else.
pub(in crate::storage::segment) fn open_made_content<T: DocumentIndex>(
    content: Buffer,
    record: &SegmentRecord,
) -> Option<T> {
    T::open(content, &identity_of_documents(record)).filter(|index| u64::from(index.rows()) == record.rows)
}

/// Returns what the index that was collected is, byte by byte.
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
