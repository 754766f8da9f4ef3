//! The records of a manifest: segments, their files, and imports in progress.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use ulid::Ulid;

/// The names of a segment's indexes: the row index, then the document indexes.
pub(crate) const INDEXES: [&str; 4] = ["index", "spans", "text", "attributes"];

/// The progress of one import.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportRecord {
    /// A digest that identifies the source. It contains no user data.
    pub source: String,
    /// The number of processed spans.
    pub spans: u64,
    /// The number of processed spans that are in the store.
    pub accepted: u64,
    /// The number of processed spans that were rejected.
    pub rejected: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SegmentRecord {
    /// The name of the segment's folder, a ULID.
    pub(crate) id: String,
    /// The number of rows in the segment, deleted ones included.
    pub(crate) rows: u64,
    /// `traces.parquet`.
    pub(crate) traces: FileRecord,
    /// `spans.otlp.zst`.
    pub(crate) documents: FileRecord,
    /// The deletion vector, if rows are deleted.
    #[serde(rename = "hidden")]
    pub(crate) deletion_vector: Option<DeletionVectorRecord>,
    /// `spans.dict`, after the segment is compacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dictionary: Option<FileRecord>,
    /// True if the documents were stored uncompressed under load and are still to be compressed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) awaits_compression: bool,
    /// Other files in the segment's folder, by name. Unknown files are kept, copied and verified.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) files: BTreeMap<String, FileRecord>,
}

/// An update of the record of one segment index.
#[derive(Debug)]
pub(crate) struct IndexRecord {
    pub(crate) segment_id: String,
    /// One of [`INDEXES`].
    pub(crate) index: &'static str,
    /// The name, size and checksum of its object; `None` removes the record.
    pub(crate) object: Option<(String, FileRecord)>,
}

/// A quarantined segment. Its files are not deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuarantineRecord {
    /// The record of the segment when it was live.
    pub(crate) segment: SegmentRecord,
    /// The damage: an object, an offset, and a message.
    #[serde(rename = "fault")]
    pub(crate) error: String,
}

/// Damaged objects of the write-ahead log. Existing objects are not deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WalQuarantineRecord {
    /// The number of the first object.
    pub(crate) first: u64,
    /// The number of the last object. Adjacent objects with the same damage have one record.
    pub(crate) last: u64,
    /// The damage of each object: an offset and a message.
    #[serde(rename = "fault")]
    pub(crate) error: String,
    /// The number of lost requests, if known.
    pub(crate) lost: Option<u64>,
    /// The writer of the objects, unless their headers name another one.
    pub(crate) writer: String,
}

impl WalQuarantineRecord {
    /// Returns `true` if `next` is the record of the next object, with the same damage.
    pub(super) fn ends_before(&self, next: &Self) -> bool {
        self.last + 1 == next.first
            && (&self.error, self.lost, &self.writer) == (&next.error, next.lost, &next.writer)
    }

    /// Returns the writer. If the record names no writer, returns one that never wrote.
    pub(crate) fn writer(&self) -> Ulid {
        Ulid::from_string(&self.writer).unwrap_or_default()
    }

    /// Returns `true` if the record and the objects must be kept, because requests are lost or not yet in a
    /// segment.
    pub(crate) fn is_needed(&self, checkpoint: u64) -> bool {
        self.lost != Some(0) || self.last > checkpoint
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeletionVectorRecord {
    /// The number in the object's name.
    pub(crate) number: u64,
    /// The number of deleted rows.
    pub(crate) rows: u64,
    pub(crate) file: FileRecord,
}

/// The size and checksum of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileRecord {
    /// Size in bytes.
    pub(crate) bytes: u64,
    /// CRC32C of the whole content.
    pub(crate) crc32c: u32,
}

impl FileRecord {
    /// Returns the record of an object with this content.
    pub(crate) fn of(content: &[u8]) -> Self {
        Self { bytes: content.len() as u64, crc32c: crc32c::crc32c(content) }
    }
}

impl SegmentRecord {
    /// Returns the total size in bytes of all objects of the segment, without its indexes.
    pub(crate) fn bytes(&self) -> u64 {
        let indexes: u64 = self.index_objects().map(|(_, file)| file.bytes).sum();
        self.files().map(|(_, file)| file.bytes).sum::<u64>() - indexes
    }

    /// Returns the name, size and checksum of an index object, if it exists.
    pub(crate) fn index_object(&self, index: &str) -> Option<(&str, FileRecord)> {
        let mut files = self.files.iter().map(|(name, file)| (name.as_str(), *file));
        files.find(|(name, _)| index_of(name) == Some(index))
    }

    /// Records an index object, or removes its record. Returns the name of the previous object.
    pub(crate) fn record_index(
        &mut self,
        index: &str,
        object: Option<(String, FileRecord)>,
    ) -> Option<String> {
        let before = self.index_object(index).map(|(name, _)| name.to_owned());
        if let Some(before) = &before {
            self.files.remove(before);
        }
        self.files.extend(object);
        before
    }

    /// Returns the path of the segment's rows.
    pub(crate) fn traces_path(&self) -> String {
        format!("segments/{}/traces.parquet", self.id)
    }

    /// Returns the path of the segment's documents.
    pub(crate) fn documents_path(&self) -> String {
        format!("segments/{}/spans.otlp.zst", self.id)
    }

    /// Returns the path of the dictionary of the segment's documents.
    pub(crate) fn dictionary_path(&self) -> String {
        format!("segments/{}/spans.dict", self.id)
    }

    /// Returns the path of the segment's deletion vector with this number.
    pub(crate) fn deletion_vector_path(&self, number: u64) -> String {
        format!("segments/{}/hidden-{number}.roaring", self.id)
    }

    /// Returns the path of another file of the segment.
    pub(crate) fn file_path(&self, name: &str) -> String {
        format!("segments/{}/{name}", self.id)
    }

    /// Returns the first error in the names of the record, which become parts of paths.
    pub(super) fn verify(&self) -> std::result::Result<(), String> {
        const OWN: [&str; 3] = ["traces.parquet", "spans.otlp.zst", "spans.dict"];
        if Ulid::from_string(&self.id).is_err() {
            return Err("expected the id of a segment to be a ULID".into());
        }
        let is_plain = |name: &str| {
            let mut bytes = name.bytes();
            bytes.next().is_some_and(|first| first.is_ascii_lowercase())
                && bytes
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-_".contains(&byte))
        };
        let is_own = |name: &str| OWN.contains(&name) || name.starts_with("hidden-");
        match self.files.keys().find(|name| !is_plain(name) || is_own(name)) {
            Some(name) => Err(format!("expected a plain name of a further file, found `{name}`")),
            None => Ok(()),
        }
    }

    /// Returns the paths of all live objects of the segment.
    pub(crate) fn paths(&self) -> impl Iterator<Item = String> + use<> {
        self.files().map(|(path, _)| path)
    }

    /// Returns the paths, sizes and checksums of all live objects of the segment.
    pub(crate) fn files(&self) -> impl Iterator<Item = (String, FileRecord)> + use<> {
        let files = [(self.traces_path(), self.traces), (self.documents_path(), self.documents)];
        let dictionary = self.dictionary.map(|file| (self.dictionary_path(), file));
        let deleted =
            self.deletion_vector.map(|vector| (self.deletion_vector_path(vector.number), vector.file));
        files
            .into_iter()
            .chain(dictionary)
            .chain(deleted)
            .chain(self.index_objects())
            .chain(self.further_files())
    }

    /// Returns the paths, sizes and checksums of the index objects.
    pub(crate) fn index_objects(&self) -> impl Iterator<Item = (String, FileRecord)> + use<> {
        self.files_that(|name| index_of(name).is_some())
    }

    /// Returns the paths, sizes and checksums of the other files, known or unknown.
    pub(crate) fn further_files(&self) -> impl Iterator<Item = (String, FileRecord)> + use<> {
        self.files_that(|name| index_of(name).is_none())
    }

    fn files_that(&self, is_wanted: impl Fn(&str) -> bool) -> std::vec::IntoIter<(String, FileRecord)> {
        let files = self.files.iter().filter(|(name, _)| is_wanted(name));
        files.map(|(name, file)| (self.file_path(name), *file)).collect::<Vec<_>>().into_iter()
    }
}

/// Returns a unique number for an object name: the upper half of a ULID, which consists of the time and
/// random bits.
pub(crate) fn fresh_number() -> u64 {
    u64::try_from(Ulid::generate().0 >> 64).expect("the upper half")
}

/// Returns the index whose object has this name, `<index>-<number>`.
fn index_of(name: &str) -> Option<&str> {
    let (index, number) = name.split_once('-')?;
    let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    (is_number && INDEXES.contains(&index)).then_some(index)
}
