//! The records of a manifest: segments, their files, and imports in progress.

use serde::{Deserialize, Serialize};

/// The progress of one import.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportRecord {
    /// A digest that identifies the source, never a value that a user sent.
    pub source: String,
    /// How many of its spans have been processed.
    pub spans: u64,
    /// How many of those are in the store.
    pub accepted: u64,
    /// How many of those were rejected.
    pub rejected: u64,
}

/// One live segment.
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
    /// The deleted rows, if any.
    #[serde(rename = "hidden")]
    pub(crate) deletion_vector: Option<DeletionVectorRecord>,
    /// `spans.dict`, once the segment is compacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dictionary: Option<FileRecord>,
    /// Whether the documents were stored uncompressed under load and are still to be compressed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) awaits_compression: bool,
}

/// A quarantined segment. Its files stay where they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuarantineRecord {
    /// The segment's record from when it was live.
    pub(crate) segment: SegmentRecord,
    /// The damage that was found: an object, an offset, and a message.
    #[serde(rename = "fault")]
    pub(crate) error: String,
}

/// The deletion vector of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeletionVectorRecord {
    /// The number in the object's name.
    pub(crate) number: u64,
    /// The number of deleted rows.
    pub(crate) rows: u64,
    /// Its size and checksum.
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
        files.into_iter().chain(dictionary).chain(deleted)
    }
}
