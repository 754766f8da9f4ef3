//! Compares the indexes of a segment, in the cache and as objects, with fresh builds from its rows and
//! documents.

use super::cache::{INDEX, IndexCache};
use super::document_index::made_content;
use super::read_documents;
use crate::error::{Error, Result};
use crate::index::attributes::AttributeIndex;
use crate::index::spans::SpanTable;
use crate::index::texts::TextIndex;
use crate::storage::manifest::{FileRecord, SegmentRecord};
use crate::storage::objects::Objects;
use crate::storage::options::{IndexKind, Indexing};
use crate::storage::segment::Segment;
use crate::storage::segment::rows::read_rows;
use crate::storage::segment::verify::verify_content;

/// The result of a comparison.
#[derive(Debug, Default)]
pub(crate) struct ComparedIndexes {
    /// The number of matching files and objects.
    pub(crate) same: u64,
    /// The paths of the others.
    pub(crate) others: Vec<String>,
}

impl Segment {
    /// Reads all documents of a segment, builds its indexes, and compares them with those in `cache` and
    /// `objects`.
    ///
    /// # Errors
    /// [`Error::Damage`] of the rows or of a document, [`Error::Storage`].
    pub(crate) fn compare_indexes(
        &self,
        objects: &dyn Objects,
        cache: &IndexCache,
    ) -> Result<ComparedIndexes> {
        let record = &self.record;
        let mut compared = ComparedIndexes::default();
        let mut compare =
            |index: &str, content: &[u8]| compared.add(record, (objects, cache), (index, content));
        let rows = read_rows(self.rows.as_ref(), record, &self.documents)?;
        compare(INDEX, &IndexCache::content(record, &rows)?)?;
        drop(rows);
        let is_there = |kind: &IndexKind| {
            record.index_object(kind.name()).is_some() || cache.map(record, kind.name()).is_some()
        };
        let kinds = IndexKind::ALL.into_iter().filter(is_there).collect();
        let indexing = Indexing { kinds, max_bytes: u64::MAX };
        let builders =
            read_documents(&self.document_sizes(), &indexing, |row| self.trace(row).map(Some), &|| false)?;
        if let Some(spans) = builders.spans {
            compare(IndexKind::Spans.name(), &made_content::<SpanTable>(record, spans)?)?;
        }
        if let Some(texts) = builders.texts {
            compare(IndexKind::Texts.name(), &made_content::<TextIndex>(record, texts)?)?;
        }
        if let Some(attributes) = builders.attributes {
            compare(IndexKind::Attributes.name(), &made_content::<AttributeIndex>(record, attributes)?)?;
        }
        Ok(compared)
    }
}

impl ComparedIndexes {
    fn add(
        &mut self,
        record: &SegmentRecord,
        (objects, cache): (&dyn Objects, &IndexCache),
        (index, expected): (&str, &[u8]),
    ) -> Result<()> {
        let cached = cache.compare(record, index, expected);
        let cached = cached.map(|(is_same, path)| (is_same, path.display().to_string()));
        let object = record.index_object(index).map(|(name, file)| {
            let path = record.file_path(name);
            let is_same = file == FileRecord::of(expected) && is_whole(objects, &path, file)?;
            Ok::<_, Error>((is_same, path))
        });
        for (is_same, path) in cached.into_iter().chain(object.transpose()?) {
            if is_same { self.same += 1 } else { self.others.push(path) }
        }
        Ok(())
    }
}

/// Returns `true` if an object matches its record.
fn is_whole(objects: &dyn Objects, path: &str, file: FileRecord) -> Result<bool> {
    let verified = objects.open(path).and_then(|object| verify_content(path, object.as_ref(), file));
    match verified {
        Ok(()) => Ok(true),
        Err(Error::Damage { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
