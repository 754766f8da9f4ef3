//! The records of a manifest: segments, their files, and imports in progress.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use ulid::Ulid;

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
    /// Further files in the segment's folder, by name. What a program does not know is kept, copied and verified.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) files: BTreeMap<String, FileRecord>,
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

/// Damaged objects of the write-ahead log. Those that are there stay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WalQuarantineRecord {
    /// The number of the first object.
    pub(crate) first: u64,
    /// The number of the last object. Several objects have one record if they are damaged alike.
    pub(crate) last: u64,
    /// The damage that was found in each: an offset and a message.
    #[serde(rename = "fault")]
    pub(crate) error: String,
    /// How many requests are lost, if that is known.
    pub(crate) lost: Option<u64>,
    /// The writer that created them unless they name another one.
    pub(crate) writer: String,
}

impl WalQuarantineRecord {
    /// Whether `next` is the record of the next object, with the same damage.
    pub(super) fn ends_before(&self, next: &Self) -> bool {
        self.last + 1 == next.first
            && (&self.error, self.lost, &self.writer) == (&next.error, next.lost, &next.writer)
    }

    /// Returns the writer; one that wrote nothing if the record names none.
    pub(crate) fn writer(&self) -> Ulid {
        Ulid::from_string(&self.writer).unwrap_or_default()
    }

    /// Whether the record and the objects must stay: requests are lost, or are still in no segment.
    pub(crate) fn is_needed(&self, checkpoint: u64) -> bool {
        self.lost != Some(0) || self.last > checkpoint
    }
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
    /// Returns the size of all objects of the segment, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let deletion_vector = self.deletion_vector.map(|vector| vector.file);
        let files = [Some(self.traces), Some(self.documents), deletion_vector, self.dictionary];
        files.into_iter().flatten().chain(self.files.values().copied()).map(|file| file.bytes).sum()
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

    /// Returns the path of a further file of the segment.
    pub(crate) fn file_path(&self, name: &str) -> String {
        format!("segments/{}/{name}", self.id)
    }

    /// Returns what is wrong with the names in the record, which become parts of paths.
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
        files.into_iter().chain(dictionary).chain(deleted).chain(self.further_files())
    }

    /// Returns the paths, sizes and checksums of the further files, known or not.
    pub(crate) fn further_files(&self) -> impl Iterator<Item = (String, FileRecord)> + use<> {
        let files: Vec<_> = self.files.iter().map(|(name, file)| (self.file_path(name), *file)).collect();
        files.into_iter()
    }
}
